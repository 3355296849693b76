// SPDX-License-Identifier: Apache-2.0
// C++ frames: destructors, exceptions that pass, virtual calls, lambdas.
#include <functional>
#include <string>
#include <vector>

typedef int (*chain_fn)(int);
extern "C" int chain_cxx(int depth, chain_fn leaf, int arg);

namespace {
struct Base {
	virtual ~Base() {}
	virtual int go(int depth, chain_fn leaf, int arg) = 0;
};
struct Throwing : Base {
	int go(int depth, chain_fn leaf, int arg) override
	{
		std::vector<std::string> names(depth, "a name that does not fit in place");
		int r = 0;
		try {
			r = chain_cxx(depth - 1, leaf, arg);
			if (depth % 2)
				throw r;
		} catch (int v) {
			r = v;
		}
		return r + (int)names.size() - depth;
	}
};
struct Calling : Base {
	int go(int depth, chain_fn leaf, int arg) override
	{
		std::function<int(int)> f = [&](int d) { return chain_cxx(d - 1, leaf, arg); };
		return f(depth);
	}
};
}

extern "C" __attribute__((noinline)) int chain_cxx(int depth, chain_fn leaf, int arg)
{
	Throwing t;
	Calling c;
	Base *b = depth % 3 ? static_cast<Base *>(&t) : &c;

	if (depth <= 0)
		return leaf(arg) + 0 * depth;
	return b->go(depth, leaf, arg) + 0 * arg;
}
