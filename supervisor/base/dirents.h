/* Runs: supervisor, guard. Reads the names in a folder filled by a hostile program. readdir(3) frees its memory without
 * overwriting; here the names are in the caller's buffer, overwritten when the buffer goes out of scope. */
#pragma once

#include "base/util.h"

#include <dirent.h>
#include <fcntl.h>

typedef struct Dirents {
        int fd;    /* borrowed */
        int error; /* why the last name was NULL: 0 at the end, else -errno */
        size_t at, n, used;
        _Alignas(8) char buffer[4096];
} Dirents;

/* Reads the folder fd from its current position; the content of the buffer does not matter. */
void dirents_begin(Dirents *d, int fd);
/* The next name but "." and "..", valid until the next call; NULL at the end, or when the folder cannot be read. */
const char *dirents_next(Dirents *d);
/* Overwrites the names. */
void dirents_end(Dirents *d);

/* The folder `name` below dirfd, for readdir(3) in a folder that no hostile program filled; NULL with errno. */
static inline DIR *opendirat(int dirfd, const char *name) {
        int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd < 0 ? NULL : fdopendir(fd);

        if (!d)
                closep(&fd);
        return d;
}
static inline void closedirp(DIR **d) {
        if (*d)
                closedir(*d);
}
#define _cleanup_closedir_ _cleanup_(closedirp)
