/* Runs: supervisor. Reads of control groups: resources used by a region, and limits reached. */
#include "region/region-cgroup-private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FULL_FILES_MAX (1 << 20)

uint64_t group_keyed(const char *text, const char *key) {
        size_t n = strlen(key);

        for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
                if (strncmp(line, key, n) == 0 && line[n] == ' ')
                        return strtoull(line + n + 1, NULL, 10);
        return 0;
}

uint64_t group_told(int fd) {
        uint64_t n = 0;

        return fd >= 0 && read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n) ? n : 0;
}

bool group_above(const char *dir, char ret[static PATH_MAX]) {
        char *slash;

        if (snprintf(ret, PATH_MAX, "%s", dir) >= PATH_MAX || !(slash = strrchr(ret, '/')))
                return false;
        *slash = 0;
        return true;
}

/* Reads an events file through the polled descriptor: only such a read re-arms poll(2). */
static size_t group_events_read(int fd, char *text, size_t room) {
        ssize_t n = fd < 0 ? -1 : pread(fd, text, room - 1, 0);

        text[MAX(n, 0)] = 0;
        return (size_t)MAX(n, 0);
}

static bool group_under_oom(const char *dir) {
        char text[256];

        return group_read(dir, "memory.oom_control", text, sizeof(text)) == 0 && group_keyed(text, "under_oom") > 0;
}

/* True when this group stands at its own limit, after doubt because of the group above. A process sleeping at this
 * group's limit still sleeps, while no process sleeps above. Earlier events of this group prove nothing. */
static bool group_stands_at_own_limit(RegionCgroup *c) {
        char above[PATH_MAX];
        bool own, other;

        if (!group_above(c->memory, above))
                return false;
        other = group_under_oom(above);
        group_told(c->oom);
        own = group_under_oom(c->memory);
        other |= group_under_oom(above) || group_told(c->oom_above) > 0;
        c->oom_doubt = other;
        return own && !other;
}

uint64_t region_cgroup_oom_count(RegionCgroup *c) {
        char text[1024];
        uint64_t n = 0;

        if (c->oom < 0)
                return 0;
        if (!c->v2) {
                n = group_told(c->oom); /* first: the kernel notifies the group above before the groups below */
                c->counted |= n > 0;
                c->oom_doubt |= group_told(c->oom_above) > 0;
                return c->oom_doubt ? group_stands_at_own_limit(c) : n;
        }
        if (group_events_read(c->oom, text, sizeof(text)))
                n = group_keyed(text, "oom");
        return n;
}

uint64_t region_cgroup_oom_kills(const RegionCgroup *c) {
        char text[1024];

        if (!c->made || group_read(c->memory, c->v2 ? "memory.events" : "memory.oom_control", text, sizeof(text)) < 0)
                return 0;
        return group_keyed(text, "oom_kill");
}

uint64_t region_cgroup_pids_max_count(RegionCgroup *c) {
        char text[256];
        uint64_t n = group_events_read(c->pids_events, text, sizeof(text)) ? group_keyed(text, "max") : 0;

        c->counted |= n > 0;
        return n;
}

/* True for a peak higher than the peaks of earlier regions in the group. */
static bool group_has_own_peak(const RegionCgroup *c, uint64_t *ret) {
        return group_file_number(c, GROUP_PIDS_PEAK, ret) == 0 && *ret > c->tasks_before;
}

int region_cgroup_tasks_seen(const RegionCgroup *c, uint64_t *ret) {
        int e = c->made ? 0 : -ENOENT;

        if (e == 0 && !group_has_own_peak(c, ret))
                e = group_number(c->pids, "pids.current", ret);
        if (e == 0 && c->v2)
                *ret -= *ret > 0;
        return e;
}

bool region_cgroup_pids_outside(const RegionCgroup *c, uint64_t limit) {
        const uint64_t worker = c->v2;
        char dir[PATH_MAX], above[PATH_MAX];
        uint64_t n = 0, max = 0;

        if (group_has_own_peak(c, &n))
                return n < limit + worker;
        if (group_file_number(c, GROUP_PIDS_PEAK, &n) == 0 && n < limit + worker)
                return true;
        if (group_number(c->pids, "pids.current", &n) < 0 || n >= limit + worker)
                return false;
        /* The group's peak is unknown: a group above at its limit now is the cause. */
        for (snprintf(dir, sizeof(dir), "%s", c->pids); group_above(dir, above); memcpy(dir, above, sizeof(dir)))
                if (group_number(above, "pids.current", &n) < 0 || group_number(above, "pids.max", &max) < 0)
                        return false;
                else if (n >= max)
                        return true;
        return false;
}

int region_cgroup_memory_now(const RegionCgroup *c, uint64_t *ret) {
        return group_file_number(c, GROUP_MEMORY_NOW, ret);
}

int region_cgroup_memory_peak(const RegionCgroup *c, uint64_t *ret) {
        return group_file_number(c, GROUP_MEMORY_PEAK, ret);
}

void region_cgroup_limit_sockets(RegionCgroup *c, uint64_t bytes) {
        if (c->made && c->memory && !c->v2)
                c->sockets = group_write(c->memory, "memory.kmem.tcp.limit_in_bytes", "%llu",
                                         (unsigned long long)bytes) == 0;
}

/* In version 1 only the keys with "total_" include the groups below. */
static uint64_t group_files(const RegionCgroup *c, const char *stat) {
        return c->v2 ? group_keyed(stat, "inactive_file") + group_keyed(stat, "active_file")
                     : group_keyed(stat, "total_inactive_file") + group_keyed(stat, "total_active_file");
}

int region_cgroup_memory_kept(const RegionCgroup *c, uint64_t *ret) {
        uint64_t now, files;
        char text[8192];
        int e;

        if ((e = region_cgroup_memory_now(c, &now)) < 0 ||
            (e = group_read(c->memory, "memory.stat", text, sizeof(text))) < 0)
                return e;
        files = group_files(c, text);
        *ret = now > files ? now - files : 0;
        return 0;
}

int region_cgroup_with_sockets(const RegionCgroup *c, uint64_t *ret) {
        uint64_t kept, sockets;
        int e = c->sockets ? group_number(c->memory, "memory.kmem.tcp.usage_in_bytes", &sockets) : -ENOENT;

        if (e == 0 && sockets == 0)
                e = -ENOENT;
        e = e ?: region_cgroup_memory_kept(c, &kept);
        if (e < 0)
                return e;
        *ret = sockets + kept;
        return 0;
}

int region_cgroup_peak_anew(const RegionCgroup *c) {
        return group_file_write(c, GROUP_MEMORY_PEAK, "0");
}

CgroupFull region_cgroup_full(const RegionCgroup *c, uint64_t limit_bytes) {
        uint64_t peak;
        char text[4096];

        if (!c->made || c->v2 || region_cgroup_memory_peak(c, &peak) < 0 || peak < (limit_bytes & ~UINT64_C(4095)))
                return CGROUP_NOT_FULL;
        if (group_read(c->memory, "memory.stat", text, sizeof(text)) < 0)
                return CGROUP_NOT_FULL;
        return group_files(c, text) < FULL_FILES_MAX ? CGROUP_FULL : CGROUP_FULL_OF_FILES;
}

int region_cgroup_cpu_usec(const RegionCgroup *c, uint64_t *ret) {
        int e;

        if (c->v2) {
                char text[1024];

                e = group_file_read(c, GROUP_CPU_USAGE, text, sizeof(text));
                if (e == 0)
                        *ret = group_keyed(text, "usage_usec");
                return e;
        }
        e = group_file_number(c, GROUP_CPU_USAGE, ret);
        if (e == 0)
                *ret = *ret / 1000 > c->cpu_before ? *ret / 1000 - c->cpu_before : 0;
        return e;
}

int region_cgroup_throttled_usec(const RegionCgroup *c, uint64_t *ret) {
        char text[1024];
        int e = group_file_read(c, GROUP_QUOTA_STAT, text, sizeof(text));

        if (e == 0)
                *ret = c->v2 ? group_keyed(text, "throttled_usec") : group_keyed(text, "throttled_time") / 1000;
        return e;
}
