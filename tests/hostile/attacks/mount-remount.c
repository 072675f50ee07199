// Makes a read-only bind writable again: argv[1].
#include "attack.h"

#include <sys/mount.h>

int main(int argc, char **argv) {
        const char *on = arg(argc, argv, 1);
        if (mount(NULL, on, NULL, MS_REMOUNT | MS_BIND, NULL) < 0)
                contained("remount %s", on);
        escaped("%s is writable", on);
}
