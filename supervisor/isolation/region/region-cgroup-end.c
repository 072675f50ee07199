/* Runs: supervisor. Kills the processes of control groups, proves groups empty, and removes groups. */
#include "region/region-cgroup-private.h"

#include "base/clock.h"
#include "base/io.h"
#include "region/region-proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define KILL_USEC 2000000
#define BLOCKED_USEC 100000 /* for killed processes waiting in the kernel: the region is left behind, with its group */

/* kill(1 or less) would hit unrelated processes. */
static int group_kill_one(pid_t pid, void *arg) {
        return pid > 1 && kill(pid, SIGKILL) < 0 && errno == EPERM ? -EPERM : 0;
}

static int group_end_at_unblocked(pid_t pid, void *arg) {
        return proc_is_blocked(pid) ? 0 : -EAGAIN;
}

/* True when all killed processes of the group have waited in the kernel for BLOCKED_USEC. */
static bool group_waits(const char *dir, ProcWait *w) {
        const ProcBlocked b = {.blocked = group_each_listed(dir, group_end_at_unblocked, NULL) > 0};

        return proc_wait_look(w, &b, 0, clock_mono_usec(), BLOCKED_USEC);
}

static int group_kill(const char *dir) {
        struct timespec pause = {0, 1000000};
        uint64_t until = clock_mono_usec() + KILL_USEC;
        ProcWait wait = {};
        int n;

        if (group_write(dir, "cgroup.kill", "1") == 0)
                return 0;
        while ((n = group_each_listed(dir, group_kill_one, NULL)) > 0 && clock_mono_usec() < until &&
               !group_waits(dir, &wait))
                nanosleep(&pause, NULL);
        return n > 0 ? -EBUSY : n;
}

/* A process enters all groups together, so any group lists all processes. */
static const char *group_any_folder(const RegionCgroup *c) {
        return c->memory ? c->memory : c->pids ? c->pids : c->cpu;
}

int region_cgroup_each(const RegionCgroup *c, int (*f)(pid_t pid, void *arg), void *arg) {
        const char *dir = group_any_folder(c);
        int n = c->made && dir ? group_each_listed(dir, f, arg) : -ENOENT;

        return n < 0 ? n : 0;
}

void region_cgroup_kill_once(const RegionCgroup *c) {
        const char *dir = group_any_folder(c);

        if (c->made && dir && group_write(dir, "cgroup.kill", "1") < 0)
                group_each_listed(dir, group_kill_one, NULL);
}

/* The removal of the other groups proves again that all are empty. */
bool region_cgroup_empty(const RegionCgroup *c) {
        const char *dir = group_any_folder(c);
        char text[64];

        return !dir || group_read(dir, "cgroup.procs", text, sizeof(text)) < 0 || !*text;
}

/* A group stays busy for a moment after its last process was reaped. A region recorded as released is never looked for
 * again, so a passing lack of memory is retried as well. */
static int group_remove_folder(const char *dir) {
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

void region_cgroup_unthrottle(const RegionCgroup *c) {
        if (c->made && c->quota)
                group_write(c->quota, c->v2 ? "cpu.max" : "cpu.cfs_quota_us", c->v2 ? "max" : "-1");
}

/* At the limit a write to a page shared since a fork waits for memory. And two seconds after an out-of-memory kill the
 * kernel's reaper frees the victim's pages with all bytes. */
void region_cgroup_unlimit(const RegionCgroup *c) {
        if (!c->made || !c->memory)
                return;
        if (c->v2) {
                group_file_write(c, GROUP_MEMORY_LIMIT, "max");
                return;
        }
        /* first: the limit with swap must not be below the limit of memory */
        group_file_write(c, GROUP_SWAP_LIMIT, "-1");
        group_file_write(c, GROUP_MEMORY_LIMIT, "-1");
}

int group_remove(RegionCgroup *c) {
        const char *dirs[REGION_CGROUPS_MAX + 1];
        int e = 0;

        group_close_files(c);
        region_cgroup_list(c, dirs);
        for (size_t i = 0; c->made && dirs[i]; i++) {
                int r = group_remove_folder(dirs[i]);

                e = e < 0 ? e : r;
        }
        if (e == 0)
                c->made = false;
        return e;
}

int group_clear(const char *dir) {
        int e = access(dir, F_OK) < 0 ? 0 : group_kill(dir);

        return e == 0 ? group_remove_folder(dir) : e;
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
