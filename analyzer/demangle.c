/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mangled names to readable ones (demangle.h).
 */
#include "demangle.h"

#include <stddef.h>
#include <string.h>

extern char *__cxa_demangle(const char *mangled, char *buf, size_t *len, int *status);

/* nvcc gives kernels of internal linkage a prefix: __nv_static_NN__HASH_FILE_NAME */
static const char *without_prefix(const char *name)
{
	static const char prefix[] = "__nv_static_";
	const char *z;

	if (strncmp(name, prefix, sizeof(prefix) - 1))
		return name;
	z = strstr(name, "__Z");
	return z ? z + 1 : name;
}

char *krt_demangle(const char *name)
{
	int status;

	if (!name)
		return NULL;
	name = without_prefix(name);
	if (name[0] != '_' || name[1] != 'Z')
		return NULL;
	return __cxa_demangle(name, NULL, NULL, &status);
}
