/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrapped libraries: each caller reaches the copy that it is linked with or asked
 * dlsym for, in scopes of their own; where there is none, nobody sees one.
 *   libraries FOLDER
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int gemm(void *h, int ta, int tb, int m, int n, int k, const float *alpha, void *a, int lda,
		 void *b, int ldb, const float *beta, void *c, int ldc);

int ncclBcast(void *buff, size_t count, int type, int root, void *comm, void *stream)
	__attribute__((weak));
int cufftDestroy(int plan) __attribute__((weak));

static int bad;
static char folder[2000];

static void check(const char *what, bool ok)
{
	printf("%s libraries: %s\n", ok ? "ok" : "not ok", what);
	bad |= !ok;
}

static void *open_file(const char *name)
{
	char path[2100];
	void *h;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!h) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return h;
}

static int through(void *p)
{
	static const float one = 1;

	return p ? ((gemm *)p)((void *)1, 2, 3, 4, 5, 6, &one, (void *)8, 9, (void *)10, 11, &one,
			       (void *)13, 14)
		 : 0;
}

static int call(void *lib)
{
	return ((int (*)(void))dlsym(lib, "call"))();
}

int main(int argc, char **argv)
{
	void *first, *second, *one, *two, *p, *q;

	snprintf(folder, sizeof(folder), "%s", argc > 1 ? argv[1] : ".");
	check("none is loaded: not for everybody", !dlsym(RTLD_DEFAULT, "cublasSgemm_v2"));
	check("and dlerror says so", dlerror() != NULL);
	check("nor in the program", !dlsym(dlopen(NULL, RTLD_NOW), "ncclAllReduce"));
	check("names that are not wrapped", !dlsym(RTLD_DEFAULT, "cublasNoSuchThing"));

	/* a weak reference is seen as present, as with every preload; its calls say that there is
	 * nothing */
	check("NCCL's error", !ncclBcast || ncclBcast(NULL, 0, 0, 0, NULL, NULL) == 3);
	check("cuFFT's error", !cufftDestroy || cufftDestroy(1) == 5);

	first = open_file("caller1.so");
	second = open_file("caller2.so");
	check("each reaches its own, the first", call(first) == 31);
	errno = 0;
	check("the second", call(second) == 32);
	check("errno is the function's", errno == 32);
	check("again", call(first) == 31 && call(second) == 32 && call(first) == 31);
	check("both in scopes of their own: not for everybody",
	      !dlsym(RTLD_DEFAULT, "cublasSgemm_v2"));

	one = open_file("one/libcublas.so.13");
	two = open_file("two/libcublas.so.12");
	p = dlsym(one, "cublasSgemm_v2");
	q = dlsym(two, "cublasSgemm_v2");
	check("through a pointer, the first", through(p) == 31);
	check("through a pointer, the second", through(q) == 32);
	check("through handles of what is linked with them",
	      through(dlsym(first, "cublasSgemm_v2")) == 31 &&
		      through(dlsym(second, "cublasSgemm_v2")) == 32);
	check("what a copy lacks", !dlsym(one, "cublasDgemm_v2"));
	dlclose(one);
	dlclose(first);
	check("one was closed", call(second) == 32 && through(q) == 32);
	first = open_file("caller1.so");
	check("and opened again", call(first) == 31 && call(second) == 32);
	check("by pointer too", through(dlsym(first, "cublasSgemm_v2")) == 31);
	dlclose(two);
	if (dlopen("libcublas.so.13", RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL)) {
		p = dlsym(RTLD_DEFAULT, "cublasSgemm_v2");
		check("for everybody once one is", through(p) == 31);
	}
	return bad;
}
