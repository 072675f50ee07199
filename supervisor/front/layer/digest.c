#include "layer/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

char layer_type(mode_t mode) {
        return S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd'
                             : S_ISLNK(mode)       ? 'l'
                                                   : 'o';
}

void layer_identity(const struct stat *st, char ret[static HASH_HEX_MAX]) {
        char text[128];
        int n = snprintf(text, sizeof(text), "%ju %jd %jd.%09ld", (uintmax_t)st->st_ino, (intmax_t)st->st_size,
                         (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);

        hash_hex(text, (size_t)n, ret);
}

int layer_open_file(int folder, const char *name, const struct stat *st) {
        _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat now;

        if (fd < 0 || fstat(fd, &now) < 0)
                return -errno;
        return now.st_dev == st->st_dev && now.st_ino == st->st_ino && S_ISREG(now.st_mode) ? TAKE_FD(fd) : -ESTALE;
}

static int digest_link(int folder, const char *name, char ret[static HASH_HEX_MAX], char **ret_link) {
        char text[PATH_MAX];
        ssize_t n = readlinkat(folder, name, text, sizeof(text) - 1);

        if (n < 0)
                return -errno;
        text[n] = 0;
        hash_hex(text, (size_t)n, ret);
        return !ret_link || (*ret_link = strdup(text)) ? 0 : -ENOMEM;
}

int layer_digest(int folder, const char *name, const struct stat *st, char ret[static HASH_HEX_MAX], char **ret_link) {
        _cleanup_close_ int fd = -1;
        uint8_t hash[HASH_BYTES];
        uint64_t bytes;
        int r;

        strcpy(ret, "-");
        if (S_ISLNK(st->st_mode))
                return digest_link(folder, name, ret, ret_link);
        if (!S_ISREG(st->st_mode))
                return 0;
        fd = layer_open_file(folder, name, st);
        r = fd < 0 ? fd : hash_fd(fd, (uint64_t)st->st_size, hash, &bytes);
        if (r == 0)
                hex_encode(hash, sizeof(hash), ret);
        return r;
}
