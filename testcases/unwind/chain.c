/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of many shapes around a call, built several times with different
 * options (NAME is the build's name): plain, with many saved registers, with
 * alloca, with a large frame, with an over-aligned frame, mutual recursion.
 */
#include <alloca.h>
#include <string.h>

#define GLUE2(a, b) a##b
#define GLUE(a, b)  GLUE2(a, b)
#define F(name)     GLUE(name, NAME)

typedef int (*chain_fn)(int);

int F(chain_)(int depth, chain_fn leaf, int arg);

static volatile int sink;

static __attribute__((noinline)) int saved(int depth, chain_fn leaf, int arg)
{
	int a = sink, b = sink, c = sink, d = sink, e = sink, f = sink, r;

	r = F(chain_)(depth - 1, leaf, arg);
	sink = a + b * c + d * e + f;
	return r + (a + b + c + d + e + f) * 0;
}

static __attribute__((noinline)) int dynamic(int depth, chain_fn leaf, int arg)
{
	char *p = alloca(16 + depth * 40);
	int r;

	memset(p, 0, 16 + depth * 40);
	r = F(chain_)(depth - 1, leaf, arg);
	sink = p[depth];
	return r;
}

static __attribute__((noinline)) int large(int depth, chain_fn leaf, int arg)
{
	char buf[20000];
	int r;

	buf[depth] = 0;
	__asm__ volatile("" : : "r"(buf) : "memory");
	r = F(chain_)(depth - 1, leaf, arg);
	sink = buf[depth];
	return r;
}

static __attribute__((noinline)) int aligned(int depth, chain_fn leaf, int arg)
{
	char buf[128] __attribute__((aligned(64)));
	int r;

	__asm__ volatile("" : : "r"(buf) : "memory");
	r = F(chain_)(depth - 1, leaf, arg);
	sink = buf[0];
	return r;
}

static __attribute__((noinline)) int aligned_dynamic(int depth, chain_fn leaf, int arg)
{
	char buf[128] __attribute__((aligned(128)));
	char *p = alloca(depth * 24 + 8);
	int r;

	memset(p, 0, depth * 24 + 8);
	__asm__ volatile("" : : "r"(buf), "r"(p) : "memory");
	r = F(chain_)(depth - 1, leaf, arg);
	sink = buf[0] + p[0];
	return r;
}

static __attribute__((noinline)) int early(int depth, chain_fn leaf, int arg)
{
	if (arg < 0) /* its return comes first: remember_state / restore_state */
		return -1;
	if (depth == 12345)
		return sink;
	return F(chain_)(depth - 1, leaf, arg) + 1 - 1;
}

__attribute__((noinline)) int F(chain_)(int depth, chain_fn leaf, int arg)
{
	int r;

	if (depth <= 0)
		r = leaf(arg);
	else
		switch (depth % 6) {
		case 0:
			r = saved(depth, leaf, arg);
			break;
		case 1:
			r = dynamic(depth, leaf, arg);
			break;
		case 2:
			r = large(depth, leaf, arg);
			break;
		case 3:
			r = aligned(depth, leaf, arg);
			break;
		case 4:
			r = aligned_dynamic(depth, leaf, arg);
			break;
		default:
			r = early(depth, leaf, arg);
			break;
		}
	__asm__ volatile("" : "+r"(r)); /* no tail call */
	return r;
}
