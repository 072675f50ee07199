/* Runs: supervisor. Makes control groups: limits, events, and processes. */
#include "region/region-cgroup-private.h"

#include "base/proc-path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

static int group_arm_v1(const char *dir, int *ret) {
        _cleanup_close_ int control = group_open(dir, "memory.oom_control", O_RDONLY), fd = -1;
        int e;

        if (control < 0)
                return control;
        if ((fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
                return -errno;
        e = group_write(dir, "cgroup.event_control", "%d %d", fd, control);
        if (e == 0)
                *ret = TAKE_FD(fd);
        return e;
}

/* At the limit the asking process waits and the supervisor is notified. So no SIGKILL can be mistaken for a different
 * kill, and no reaper frees pages before the overwriting. */
static int group_arm_memory_v1(RegionCgroup *c) {
        char above[PATH_MAX];
        int e = group_arm_v1(c->memory, &c->oom);

        c->oom_poll = POLLIN;
        if (e == 0 && group_above(c->memory, above))
                group_arm_v1(above, &c->oom_above); /* without permission there is no event */
        return e;
}

static int group_arm_tasks(RegionCgroup *c) {
        c->pids_events = group_open(c->pids, "pids.events", O_RDONLY);
        if (c->pids_events < 0)
                return c->pids_events;
        c->pids_poll = POLLPRI;
        region_cgroup_pids_max_count(c); /* the first read arms the event */
        return 0;
}

static int group_limit_memory_v1(RegionCgroup *c, const Budget *b) {
        int e;

        e = group_file_write(c, GROUP_MEMORY_LIMIT, "%llu", (unsigned long long)b->memory_bytes);
        if (e < 0)
                return e;
        /* With swap accounting the same limit holds for memory and swap together; else the file is absent. */
        e = group_file_write(c, GROUP_SWAP_LIMIT, "%llu", (unsigned long long)b->memory_bytes);
        if (e < 0 && e != -ENOENT && e != -EACCES)
                return e;
        e = group_write(c->memory, "memory.oom_control", "1");
        return e < 0 ? e : group_arm_memory_v1(c);
}

static int group_limit_memory_v2(RegionCgroup *c, const Budget *b) {
        int e;

        if ((e = group_file_write(c, GROUP_MEMORY_LIMIT, "%llu", (unsigned long long)b->memory_bytes)) < 0)
                return e;
        e = group_file_write(c, GROUP_SWAP_LIMIT, "0");
        if (e < 0 && e != -ENOENT)
                return e;
        e = group_write(c->memory, "memory.oom.group", "1");
        if (e < 0 && e != -ENOENT)
                return e;
        c->oom = group_open(c->memory, "memory.events", O_RDONLY);
        c->oom_poll = POLLPRI;
        return c->oom < 0 ? c->oom : 0;
}

/* Gives a used group the limits and counters of a new group. */
static int group_make_again(RegionCgroup *c, const Budget *b) {
        int e = region_cgroup_limit(c, b->memory_bytes, b->processes);
        uint64_t before = 0;

        if (e == 0 && c->memory)
                e = region_cgroup_peak_anew(c);
        if (e == 0 && c->memory && c->oom < 0)
                e = group_arm_memory_v1(c);
        group_told(c->oom); /* old events of the group above */
        group_told(c->oom_above);
        c->oom_doubt = false;
        if (e == 0 && c->pids && c->pids_events < 0)
                e = group_arm_tasks(c);
        c->tasks_before = 0;
        if (e == 0 && c->pids)
                /* no kernel resets the peak; before 6.11 there is no peak */
                group_file_number(c, GROUP_PIDS_PEAK, &c->tasks_before);
        c->cpu_before = 0;
        if (e == 0 && c->cpu)
                e = region_cgroup_cpu_usec(c, &before);
        c->cpu_before = before;
        return e;
}

#define QUOTA_PERIOD_USEC 100000ULL /* the kernel's default */

/* A task that used up the share stands still until the next period. */
static int group_limit_quota(const RegionCgroup *c, const Budget *b) {
        const unsigned long long quota = (unsigned long long)b->cpus_milli * (QUOTA_PERIOD_USEC / 1000);

        if (!c->quota || b->cpus_milli == 0 || b->cpus_milli == BUDGET_NONE)
                return 0;
        if (c->v2)
                return group_write(c->quota, "cpu.max", "%llu %llu", quota, QUOTA_PERIOD_USEC);
        return group_write(c->quota, "cpu.cfs_period_us", "%llu", QUOTA_PERIOD_USEC)
                        ?: group_write(c->quota, "cpu.cfs_quota_us", "%llu", quota);
}

int region_cgroup_make(RegionCgroup *c, const Budget *b) {
        const char *dirs[REGION_CGROUPS_MAX + 1];
        int e = 0;

        if (c->made && group_make_again(c, b) == 0)
                return 0;
        if (c->made) { /* the remaining charge may exceed this region's budget: make a new group at the same place */
                e = group_remove(c);
                c->cpu_before = c->tasks_before = 0;
        }
        region_cgroup_list(c, dirs);
        for (size_t i = 0; e == 0 && dirs[i]; i++)
                if (mkdir(dirs[i], 0755) < 0)
                        e = -errno;
        c->made = true;
        if (e == 0 && c->memory)
                e = c->v2 ? group_limit_memory_v2(c, b) : group_limit_memory_v1(c, b);
        if (e == 0 && c->pids) {
                e = group_file_write(c, GROUP_PIDS_MAX, "%llu", (unsigned long long)b->processes + (c->v2 ? 1 : 0));
                e = e ?: group_arm_tasks(c);
        }
        e = e ?: group_limit_quota(c, b);
        if (e < 0)
                region_cgroup_remove(c);
        return e;
}

int region_cgroup_kills(RegionCgroup *c) {
        c->counted = true;
        return c->memory && !c->v2 ? group_write(c->memory, "memory.oom_control", "0") : 0;
}

int region_cgroup_limit(const RegionCgroup *c, uint64_t memory, uint64_t processes) {
        int e = 0;

        if (!c->made)
                return 0;
        if (c->memory && (e = group_file_write(c, GROUP_MEMORY_LIMIT, "%llu", (unsigned long long)memory)) < 0 &&
            e != -EINVAL)
                return e;
        /* Version 1: the limit with swap may be absent, and must never be below the limit of memory: raised first. */
        if (c->memory && !c->v2 && e == -EINVAL)
                group_file_write(c, GROUP_SWAP_LIMIT, "%llu", (unsigned long long)memory);
        if (c->memory && e == -EINVAL)
                e = group_file_write(c, GROUP_MEMORY_LIMIT, "%llu", (unsigned long long)memory);
        else if (c->memory && !c->v2)
                group_file_write(c, GROUP_SWAP_LIMIT, "%llu", (unsigned long long)memory);
        if (c->pids && e == 0)
                e = group_file_write(c, GROUP_PIDS_MAX, "%llu", (unsigned long long)processes + (c->v2 ? 1 : 0));
        return e;
}

int region_cgroup_attach(const RegionCgroup *c, pid_t pid) {
        const char *dirs[REGION_CGROUPS_MAX + 1];
        int e = 0;

        region_cgroup_list(c, dirs);
        for (size_t i = 0; e == 0 && dirs[i]; i++)
                e = group_write(dirs[i], "cgroup.procs", "%d", (int)pid);
        return e;
}

int region_cgroup_attach_tree(const RegionCgroup *c, pid_t pid) {
        char text[256], *p = text, *end;
        int e = region_cgroup_attach(c, pid);

        e = e ?: group_read(PROC_PATH("%d/task/%d", pid, pid), "children", text, sizeof(text));
        while (e == 0) {
                long child = strtol(p, &end, 10);

                if (end == p)
                        break;
                e = region_cgroup_attach(c, (pid_t)child);
                p = end;
        }
        return e;
}
