// A whole guest as guest.c, with paging. Its page at 8 MiB lies at 16 MiB and the next one at 20;
// that at 8 MiB + 8 KiB and the next one lie together from 24 MiB on. Across the end of the first
// of each pair it loads a word, stores one, and adds to one by a locked instruction.
#define ACROSS(page)                    \
    "mov $" page ", %esi\n\t"           \
    "mov 0xffe(%esi), %eax\n\t"         \
    "mov %eax, 0xffd(%esi)\n\t"         \
    "lock addl %eax, 0xfff(%esi)\n\t"
__asm__(".section .text\n\t"
        ".long 0x1badb002, 0, -0x1badb002\n\t"
        ".globl _start\n"
        "_start:\n\t"
        "mov $3f, %eax\n\t"
        "mov %eax, %cr3\n\t"
        "mov %cr4, %eax\n\t"
        "or $0x10, %eax\n\t"
        "mov %eax, %cr4\n\t"
        "mov %cr0, %eax\n\t"
        "or $0x80000000, %eax\n\t"
        "mov %eax, %cr0\n\t"
        ACROSS("0x800000")
        ACROSS("0x802000")
        "mov $0xf4, %edx\n\t"
        "xor %eax, %eax\n\t"
        "outl %eax, %dx\n"
        "2:\n\t"
        "hlt\n\t"
        "jmp 2b\n\t"
        ".balign 4096\n"
        "3:\n\t"
        ".long 0x83, 0, 4f + 3\n\t"
        ".balign 4096\n"
        "4:\n\t"
        ".long 0x1000003, 0x1400003, 0x1800003, 0x1801003\n\t"
        ".balign 4096\n"
        "5:\n\t"
        ".fill 4096\n");
