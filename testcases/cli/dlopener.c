/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a library as cudart opens libcuda, and ends with 1 where there is none. */
#include <dlfcn.h>
#include <stddef.h>

int main(int argc, char **argv)
{
	return argc < 2 || !dlopen(argv[1], RTLD_NOW);
}
