/* SPDX-License-Identifier: Apache-2.0 */
/* What the parent starts in the child (probe_lab.c); see there.  at: where it is, for the parent to read. */
#ifndef KRT_PROBE_CHILD_H
#define KRT_PROBE_CHILD_H

#define KRT_PROBE_AT 96

void krt_probe_child(const char *library, unsigned first, int fd, char at[KRT_PROBE_AT]);

#endif
