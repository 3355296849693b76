/* SPDX-License-Identifier: Apache-2.0 */
/* What krtsan doctor consists of: cmd_doctor.c, doctor_probe.c. */
#ifndef KRT_DOCTOR_H
#define KRT_DOCTOR_H

#include <stdbool.h>

/* --probe: the exit code.  write: where the measured table goes, or NULL. */
int krt_doctor_probe(bool sim, const char *write, bool as_json);

#endif
