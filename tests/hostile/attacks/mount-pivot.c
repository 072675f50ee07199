// pivot_root to a folder of one's own, or the chroot escape: an open folder outside, chroot to a folder within, then up.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        if (syscall(SYS_pivot_root, ".", ".") == 0)
                escaped("pivot_root");
        int out = open("/", O_RDONLY | O_DIRECTORY);
        mkdir("jail", 0755);
        if (out < 0 || chroot("jail") < 0)
                contained("pivot_root and chroot");
        if (fchdir(out) == 0)
                for (int i = 0; i < 64; i++)
                        if (chdir("..") < 0)
                                break;
        if (chroot(".") == 0 && file_has_canary(AT_FDCWD, path))
                escaped("left by chroot");
        contained("chroot");
}
