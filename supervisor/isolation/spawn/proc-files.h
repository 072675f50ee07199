/* Runs: supervisor. The generated files of a region's /proc: what programs ask there, constant for a budget, without a
 * fact of the host. The worker shows them instead of the kernel's (worker/proc.c). */
#pragma once

#include "policy/grant.h"

#include <stddef.h>

typedef struct ProcFile {
        const char *path; /* in the region */
        char *text;       /* owned */
} ProcFile;

#define PROC_FILES_MAX 48

/* Pure. cpus: the processors that the region may run on. Returns the number of files, or -ENOMEM and owns
 * none. */
int proc_files(const Budget *b, unsigned cpus, const char *region, ProcFile ret[static PROC_FILES_MAX]);
/* Is the path one of these files, or a folder above one? */
bool proc_files_has(const char *path);
