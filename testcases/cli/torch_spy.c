/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded in front of libkrtsan.so: writes down what the watch feed tells, one
 * line a note, to the file named in TORCH_SPY.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void put(const char *text, int n)
{
	const char *path = getenv("TORCH_SPY");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;

	if (fd >= 0) {
		if (write(fd, text, (size_t)n) != n)
			_exit(99);
		close(fd);
	}
}

void krtsan_impl_pool_create(uint64_t pool, unsigned kind, const char *name);
void krtsan_impl_block_alloc(uint64_t pool, uint64_t ptr, uint64_t len, uint64_t stream);
void krtsan_impl_block_free(uint64_t ptr);

void krtsan_impl_pool_create(uint64_t pool, unsigned kind, const char *name)
{
	char text[200];

	(void)pool;
	put(text, snprintf(text, sizeof(text), "pool %u %s\n", kind, name));
}

void krtsan_impl_block_alloc(uint64_t pool, uint64_t ptr, uint64_t len, uint64_t stream)
{
	char text[200];

	(void)pool;
	put(text, snprintf(text, sizeof(text), "alloc 0x%llx %llu 0x%llx\n", (unsigned long long)ptr,
			   (unsigned long long)len, (unsigned long long)stream));
}

void krtsan_impl_block_free(uint64_t ptr)
{
	char text[200];

	put(text, snprintf(text, sizeof(text), "free 0x%llx\n", (unsigned long long)ptr));
}
