/* Runs: tests. Threads that are to stand still before a test goes on. */
#pragma once

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Waits until a thread of this process, which says its id when it begins, waits in futex(2): for a lock, a condition or its turn. */
static inline void thread_until_it_waits(const _Atomic pid_t *tid) {
        for (;;) {
                char path[64], text[32] = "";
                FILE *f;

                usleep(500);
                snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", atomic_load(tid));
                f = atomic_load(tid) ? fopen(path, "re") : NULL;
                if (!f)
                        continue;
                if (!fgets(text, sizeof(text), f))
                        *text = 0;
                fclose(f);
                if (atoi(text) == SYS_futex && strncmp(text, "running", 7) != 0)
                        return;
        }
}
