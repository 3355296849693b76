// SPDX-License-Identifier: Apache-2.0
// Templates and code of the C++ library between the program and the call.
#include "names.h"

#include <functional>

static char back[BYTES];

namespace store
{
template <class T, int N> struct ring {
	T *at;
	inline __attribute__((always_inline)) void pop(CUdeviceptr p, CUstream s)
	{
		(void)cudaMemcpyAsync(at, (const void *)(uintptr_t)p, N, 2, s);
		__asm__ volatile("");
	}
};
template <class T> __attribute__((noinline)) void drain(T r, CUdeviceptr p, CUstream s)
{
	r.pop(p, s);
	__asm__ volatile("");
}
} // namespace store

void fetch(CUdeviceptr p, CUstream s)
{
	std::function<void()> later = [=]() {
		store::drain(store::ring<char, BYTES>{back}, p, s);
		__asm__ volatile("");
	};

	later();
	__asm__ volatile("");
}
