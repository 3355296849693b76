/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the library, in its own read-only data. */
	.section .rodata
	.globl	fake_ptx
	.hidden	fake_ptx
	.type	fake_ptx, %object
fake_ptx:
	.incbin	"testcases/libs/kernels.ptx"
	.byte	0
	.size	fake_ptx, . - fake_ptx
	.section .note.GNU-stack, "", %progbits
