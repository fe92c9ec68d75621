// A whole guest: a boot loader starts it by its multiboot header, in 32-bit mode, without paging.
// It loads a word from each of 1024 pages and ends the machine. The pages begin at 16 MiB, or with
// NODE at 4 GiB, where `sluice vm` puts the memory that is the device: by pages of 2 MiB. With
// MARKS it sets the mark m before the last LAST of them, and e behind them, byte by byte: a load
// whose address has the byte at its end.
#define TEXT(of) #of
#define NUMBER(of) TEXT(of)
#ifdef MARKS
#define MARK(name)                  \
    "mov $6f - 0x49554c53, %edi\n\t" \
    SAY("2") SAY(name) SAY("3")
#define SAY(byte)                   \
    "mov $" byte ", %eax\n\t"       \
    ".byte 0x3e, 0x3e, 0x0f, 0xb6, 0x84, 0x07, 0x53, 0x4c, 0x55, 0x49\n\t"
#endif
#define TOUCH(pages, label)         \
    "mov $" NUMBER(pages) ", %ecx\n" \
    label ":\n\t"                   \
    "mov (%esi), %eax\n\t"         \
    "add $4096, %esi\n\t"          \
    "dec %ecx\n\t"                 \
    "jnz " label "b\n\t"
__asm__(".section .text\n\t"
        ".long 0x1badb002, 0, -0x1badb002\n\t"
        ".globl _start\n"
        "_start:\n\t"
#ifdef NODE
        "mov $3f, %eax\n\t"
        "mov %eax, %cr3\n\t"
        "mov %cr4, %eax\n\t"
        "or $0x20, %eax\n\t"
        "mov %eax, %cr4\n\t"
        "mov %cr0, %eax\n\t"
        "or $0x80000000, %eax\n\t"
        "mov %eax, %cr0\n\t"
        "mov $0x40000000, %esi\n\t"
#else
        "mov $0x1000000, %esi\n\t"
#endif
#ifdef MARKS
        TOUCH(1024 - LAST, "1")
        MARK("0x6d")
        TOUCH(LAST, "8")
        MARK("0x65")
#else
        TOUCH(1024, "1")
#endif
        "mov $0xf4, %edx\n\t"
        "xor %eax, %eax\n\t"
        "outl %eax, %dx\n"
        "2:\n\t"
        "hlt\n\t"
        "jmp 2b\n\t"
        ".balign 4096\n"
        "3:\n\t"
        ".long 4f + 1, 0, 5f + 1, 0, 0, 0, 0, 0\n\t"
        ".balign 4096\n"
        "4:\n\t"
        ".long 0x83, 0\n\t"
        ".balign 4096\n"
        "5:\n\t"
        ".long 0x83, 1, 0x200083, 1\n\t"
        ".balign 4096\n"
        "6:\n\t"
        ".fill 4096\n");
