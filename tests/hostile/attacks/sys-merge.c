// Pages that the kernel merges with equal ones are nobody's own: to write one copies it and leaves the old bytes where they were.
#include "attack.h"

int main(void) {
        void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || madvise(p, 1 << 20, MADV_MERGEABLE) < 0)
                contained("MADV_MERGEABLE");
        escaped("memory may be merged");
}
