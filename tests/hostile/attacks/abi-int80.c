// The 32-bit table of calls by int 0x80: a filter that only knows 64-bit numbers lets the wrong ones pass. getpid is 20 there.
#include "attack.h"

int main(void) {
        int r = 20;
        printf("calls int 0x80\n");
        fflush(stdout);
        __asm__ volatile("int $0x80" : "+a"(r) : : "memory");
        if (r != getpid()) {
                errno = ENOSYS;
                contained("int 0x80 gave %d", r);
        }
        escaped("int 0x80 gave %d", r);
}
