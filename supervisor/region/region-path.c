/* Runs: supervisor. */
#include "region/region-path.h"

#include "region/region-denial.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Appends the parts of `path` to out, which holds an absolute plain path ("" is the root), taking "." and ".." by their names alone. */
static int join(char *out, const char *path) {
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
        char link[64], base[PATH_MAX];
        ssize_t n;
        int e;

        out[0] = 0;
        if (*path != '/') {
                if (dirfd == AT_FDCWD)
                        snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
                else
                        snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, dirfd);
                n = readlink(link, base, sizeof(base) - 1);
                if (n < 0)
                        return -errno;
                base[n] = 0;
                if (*base != '/')
                        return -ENOTDIR;
                if ((e = join(out, base)) < 0)
                        return e;
        }
        if ((e = join(out, path)) < 0)
                return e;
        if (!*out)
                strcpy(out, "/");
        return 0;
}

static bool in_region(int root, const char *path) {
        struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
        int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

        if (fd < 0)
                return errno != ENOENT && errno != ENOTDIR;
        close(fd);
        return true;
}

static bool on_host(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0;
}

static bool writable_here(const Grant *g, Tier tier, const char *scratch, const char *path) {
        static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

        if (tier == TIER_NAMESPACES && (path_is_under(path, REGION_WORK_DIR) || path_is_under(path, REGION_TMP_DIR)))
                return true;
        if (scratch && path_is_under(path, scratch))
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
                if (strcmp(path, devices[i]) == 0)
                        return true;
        for (size_t i = 0; i < g->n_files; i++)
                if (g->files[i].write && path_is_under(path, tier == TIER_NAMESPACES ? g->files[i].target : g->files[i].source))
                        return true;
        return false;
}

/* Tier landlock: the rules are made of the same list as the mounts of the other tier. */
static bool readable_by_rule(const Grant *g, const char *scratch, const char *shims, const char *path) {
        static const char *const system[] = {"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/dev/null", "/dev/zero",
                                             "/dev/full", "/dev/random", "/dev/urandom", "/etc/ld.so.cache", "/etc/ld.so.conf",
                                             "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/ssl/certs"};

        for (size_t i = 0; i < ARRAY_SIZE(system); i++)
                if (path_is_under(path, system[i]))
                        return true;
        for (size_t i = 0; i < g->n_files; i++)
                if (path_is_under(path, g->files[i].source))
                        return true;
        return (scratch && path_is_under(path, scratch)) || (shims && path_is_under(path, shims)) || (g->skill_dir && path_is_under(path, g->skill_dir)) ||
               (g->program && strcmp(path, g->program) == 0);
}

bool region_path_is_denial(const Grant *g, Tier tier, const char *scratch, const char *shims, int root, const char *path, bool writes) {
        char parent[PATH_MAX], *slash;

        if (writes) {
                if (writable_here(g, tier, scratch, path))
                        return false;
                snprintf(parent, sizeof(parent), "%s", path);
                slash = strrchr(parent, '/');
                *(slash == parent ? slash + 1 : slash) = 0;
                /* Where not even the folder exists the call fails for that reason. */
                return root >= 0 ? in_region(root, parent) || on_host(parent) : on_host(parent);
        }
        if (tier == TIER_LANDLOCK)
                return !readable_by_rule(g, scratch, shims, path) && on_host(path);
        /* The links /proc/self and /proc/thread-self lead nowhere for who looks from outside. */
        if (g->proc && (path_is_under(path, "/proc/self") || path_is_under(path, "/proc/thread-self")))
                return false;
        return root >= 0 && !in_region(root, path) && on_host(path);
}

char *region_path_allow(const Grant *g, Tier tier, const char *path, bool writes) {
        if (!writes && path_is_under(path, "/proc"))
                return g->proc || tier != TIER_NAMESPACES ? NULL : strdup("\"proc\": true");
        if (path_target_check(path, NULL) != 0)
                return NULL;
        return denial_allow_file(path, writes);
}
