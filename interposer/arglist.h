/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of arguments that travel as 64-bit words: Pn declares n parameters a0,
 * a1, ..., Nn names them.  For wrappers that are made from a table.
 */
#ifndef KRT_ARGLIST_H
#define KRT_ARGLIST_H

#include <stdint.h>

#define P0  void
#define P1  uint64_t a0
#define P2  P1, uint64_t a1
#define P3  P2, uint64_t a2
#define P4  P3, uint64_t a3
#define P5  P4, uint64_t a4
#define P6  P5, uint64_t a5
#define P7  P6, uint64_t a6
#define P8  P7, uint64_t a7
#define P9  P8, uint64_t a8
#define P10 P9, uint64_t a9
#define P11 P10, uint64_t a10
#define P12 P11, uint64_t a11
#define P13 P12, uint64_t a12
#define P14 P13, uint64_t a13
#define P15 P14, uint64_t a14
#define P16 P15, uint64_t a15
#define P17 P16, uint64_t a16
#define P18 P17, uint64_t a17
#define P19 P18, uint64_t a18
#define P20 P19, uint64_t a19
#define P21 P20, uint64_t a20
#define P22 P21, uint64_t a21
#define P23 P22, uint64_t a22

#define N0
#define N1  a0
#define N2  N1, a1
#define N3  N2, a2
#define N4  N3, a3
#define N5  N4, a4
#define N6  N5, a5
#define N7  N6, a6
#define N8  N7, a7
#define N9  N8, a8
#define N10 N9, a9
#define N11 N10, a10
#define N12 N11, a11
#define N13 N12, a12
#define N14 N13, a13
#define N15 N14, a14
#define N16 N15, a15
#define N17 N16, a16
#define N18 N17, a17
#define N19 N18, a18
#define N20 N19, a19
#define N21 N20, a20
#define N22 N21, a21
#define N23 N22, a22

#endif
