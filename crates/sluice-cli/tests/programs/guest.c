// A whole guest: a boot loader starts it by its multiboot header, in 32-bit mode, without paging.
// It loads a word from each of 1024 pages, from 16 MiB on, and ends the machine.
__asm__(".section .text\n\t"
        ".long 0x1badb002, 0, -0x1badb002\n\t"
        ".globl _start\n"
        "_start:\n\t"
        "mov $0x1000000, %esi\n\t"
        "mov $1024, %ecx\n"
        "1:\n\t"
        "mov (%esi), %eax\n\t"
        "add $4096, %esi\n\t"
        "dec %ecx\n\t"
        "jnz 1b\n\t"
        "mov $0xf4, %edx\n\t"
        "xor %eax, %eax\n\t"
        "outl %eax, %dx\n"
        "2:\n\t"
        "hlt\n\t"
        "jmp 2b\n");
