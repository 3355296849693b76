/* SPDX-License-Identifier: Apache-2.0 */
/* Included before a test program: it says nothing of the CPU's own accesses. */
#include "krtsan.h"

#define krtsan_host_read(ptr, len)  ((void)(ptr), (void)(len))
#define krtsan_host_write(ptr, len) ((void)(ptr), (void)(len))
