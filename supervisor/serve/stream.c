/* Runs: lethe-serve. What a client may pass as a stream of its run. */
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define FUSE_TYPE 0x65735546

/* Files that do what is said in them ask who writes, and that is us; some never answer. So: what lies on a disk or in memory. */
static bool file_is_plain(int fd) {
        static const unsigned types[] = {0xef53 /* ext2 to ext4 */, 0x58465342 /* xfs */, 0x9123683e /* btrfs */, 0xf2f52010 /* f2fs */,
                                         0x01021994 /* tmpfs */};
        struct statfs fs;
        bool is = false;

        for (size_t i = 0; fstatfs(fd, &fs) == 0 && i < ARRAY_SIZE(types); i++)
                is |= (unsigned)fs.f_type == types[i];
        return is;
}

/* A terminal by its own name, or a device that is nobody's. */
static bool device_is_plain(int fd, dev_t device) {
        static const unsigned memory[] = {3 /* null */, 5 /* zero */, 7 /* full */, 8 /* random */, 9 /* urandom */};
        unsigned terminal;
        bool is = ioctl(fd, TIOCGDEV, &terminal) == 0 && terminal == device;

        for (size_t i = 0; i < ARRAY_SIZE(memory); i++)
                is |= device == makedev(1, memory[i]);
        return is;
}

/* What another user has opened is read and written with our rights from here on. */
static int check_foreign_stream(int fd, const char *name, const struct stat *st, Diag *reterr) {
        if (S_ISREG(st->st_mode) && !file_is_plain(fd))
                return diag(reterr, SERVE_E_STREAMS, "%s: a file of another user than the daemon's own must be on ext4, xfs, btrfs, f2fs or tmpfs: pass a pipe", name);
        if (S_ISCHR(st->st_mode) && !device_is_plain(fd, st->st_rdev))
                return diag(reterr, SERVE_E_STREAMS, "%s: of another user than the daemon's own must be no device but a terminal, by its own name, or null: pass a pipe",
                            name);
        return 0;
}

/* A descriptor is used as what it was opened for, and never in a way in which nobody can be kept waiting for it. */
int stream_check(int fd, size_t stream, bool foreign, Diag *reterr) {
        static const char *const names[] = {"stdin", "stdout", "stderr"};
        int flags = fcntl(fd, F_GETFL), mode = flags & O_ACCMODE;
        struct statfs fs;
        struct stat st;

        if (flags < 0 || fstat(fd, &st) < 0)
                return diag(reterr, SERVE_E_STREAMS, "%s: %s", names[stream], strerror(errno));
        if (flags & O_PATH)
                return diag(reterr, SERVE_E_STREAMS, "%s: was opened with O_PATH: it must be open for %s", names[stream], stream ? "writing" : "reading");
        if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode) && !S_ISSOCK(st.st_mode))
                return diag(reterr, SERVE_E_STREAMS, "%s: must be a file, a pipe, a terminal or another character device, or a socket", names[stream]);
        if (mode != O_RDWR && mode != (stream ? O_WRONLY : O_RDONLY))
                return diag(reterr, SERVE_E_STREAMS, "%s: must be open for %s", names[stream], stream ? "writing" : "reading");
        if (S_ISREG(st.st_mode) && fstatfs(fd, &fs) == 0 && fs.f_type == FUSE_TYPE)
                return diag(reterr, SERVE_E_STREAMS, "%s: a file of a user-space file system may never answer: pass a pipe", names[stream]);
        return foreign ? check_foreign_stream(fd, names[stream], &st, reterr) : 0;
}
