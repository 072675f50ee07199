#include "spawn/probe.h"

#include "base/io.h"
#include "base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

const char *const probe_system_names[PROBE_LINKS] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/* First number of a small file of /proc, or `otherwise` when missing. */
static long long probe_read_number(const char *path, long long otherwise) {
        char text[32];

        return proc_read(path, text, sizeof(text)) > 0 ? strtoll(text, NULL, 10) : otherwise;
}

bool probe_is_mapped(const char *path, uint64_t first, uint64_t n_ids) {
        _cleanup_free_ char *text = NULL;
        unsigned long long inside, outside, count;
        size_t n;

        if (io_read_file(AT_FDCWD, path, 65536, &text, &n) < 0)
                return false;
        for (const char *p = text; p && *p; p = strchr(p, '\n')) {
                p += *p == '\n';
                if (sscanf(p, "%llu %llu %llu", &inside, &outside, &count) == 3 && first >= inside &&
                    first + n_ids <= inside + count)
                        return true;
        }
        return false;
}

int probe_userns(bool root) {
        if (root)
                return USERNS_MAY_WORK;
        if (probe_read_number("/proc/sys/user/max_user_namespaces", 1) == 0)
                return USERNS_DENIED_COUNT;
        if (probe_read_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
                return USERNS_DENIED_CLONE;
        if (probe_read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 1) {
                _cleanup_free_ char *label = NULL;
                size_t n;

                /* A process with a profile of its own is judged by that profile, not by the general rule. */
                if (io_read_file(AT_FDCWD, "/proc/self/attr/current", 4096, &label, &n) < 0 ||
                    strncmp(label, "unconfined", 10) == 0)
                        return USERNS_DENIED_APPARMOR;
        }
        return USERNS_MAY_WORK;
}

uint64_t probe_user_limit(const char *name) {
        char path[96];

        snprintf(path, sizeof(path), "/proc/sys/user/%s", name);
        return (uint64_t)MAX(probe_read_number(path, 0), 0LL);
}

/* Folders that packages put into /etc for everybody. No pattern fits a folder with keys, users or host names. */
bool probe_is_shown_etc(const char *name) {
        static const char *const shown[] = {"fonts", "ImageMagick-6", "ImageMagick-7", "java-*-openjdk", "libreoffice",
                                            "chromium", "chromium.d", "ghostscript", "texmf", "R", "mime.types"};

        for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
                if (fnmatch(shown[i], name, 0) == 0)
                        return true;
        return false;
}

/* A single list is cheaper than a look for each, and java's names have a version. */
static void probe_find_etc(Probe *p) {
        DIR *d = opendir("/etc");

        for (const struct dirent *e; d && p->n_etc < PROBE_ETC_MAX && (e = readdir(d));)
                if (strlen(e->d_name) < PROBE_ETC_BYTES && probe_is_shown_etc(e->d_name))
                        strcpy(p->etc[p->n_etc++], e->d_name);
        if (d)
                closedir(d);
}

void probe_quick(Probe *ret) {
        struct statvfs fs;
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1U /* LANDLOCK_CREATE_RULESET_VERSION */);

        *ret = (Probe){.uid = geteuid(), .gid = getegid(), .landlock_abi = abi > 0 ? (int)abi : 0};
        ret->root = ret->uid == 0;
        if (ret->root)
                ret->has_nobody = probe_is_mapped("/proc/self/uid_map", PROBE_NOBODY, 1) &&
                                  probe_is_mapped("/proc/self/gid_map", PROBE_NOBODY, 1);
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
        probe_find_etc(ret);
}

const char *probe_userns_reason(int denied) {
        switch ((ProbeUserns)denied) {
        case USERNS_DENIED_CLONE:
                return "kernel.unprivileged_userns_clone is 0; fix: sysctl kernel.unprivileged_userns_clone=1";
        case USERNS_DENIED_COUNT: return "user.max_user_namespaces is 0; fix: sysctl user.max_user_namespaces=15000";
        case USERNS_DENIED_APPARMOR:
                return "AppArmor restricts unprivileged user namespaces; fix: an AppArmor profile for lethe with the "
                       "rule \"userns,\", or "
                       "sysctl kernel.apparmor_restrict_unprivileged_userns=0";
        case USERNS_MAY_WORK:
                break;
        }
        return "";
}

/* The value of the last `name`=… of the kernel's command line, as kstrtobool() reads: 1, 0, or -1 when missing. */
static int probe_boot_word(const char *line, const char *name) {
        size_t n = strlen(name);
        int v = -1;

        for (const char *p = line; (p = strstr(p, name)); p += n)
                if ((p == line || p[-1] == ' ') && p[n] == '=' && strchr("1yYtT", p[n + 1]) && p[n + 1])
                        v = 1;
                else if ((p == line || p[-1] == ' ') && p[n] == '=')
                        v = strncmp(p + n + 1, "on", 2) == 0;
        return v;
}

static bool probe_find_init_on_free(void) {
        _cleanup_free_ char *line = NULL, *text = NULL;
        char path[256];
        struct utsname u;
        size_t n;
        int word = io_read_file(AT_FDCWD, "/proc/cmdline", 65536, &line, &n) == 0
                           ? probe_boot_word(line, "init_on_free")
                           : -1;

        if (word >= 0)
                return word;
        uname(&u);
        snprintf(path, sizeof(path), "/boot/config-%s", u.release);
        return io_read_file(AT_FDCWD, path, 8 << 20, &text, &n) == 0 &&
               strstr(text, "\nCONFIG_INIT_ON_FREE_DEFAULT_ON=y");
}

/* Fixed for the life of a kernel. */
static bool probe_init_on_free(void) {
        static atomic_int known = -1;
        int v = atomic_load(&known);

        if (v < 0)
                atomic_store(&known, v = probe_find_init_on_free());
        return v;
}

void kernel_facts_ahead(void) {
        probe_init_on_free();
}

void kernel_facts(RulesetFacts *ret) {
        _cleanup_free_ char *swaps = NULL;
        size_t n;
        int e;

        ret->init_on_free = probe_init_on_free();
        /* The first line is a heading. An unreadable file counts as swap. */
        e = io_read_file(AT_FDCWD, "/proc/swaps", 65536, &swaps, &n);
        /* no file: a kernel without swap */
        ret->swap = e < 0 ? e != -ENOENT : strchr(swaps, '\n') && strchr(swaps, '\n')[1];
}
