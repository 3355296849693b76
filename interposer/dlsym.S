/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym, exported.  It must jump to the real one, not call it: glibc takes the
 * caller of RTLD_NEXT and RTLD_DEFAULT from the return address.  Compilers make
 * a call of it at -O0, -Og, --coverage and -finstrument-functions, hence
 * assembly.
 *
 * krt_dlsym_hook(handle, name, caller) returns two words: an answer, and where
 * to jump to instead (NULL: the answer stands).
 */
	.text
	.globl	dlsym
	.type	dlsym, %function
	.hidden	krt_dlsym_hook

#if defined(__x86_64__)
	.p2align 4
dlsym:
	.cfi_startproc
	endbr64
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	movq	%rdi, (%rsp)
	movq	%rsi, 8(%rsp)
	movq	24(%rsp), %rdx
	call	krt_dlsym_hook
	movq	(%rsp), %rdi
	movq	8(%rsp), %rsi
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	testq	%rdx, %rdx
	jz	1f
	jmp	*%rdx
1:	ret
	.cfi_endproc
#elif defined(__aarch64__)
	.p2align 4
dlsym:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	mov	x2, x30
	bl	krt_dlsym_hook
	mov	x17, x0
	mov	x16, x1
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	cbz	x16, 1f
	br	x16
1:	mov	x0, x17
	ret
	.cfi_endproc
#else
#error "krtsan runs on x86-64 and aarch64"
#endif
	.size	dlsym, . - dlsym

#if defined(__x86_64__)
	/* endbr64 at every entry: the object may be linked into a CET image */
	.pushsection .note.gnu.property, "a"
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000002, 4, 3, 0
	.popsection
#endif
	.section .note.GNU-stack, "", %progbits
