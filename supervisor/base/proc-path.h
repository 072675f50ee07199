/* Runs: every process. Names of files in /proc. */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PROC_PATH_MAX 96
/* PROC_PATH("%d/maps", pid) is "/proc/PID/maps", up to the end of the block around. */
#define PROC_PATH(...) proc_path((char[PROC_PATH_MAX]){0}, __VA_ARGS__)
/* The link of a descriptor of this process. */
#define PROC_FD(fd) PROC_PATH("self/fd/%d", fd)

__attribute__((format(printf, 2, 3))) static inline char *proc_path(char out[static PROC_PATH_MAX], const char *fmt, ...) {
        va_list ap;

        strcpy(out, "/proc/");
        va_start(ap, fmt);
        vsnprintf(out + 6, PROC_PATH_MAX - 6, fmt, ap);
        va_end(ap);
        return out;
}
