// I-66: argv[1] processes with argv[2] areas of address space each, none of which has a page.
#include "attack.h"

static bool make(long n) {
        for (long i = 0; i < n; i++)
                if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
                        return false;
        return true;
}

int main(int argc, char **argv) {
        held_by_children(argc, argv, make, "areas");
}
