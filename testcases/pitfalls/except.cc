// SPDX-License-Identifier: Apache-2.0
// C++ exceptions and destructors through wrappers and trampolines, on the fake driver.
#include "../abi/fake.h"

#include <cstdio>
#include <stdexcept>

extern "C" {
typedef struct CUstream_st *CUstream;
int cuInit(unsigned flags);
int cuMemAlloc_v2(unsigned long long *p, size_t size);
int cuLaunchHostFunc(CUstream stream, void (*fn)(void *), void *data);
int cuStreamAddCallback(CUstream stream, void (*fn)(CUstream, int, void *), void *data, unsigned flags);
extern struct fake_control fake;
}

static int bad;

static void check(bool good, const char *what)
{
	std::printf("%s exceptions: %s\n", good ? "ok" : "not ok", what);
	bad |= !good;
}

static int alive;
struct Guard {
	Guard() { alive++; }
	~Guard() { alive--; }
};

static void throws(void *depth)
{
	Guard guard;
	long n = (long)depth;

	if (n)
		cuLaunchHostFunc((CUstream)0x5000, throws, (void *)(n - 1));
	throw std::runtime_error("from a host function");
}

static void throws_callback(CUstream, int, void *data)
{
	throws(data);
}

int main()
{
	unsigned long long p = 0;
	int caught = 0;

	check(!cuInit(0), "init");
	for (int i = 0; i < 100; i++) {
		try {
			Guard guard;
			if (i % 2)
				cuLaunchHostFunc((CUstream)0x5000, throws, (void *)(long)(i % 5));
			else
				cuStreamAddCallback((CUstream)0x5000, throws_callback, (void *)(long)(i % 5), 0);
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	check(caught == 100 && !alive, "pass through, destructors run");
	check(!cuMemAlloc_v2(&p, 64) && p, "the thread goes on");
	return bad;
}
