/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An end that nobody planned: a library of ours that exits or aborts where it
 * has no memory (libdw does both), a crash.  The program under test keeps its
 * exit code, the session folder goes, and stderr says that there is no report.
 */
#ifndef KRT_GUARD_H
#define KRT_GUARD_H

#include <sys/types.h>

/* From here on this process's end is planned only behind krt_guard_end.  Once, by main. */
void krt_guard_begin(const char *command);
void krt_guard_end(void);
/* The session folder to take along (trace files and the folder); NULL: none any more. */
void krt_guard_folder(const char *dir);
/* The program whose exit code ours is, while it runs; 0: none, or it ended with code. */
void krt_guard_program(pid_t pid, int code);

#endif
