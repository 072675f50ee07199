/* Runs: supervisor. Tasks of a region blocked in the kernel, and processes found by their environment. */
#include "region/region-proc.h"

#include "base/dirents.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TASK_FLAGS 6      /* of proc_stat() */
#define TASK_EXITING 0x4U /* PF_EXITING */

static uint64_t proc_task_switches(pid_t pid, const char *task) {
        char text[4096];

        if (proc_read_status(PROC_PATH("%d/task/%.20s/status", pid, task), text, sizeof(text)) == 0)
                return 0;
        return proc_number(text, "\nvoluntary_ctxt_switches:", 10) +
               proc_number(text, "\nnonvoluntary_ctxt_switches:", 10);
}

static void proc_count_blocked(pid_t pid, void *arg) {
        _cleanup_closedir_ DIR *d = opendir(PROC_PATH("%d/task", pid));
        ProcBlocked *b = arg;
        struct dirent *de;

        while (d && (de = readdir(d))) {
                uint64_t f[TASK_FLAGS + 1];

                if (de->d_name[0] == '.' || !proc_stat((pid_t)strtol(de->d_name, NULL, 10), f, ARRAY_SIZE(f)))
                        continue;
                /* an exiting task takes no signal in any sleep */
                if (f[0] == 'D' || (f[0] == 'S' && f[TASK_FLAGS] & TASK_EXITING)) {
                        b->blocked++;
                        b->switches += proc_task_switches(pid, de->d_name);
                } else if (!strchr("tTZX", (char)f[0]))
                        b->running++;
        }
}

int proc_blocked(pid_t root, ProcBlocked *ret) {
        *ret = (ProcBlocked){};
        return proc_tree_each(root, proc_count_blocked, ret);
}

bool proc_wait_look(ProcWait *w, const ProcBlocked *b, uint64_t progress, uint64_t now, uint64_t usec) {
        uint64_t seen = progress + b->switches + b->blocked;

        if (b->blocked == 0 || b->running > 0) {
                *w = (ProcWait){};
                return false;
        }
        if (w->since == 0 || seen != w->seen)
                *w = (ProcWait){.since = now, .seen = seen};
        return now - w->since >= usec;
}

bool proc_is_blocked(pid_t pid) {
        uint64_t letter;

        return pid > 0 && proc_stat(pid, &letter, 1) && letter == 'D';
}

#define PROC_ENV_MAX 65536

/* True when name=value is in the environment, a list of NUL-terminated strings. */
static bool proc_has_variable(const char *env, size_t n, const char *want) {
        for (const char *p = env; p < env + n; p += strlen(p) + 1)
                if (strcmp(p, want) == 0)
                        return true;
        return false;
}

/* Calls fn for each process of the region. Returns the number of processes. */
static size_t proc_each_of_region(const char *region, void (*fn)(pid_t pid, void *arg), void *arg) {
        _cleanup_free_ char *env = malloc(PROC_ENV_MAX);
        _cleanup_closedir_ DIR *d = opendir("/proc");
        char want[64], status[4096];
        struct dirent *de;
        size_t n = 0;

        snprintf(want, sizeof(want), "LETHE_REGION=%s", region);
        while (d && (de = readdir(d))) {
                long pid = strtol(de->d_name, NULL, 10);
                size_t k;

                if (pid <= 1 || pid == getpid())
                        continue;
                /* Status first: read without a lock of the process, and few processes are confined like a region's. */
                if (!proc_read_status(PROC_PATH("%ld/status", pid), status, sizeof(status)) ||
                    !strstr(status, "\nNoNewPrivs:\t1") || !strstr(status, "\nSeccomp:\t2"))
                        continue;
                k = env ? proc_read(PROC_PATH("%ld/environ", pid), env, PROC_ENV_MAX) : 0;
                if (k == 0 || !proc_has_variable(env, k, want))
                        continue;
                fn((pid_t)pid, arg);
                n++;
        }
        return n;
}

static void proc_kill_found(pid_t pid, void *arg) {
        kill(pid, SIGKILL);
}

size_t proc_kill_by_region(const char *region) {
        return proc_each_of_region(region, proc_kill_found, NULL);
}

void proc_region_blocked(const char *region, ProcBlocked *ret) {
        *ret = (ProcBlocked){};
        proc_each_of_region(region, proc_count_blocked, ret);
}
