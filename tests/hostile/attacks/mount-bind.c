// mount(2): a tmpfs over a system folder would change what others in the region run; argv[1] is the folder.
#include "attack.h"

#include <sys/mount.h>

int main(int argc, char **argv) {
        const char *on = arg(argc, argv, 1);
        if (mount("none", on, "tmpfs", 0, NULL) < 0 && mount("/", on, NULL, MS_BIND | MS_REC, NULL) < 0)
                contained("mount on %s", on);
        escaped("mounted on %s", on);
}
