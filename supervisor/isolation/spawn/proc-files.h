/* Runs: supervisor. The generated files of a region's /proc: constant for a budget, without a fact of the host. The
 * worker shows these files instead of the kernel's (worker/proc.c). */
#pragma once

#include "policy/grant.h"

#include <stddef.h>

typedef struct ProcFile {
        const char *path; /* in the region */
        char *text;       /* owned */
} ProcFile;

#define PROC_FILES_MAX 48

/* Pure. cpus: the processors of the region. Returns the number of files, or -ENOMEM, then without an owned text. */
int proc_files(const Budget *b, unsigned cpus, const char *region, ProcFile ret[static PROC_FILES_MAX]);
/* Is a generated file at the path, or below? */
bool proc_files_has(const char *path);
