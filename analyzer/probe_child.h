/* SPDX-License-Identifier: Apache-2.0 */
/* What the parent starts in the child (probe_lab.c); see there. */
#ifndef KRT_PROBE_CHILD_H
#define KRT_PROBE_CHILD_H

void krt_probe_child(const char *library, unsigned first, int fd);

#endif
