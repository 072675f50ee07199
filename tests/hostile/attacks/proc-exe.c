// CVE-2019-5736: the worker's own program by way of /proc/1/exe (argv[1]): opens it for writing, or changes its mode.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        int fd = open(path, O_WRONLY);
        if (fd >= 0)
                escaped("%s is open for writing", path);
        if (chmod(path, 0755) == 0)
                escaped("chmod %s", path);
        contained("open %s", path);
}
