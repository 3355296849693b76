// SPDX-License-Identifier: Apache-2.0
//
// C++ at the end of a bare run: objects with destructors of every storage.
#include <cstdint>
#include <cstdio>

extern "C" int cuInit(unsigned flags);
extern "C" int cuMemFree_v2(std::uint64_t p);

struct object {
	const char *what;
	~object()
	{
		cuMemFree_v2(2); // after our handler: passes through
		std::puts(what);
	}
};
static object outer = { "static destroyed" };
static thread_local object inner = { "thread_local destroyed" };

int main()
{
	(void)&outer;
	(void)&inner;
	if (cuInit(0) || cuMemFree_v2(1))
		return 1;
	std::puts("main returns"); // buffered: flushed by exit
	return 0;
}
