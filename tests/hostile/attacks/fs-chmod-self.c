// CVE-2019-5736: changes the file that it was started from (argv[1], else argv[0]); it belongs to the host.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = argc > 1 ? argv[1] : argv[0];
        if (chmod(path, 0755) < 0)
                contained("chmod %s", path);
        escaped("changed %s", path);
}
