#include "spawn/probe.h"

#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

const char *const probe_system_names[PROBE_LINKS] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/* First number of a small file of /proc, or `otherwise` when it is not there. */
static long long read_number(const char *path, long long otherwise) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        char text[32];
        ssize_t n;

        if (fd < 0)
                return otherwise;
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
        if (n <= 0)
                return otherwise;
        text[n] = 0;
        return strtoll(text, NULL, 10);
}

/* True when `id` has a mapping in a map file of our own user namespace. */
static bool is_mapped(const char *path, uint64_t id) {
        _cleanup_free_ char *text = NULL;
        unsigned long long inside, outside, count;
        size_t n;

        if (io_read_file(AT_FDCWD, path, 65536, &text, &n) < 0)
                return false;
        for (const char *p = text; p && *p; p = strchr(p, '\n')) {
                p += *p == '\n';
                if (sscanf(p, "%llu %llu %llu", &inside, &outside, &count) == 3 && id >= inside && id - inside < count)
                        return true;
        }
        return false;
}

int probe_userns(bool root) {
        if (root)
                return USERNS_MAY_WORK;
        if (read_number("/proc/sys/user/max_user_namespaces", 1) == 0)
                return USERNS_DENIED_COUNT;
        if (read_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
                return USERNS_DENIED_CLONE;
        if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 1) {
                _cleanup_free_ char *label = NULL;
                size_t n;

                /* A process with a profile of its own is judged by that profile, not by the general rule. */
                if (io_read_file(AT_FDCWD, "/proc/self/attr/current", 4096, &label, &n) < 0 || strncmp(label, "unconfined", 10) == 0)
                        return USERNS_DENIED_APPARMOR;
        }
        return USERNS_MAY_WORK;
}

uint64_t probe_user_limit(const char *name) {
        char path[96];

        snprintf(path, sizeof(path), "/proc/sys/user/%s", name);
        return (uint64_t)MAX(read_number(path, 0), 0LL);
}

void probe_quick(Probe *ret) {
        struct statvfs fs;
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1U /* LANDLOCK_CREATE_RULESET_VERSION */);

        *ret = (Probe){.uid = geteuid(), .gid = getegid(), .landlock_abi = abi > 0 ? (int)abi : 0};
        ret->root = ret->uid == 0;
        if (ret->root)
                ret->has_nobody = is_mapped("/proc/self/uid_map", PROBE_NOBODY) && is_mapped("/proc/self/gid_map", PROBE_NOBODY);
        ret->objects = statvfs("/proc/sys/user/max_inotify_instances", &fs) == 0 && !(fs.f_flag & ST_RDONLY) &&
                       access("/proc/sys/user/max_inotify_watches", F_OK) == 0;
        ret->userns_denied = probe_userns(ret->root);
        for (size_t i = 0; i < PROBE_LINKS; i++) {
                ssize_t n = readlink(probe_system_names[i], ret->system[i].text, sizeof(ret->system[i].text) - 1);
                struct stat st;

                if (n > 0 && n < (ssize_t)sizeof(ret->system[i].text) - 1)
                        ret->system[i].kind = PROBE_LINK;
                else if (lstat(probe_system_names[i], &st) == 0 && S_ISDIR(st.st_mode))
                        ret->system[i].kind = PROBE_FOLDER;
        }
}

const char *probe_userns_reason(int denied) {
        switch ((ProbeUserns)denied) {
        case USERNS_DENIED_CLONE:
                return "kernel.unprivileged_userns_clone is 0; fix: sysctl kernel.unprivileged_userns_clone=1";
        case USERNS_DENIED_COUNT:
                return "user.max_user_namespaces is 0; fix: sysctl user.max_user_namespaces=15000";
        case USERNS_DENIED_APPARMOR:
                return "AppArmor restricts unprivileged user namespaces; fix: an AppArmor profile for lethe with the rule \"userns,\", or "
                       "sysctl kernel.apparmor_restrict_unprivileged_userns=0";
        case USERNS_MAY_WORK:
                break;
        }
        return "";
}
