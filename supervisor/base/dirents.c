#include "base/dirents.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

void dirents_begin(Dirents *d, int fd) {
        d->fd = fd;
        d->error = 0;
        d->at = d->n = d->used = 0;
}

const char *dirents_next(Dirents *d) {
        for (;;) {
                const struct dirent *e = (const void *)(d->buffer + d->at);
                long n;

                if (d->at < d->n) {
                        d->at += e->d_reclen;
                        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
                                return e->d_name;
                        continue;
                }
                n = syscall(SYS_getdents64, d->fd, d->buffer, sizeof(d->buffer));
                d->error = n < 0 ? -errno : 0;
                d->at = 0;
                d->n = n > 0 ? (size_t)n : 0;
                d->used = MAX(d->used, d->n);
                if (d->n == 0)
                        return NULL;
        }
}

void dirents_end(Dirents *d) {
        explicit_bzero(d->buffer, d->used);
}
