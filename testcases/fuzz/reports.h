/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets of the fuzzer that read files of a user: JSON reports and
 * suppressions.  corpus functions give each input to keep.
 */
#ifndef FUZZ_REPORTS_H
#define FUZZ_REPORTS_H

#include <stddef.h>

void fuzz_reports(void (*keep)(const void *p, size_t n));
void fuzz_report(const unsigned char *p, size_t n);
void fuzz_suppressions(void (*keep)(const void *p, size_t n));
void fuzz_suppression(const unsigned char *p, size_t n);
extern const char *const fuzz_report_words[], *const fuzz_suppression_words[];

#endif
