/* Runs: supervisor, CLI. The names in a folder that a hostile program filled. readdir(3) reads them into memory that it
 * gives back as it is; here they are in the caller's buffer, and overwritten when that goes out of scope. */
#pragma once

#include "base/util.h"

typedef struct Dirents {
        int fd;    /* borrowed */
        int error; /* why the last name was NULL: 0 at the end, else -errno */
        size_t at, n, used;
        _Alignas(8) char buffer[4096];
} Dirents;

/* Reads the folder fd from where it stands; the buffer is not looked at before. */
void dirents_begin(Dirents *d, int fd);
/* The next name but "." and "..", valid until the next call; NULL when there is none, or it cannot be read. */
const char *dirents_next(Dirents *d);
/* Overwrites the names. */
void dirents_end(Dirents *d);
