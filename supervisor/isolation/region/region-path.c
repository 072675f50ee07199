/* Runs: supervisor. */
#include "region/region-path.h"

#include "base/path-lookup.h"
#include "base/proc-path.h"
#include "region/region-denial.h"
#include "schema/limits.h"
#include "spawn/plan.h"
#include "spawn/proc-files.h"
#include "spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>

/* Appends the parts of `path` to the absolute plain path out ("": the root), with "." and ".." resolved by name. */
static int path_join(char *out, const char *path) {
        size_t n = strlen(out);

        for (const char *p = path; *p;) {
                size_t part = strcspn(p, "/");

                if (part == 2 && p[0] == '.' && p[1] == '.') {
                        while (n > 0 && out[--n] != '/')
                                ;
                } else if (part > 0 && !(part == 1 && p[0] == '.')) {
                        if (n + part + 2 > PATH_MAX)
                                return -ENAMETOOLONG;
                        out[n++] = '/';
                        memcpy(out + n, p, part);
                        n += part;
                }
                out[n] = 0;
                p += part;
                p += *p == '/';
        }
        return 0;
}

int region_path_absolute(pid_t pid, int dirfd, const char *path, char out[static PATH_MAX]) {
        char base[PATH_MAX];
        ssize_t n;
        int e;

        out[0] = 0;
        if (*path != '/') {
                n = readlink(dirfd == AT_FDCWD ? PROC_PATH("%d/cwd", pid) : PROC_PATH("%d/fd/%d", pid, dirfd), base,
                             sizeof(base) - 1);
                if (n < 0)
                        return -errno;
                base[n] = 0;
                if (*base != '/')
                        return -ENOTDIR;
                if ((e = path_join(out, base)) < 0)
                        return e;
        }
        if ((e = path_join(out, path)) < 0)
                return e;
        if (!*out)
                strcpy(out, "/");
        return 0;
}

static bool path_is_in_scratch(Tier tier, const char *path) {
        /* /dev/shm: a link to /tmp */
        return tier == TIER_NAMESPACES && (plan_in_scratch(path) || path_is_under(path, "/dev/shm"));
}

/* The places of the region's terminals. */
static bool path_names_terminal(const char *path) {
        return strcmp(path, "/dev/ptmx") == 0 || path_is_under(path, TERMINALS_DIR);
}

static bool path_is_terminal(const Grant *g, Tier tier, const char *path) {
        return (grant_has_terminals(g, tier) && path_names_terminal(path)) ||
               ((g->terminal || grant_has_terminals(g, tier)) && strcmp(path, "/dev/tty") == 0);
}

static bool path_is_writable(const Grant *g, Tier tier, const char *scratch, const char *path) {
        static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

        if (path_is_in_scratch(tier, path) || (scratch && path_is_under(path, scratch)))
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
                if (strcmp(path, devices[i]) == 0)
                        return true;
        if (path_is_terminal(g, tier, path))
                return true;
        for (size_t i = 0; i < g->n_files; i++)
                if ((g->files[i].write || g->files[i].overlay) &&
                    path_is_under(path, tier == TIER_NAMESPACES ? g->files[i].target : g->files[i].source))
                        return true;
        return false;
}

/* The configuration of programs (spawn/plan-system.c). */
static bool path_is_shown_etc(const char *path) {
        char name[PROBE_ETC_BYTES];
        size_t n;

        if (strncmp(path, "/etc/", 5) != 0)
                return false;
        n = strcspn(path + 5, "/");
        if (n >= sizeof(name))
                return false;
        memcpy(name, path + 5, n);
        name[n] = 0;
        return probe_is_shown_etc(name);
}

/* Tier landlock: the rules come from the same list as the mounts of tier namespaces. */
static bool path_is_readable_by_rule(const Grant *g, const char *scratch, const char *shims, const char *path) {
        static const char *const system[] = {"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin",
                                             "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
                                             "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
                                             "/etc/alternatives", "/etc/localtime", "/etc/ssl/openssl.cnf",
                                             "/etc/ssl/certs"};

        for (size_t i = 0; i < ARRAY_SIZE(system); i++)
                if (path_is_under(path, system[i]))
                        return true;
        if (path_is_shown_etc(path))
                return true;
        for (size_t i = 0; i < g->n_files; i++)
                if (path_is_under(path, g->files[i].source))
                        return true;
        if (scratch && strncmp(path, scratch, strlen(scratch)) == 0 &&
            path_is_under(path + strlen(scratch), LEND_SUFFIX))
                return true;
        return (scratch && path_is_under(path, scratch)) || (shims && path_is_under(path, shims)) ||
               (g->skill_dir && path_is_under(path, g->skill_dir)) ||
               (g->program_copy && strcmp(path, g->program_copy) == 0);
}

/* Tier namespaces: folders on the way to an entry of the region exist, too. */
static bool path_is_at(const char *path, const char *entry) {
        return path_is_under(path, entry) || path_is_under(entry, path) || strcmp(path, "/") == 0;
}

static bool path_is_at_any(const char *path, const char *const entries[]) {
        for (; *entries; entries++)
                if (path_is_at(path, *entries))
                        return true;
        return false;
}

static bool path_is_at_grant(const Grant *g, const char *path) {
        for (size_t i = 0; i < g->n_files; i++)
                if (path_is_at(path, g->files[i].target))
                        return true;
        return false;
}

/* A /proc of the region shows the region's processes and generated files, and no data of the machine. */
static bool path_is_in_proc(const char *path) {
        static const char *const own[] = {"/proc/self", "/proc/thread-self", "/proc/net", "/etc/mtab", NULL};

        return path_is_at_any(path, own) || proc_files_has(path) ||
               (strncmp(path, "/proc/", 6) == 0 && path[6] >= '1' && path[6] <= '9');
}

/* Tier namespaces: the places of spawn/plan.c. The region sees the real content below a place, or an empty folder. */
static bool path_is_shown(const Grant *g, const char *path) {
        static const char *const always[] = {"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin",
                                             "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
                                             "/dev/shm", "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime",
                                             "/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/passwd", "/etc/group",
                                             "/etc/hosts", "/etc/hostname", "/etc/machine-id", "/etc/nsswitch.conf",
                                             "/etc/resolv.conf", "/etc/os-release", "/dev/stdin", "/dev/stdout",
                                             "/dev/stderr", REGION_FD_DIR, "/dev/tty",
                                             REGION_WORK_DIR, REGION_TMP_DIR, REGION_LETHE_DIR, NULL};
        static const char *const network[] = {"/etc/services", NULL};

        return path_is_at_any(path, always) || path_is_shown_etc(path) || path_is_at_grant(g, path) ||
               (g->network == NETWORK_HOST && path_is_at_any(path, network)) || (g->proc && path_is_in_proc(path)) ||
               (g->skill_dir && path_is_at(path, REGION_SKILL_DIR)) || (g->program && path_is_at(path, g->program)) ||
               (g->program_link && path_is_at(path, g->program_link));
}

PathReach region_path_reach(const Grant *g, Tier tier, const char *scratch, const char *shims, const char *path,
                            bool writes) {
        bool inside = path_is_terminal(g, tier, path) ||
                      (tier == TIER_LANDLOCK ? path_is_readable_by_rule(g, scratch, shims, path)
                                             : path_is_shown(g, path));

        if (!writes)
                return inside ? PATH_INSIDE : PATH_OUTSIDE;
        if (path_is_writable(g, tier, scratch, path))
                return PATH_INSIDE;
        return inside ? PATH_DENIED : PATH_OUTSIDE;
}

bool region_path_is_scratch(const Grant *g, Tier tier, const char *path) {
        return path_is_in_scratch(tier, path) && !path_is_at_grant(g, path);
}

bool region_path_is_there(int root, const char *path) {
        struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                               .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_CACHED};
        _cleanup_close_ int fd = lookup_open_cached(root, path, &how);

        return fd >= 0 || (errno != ENOENT && errno != ENOTDIR && errno != EAGAIN);
}

char *region_path_allow(const Grant *g, Tier tier, const char *path, bool writes) {
        if (!writes && path_is_under(path, "/proc"))
                return g->proc || tier != TIER_NAMESPACES ? NULL : strdup("\"proc\": true");
        if (path_names_terminal(path))
                return tier != TIER_NAMESPACES ? NULL : strdup("\"terminals\": true");
        if (path_target_check(path, !writes, NULL) != 0)
                return NULL;
        return denial_allow_file(path, writes);
}
