// I-66: open files, argv[1] processes with argv[2] each, or with a table of descriptors that is as long (argv[4]); for argv[3] milliseconds.
#include "attack.h"

static const char *way;

static bool make(long n) {
        if (*way == 't')
                return dup2(0, (int)n - 1) >= 0;
        for (long i = 8; i < n; i++)
                if (open("/dev/null", O_RDONLY) < 0)
                        return false;
        return true;
}

int main(int argc, char **argv) {
        way = arg(argc, argv, 4);
        held_by_children(argc, argv, make, "files");
}
