/* Runs: supervisor. Killing, proving empty and removing of control groups. */
#include "region/region-cgroup-private.h"

#include "base/clock.h"
#include "base/io.h"
#include "region/region-proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KILL_USEC 2000000
#define BLOCKED_USEC 100000 /* for processes that were killed and wait in the kernel: their region is left behind, and its group with it */

/* Calls back with each process that a group lists, 0 for one of another PID namespace that we cannot name. Returns how many there were, or -errno. */
static int each_listed(const char *dir, int (*f)(pid_t pid, void *arg), void *arg) {
        _cleanup_free_ char *text = NULL, *path = NULL;
        size_t n;
        int e, count = 0;

        if (asprintf(&path, "%s/cgroup.procs", dir) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        e = io_read_file(AT_FDCWD, path, 1 << 20, &text, &n);
        if (e < 0)
                return e == -ENOENT || e == -ENODEV ? 0 : e;
        for (char *p = text; *p;) {
                char *end;
                long pid = strtol(p, &end, 10);

                if (end == p)
                        break;
                e = f((pid_t)pid, arg);
                if (e < 0)
                        return e;
                count++;
                p = *end ? end + 1 : end;
        }
        return count;
}

/* 1 would be everything. */
static int kill_one(pid_t pid, void *arg) {
        return pid > 1 && kill(pid, SIGKILL) < 0 && errno == EPERM ? -EPERM : 0;
}

static int end_at_unblocked(pid_t pid, void *arg) {
        return proc_is_blocked(pid) ? 0 : -EAGAIN;
}

/* All that is in the group was killed, and has waited in the kernel since looks that are BLOCKED_USEC old. */
static bool group_waits(const char *dir, ProcWait *w) {
        const ProcBlocked b = {.blocked = each_listed(dir, end_at_unblocked, NULL) > 0};

        return proc_wait_look(w, &b, 0, clock_mono_usec(), BLOCKED_USEC);
}

static int kill_listed(const char *dir) {
        return each_listed(dir, kill_one, NULL);
}

static int kill_dir(const char *dir) {
        struct timespec pause = {0, 1000000};
        uint64_t until = clock_mono_usec() + KILL_USEC;
        ProcWait wait = {};
        int n;

        if (group_write(dir, "cgroup.kill", "1") == 0)
                return 0;
        while ((n = kill_listed(dir)) > 0 && clock_mono_usec() < until && !group_waits(dir, &wait))
                nanosleep(&pause, NULL);
        return n > 0 ? -EBUSY : n;
}

/* The groups are entered together: what is in one is in all of them. */
static const char *any_dir(const RegionCgroup *c) {
        return c->memory ? c->memory : c->pids ? c->pids : c->cpu;
}

int region_cgroup_each(const RegionCgroup *c, int (*f)(pid_t pid, void *arg), void *arg) {
        const char *dir = any_dir(c);
        int n = c->made && dir ? each_listed(dir, f, arg) : -ENOENT;

        return n < 0 ? n : 0;
}

void region_cgroup_kill_once(const RegionCgroup *c) {
        const char *dir = any_dir(c);

        if (c->made && dir && group_write(dir, "cgroup.kill", "1") < 0)
                kill_listed(dir);
}

/* That the other groups are empty, too, their removal proves again. */
bool region_cgroup_empty(const RegionCgroup *c) {
        const char *dir = any_dir(c);
        char text[64];

        return !dir || group_read(dir, "cgroup.procs", text, sizeof(text)) < 0 || !*text;
}

/* A group stays busy for a moment after its last process was reaped. Once recorded as released nobody would look for it again, so a
 * passing lack of memory is not taken for an answer either. */
static int remove_dir(const char *dir) {
        struct timespec pause = {0, 200000};
        uint64_t until = clock_mono_usec() + KILL_USEC;
        ProcWait wait = {};

        for (unsigned tries = 1; rmdir(dir) < 0; tries++) {
                int e = errno;

                if (e == ENOENT)
                        return 0;
                if ((e != EBUSY && tries >= 3) || clock_mono_usec() > until || (e == EBUSY && group_waits(dir, &wait)))
                        return -e;
                nanosleep(&pause, NULL);
        }
        return 0;
}

/* At its limit a write to a page that is shared since a fork waits for memory, and the kernel's reaper frees after two seconds, with all
 * bytes in it, what an out-of-memory kill has picked. */
void region_cgroup_unlimit(const RegionCgroup *c) {
        if (!c->made || !c->memory)
                return;
        if (c->v2) {
                group_file_write(c, GROUP_MEMORY_LIMIT, "max");
                return;
        }
        group_file_write(c, GROUP_SWAP_LIMIT, "-1"); /* first: it must not be below the other */
        group_file_write(c, GROUP_MEMORY_LIMIT, "-1");
}

int region_cgroup_remove(RegionCgroup *c) {
        const char *dirs[] = {c->memory, c->v2 ? NULL : c->pids, c->v2 ? NULL : c->cpu};
        int e = 0;

        if (c->pool && cgroup_pool_give(c->pool, c))
                return 0;
        group_close_files(c);
        for (size_t i = 0; c->made && i < ARRAY_SIZE(dirs); i++)
                if (dirs[i]) {
                        int r = remove_dir(dirs[i]);

                        e = e < 0 ? e : r;
                }
        if (e == 0)
                c->made = false;
        return e;
}

void region_cgroup_deinit(RegionCgroup *c) {
        group_close_files(c);
        free(c->memory);
        free(c->pids);
        free(c->cpu);
        *c = REGION_CGROUP_NULL;
}

int group_clear(const char *dir) {
        int e = access(dir, F_OK) < 0 ? 0 : kill_dir(dir);

        return e == 0 ? remove_dir(dir) : e;
}

int region_cgroup_clear_text(const char *text, const char *region, const char *pools) {
        _cleanup_free_ char *copy = strdup(text);
        char *save = NULL;
        size_t n = strlen(pools);
        int e = 0;

        if (!copy)
                return -ENOMEM;
        for (char *dir = strtok_r(copy, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
                const char *name = strrchr(dir, '/');
                int r;

                if (!name || strncmp(name + 1, CGROUP_NAME, strlen(CGROUP_NAME)) != 0)
                        continue;
                name += 1 + strlen(CGROUP_NAME);
                if (strcmp(name, region) != 0 && (strncmp(name, pools, n) != 0 || name[n] != '-'))
                        continue;
                r = group_clear(dir);
                e = e < 0 ? e : r;
        }
        return e;
}
