# Saves the arguments of a call, finds the target of its entry, and jumps there. On the stack: the entry's number, then
# the return address of the call.
	.text
	.hidden tutti_mpi_resolve
	.hidden tutti_mpi_first_call
	.globl tutti_mpi_first_call
	.type tutti_mpi_first_call, @function
tutti_mpi_first_call:
	.cfi_startproc
	.cfi_adjust_cfa_offset 8
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq %rdi
	pushq %rsi
	pushq %rdx
	pushq %rcx
	pushq %r8
	pushq %r9
	movq 8(%rbp), %rdi
	movq 16(%rbp), %rsi
	andq $-16, %rsp
	call tutti_mpi_resolve
	movq %rax, %r11
	movq -8(%rbp), %rdi
	movq -16(%rbp), %rsi
	movq -24(%rbp), %rdx
	movq -32(%rbp), %rcx
	movq -40(%rbp), %r8
	movq -48(%rbp), %r9
	leave
	.cfi_def_cfa %rsp, 16
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp *%r11
	.cfi_endproc
	.size tutti_mpi_first_call, .-tutti_mpi_first_call
	.section .note.GNU-stack,"",@progbits
