/* Landlock: the second lock on the file system, and the only one in tier landlock. */
#include "worker/landlock-abi.h"
#include "worker/sys.h"
#include "worker/worker.h"

#include <string.h>
#include <sys/stat.h>

#define FILE_RIGHTS (LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV)
#define READ_RIGHTS (LL_EXECUTE | LL_READ_FILE | LL_READ_DIR)
#define WRITE_RIGHTS                                                                                                   \
        (READ_RIGHTS | LL_WRITE_FILE | LL_TRUNCATE | LL_REMOVE_DIR | LL_REMOVE_FILE | LL_MAKE_DIR | LL_MAKE_REG |      \
         LL_MAKE_SOCK | LL_MAKE_FIFO | LL_MAKE_SYM | LL_REFER)
#define DEVICE_RIGHTS (LL_READ_FILE | LL_WRITE_FILE | LL_TRUNCATE)

/* What each ABI can judge: a right that the kernel does not know must not be asked for. */
static uint64_t fs_rights(int abi) {
        return abi >= 5 ? (1ULL << 16) - 1 : abi >= 3 ? (1ULL << 15) - 1 : abi == 2 ? (1ULL << 14) - 1 : (1ULL << 13) - 1;
}

static int add_rule(int ruleset, uint64_t handled, const char *path, uint64_t access) {
        LandlockPath rule = {.access = access & handled};
        int fd = openat(AT_FDCWD, path, O_PATH | O_CLOEXEC), e = 0; /* musl's open() makes two calls of it */
        struct stat st;

        if (fd < 0)
                return -errno;
        /* What is not a folder can have only the rights of files. */
        if (rule.access & ~(uint64_t)FILE_RIGHTS && sys_kind(fd, &st) < 0)
                e = -errno;
        else {
                if (rule.access & ~(uint64_t)FILE_RIGHTS && !S_ISDIR(st.st_mode))
                        rule.access &= FILE_RIGHTS;
                rule.parent = fd;
                if (syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH, &rule, 0) < 0)
                        e = -errno;
        }
        close(fd);
        return e;
}

/* Inside the private root everything may be read; writing is for the scratch, what was granted for writing, and the devices. */
static int add_rules_inside(Worker *w, int ruleset, uint64_t handled) {
        static const char *const scratch[] = {"/work", "/tmp"};
        int e = add_rule(ruleset, handled, "/", READ_RIGHTS);

        for (size_t i = 0; e == 0 && i < 2; i++)
                e = add_rule(ruleset, handled, scratch[i], WRITE_RIGHTS);
        for (size_t i = 0; e == 0 && i < w->spec.n_entries; i++) {
                const LaunchEntry *b = &w->spec.entries[i];

                if (b->kind != LAUNCH_BIND || !(b->flags & (LAUNCH_WRITE | LAUNCH_DEVICE)))
                        continue;
                e = add_rule(ruleset, handled, b->target, b->flags & LAUNCH_DEVICE ? DEVICE_RIGHTS : WRITE_RIGHTS);
                if (e == -ENOENT && (b->flags & LAUNCH_OPTIONAL))
                        e = 0;
        }
        return e;
}

/* On the host's tree only what is listed can be reached at all. */
static int add_rules_host(Worker *w, int ruleset, uint64_t handled) {
        int e;

        w->progress->detail = (int)w->spec.n_entries; /* none of them */
        e = add_rule(ruleset, handled, w->spec.scratch, WRITE_RIGHTS);
        for (size_t i = 0; e == 0 && i < w->spec.n_entries; i++) {
                const LaunchEntry *b = &w->spec.entries[i];

                if (b->kind != LAUNCH_BIND)
                        continue;
                w->progress->detail = (int)i;
                e = add_rule(ruleset, handled, b->source,
                             b->flags & LAUNCH_DEVICE  ? DEVICE_RIGHTS
                             : b->flags & LAUNCH_WRITE ? WRITE_RIGHTS
                                                       : READ_RIGHTS);
                if (e == -ENOENT && (b->flags & LAUNCH_OPTIONAL))
                        e = 0;
        }
        return e;
}

int step_landlock(Worker *w) {
        LandlockRuleset set = {0};
        int abi, fd, e;

        /* In tier namespaces both processes are confined, once, before the fork; in tier landlock only the program (lockdown.c). */
        if ((w->spec.tier == 2) != (w->program < 0))
                return 0;
        abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);
        if (abi < 0)
                return -errno;
        set.fs = fs_rights(abi);
        if (abi >= 4 && !(w->spec.flags & LAUNCH_NET_HOST))
                set.net = LL_BIND_TCP | LL_CONNECT_TCP;
        if (abi >= 6)
                set.scoped = LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL;
        else if (w->spec.tier == 1)
                return -EOPNOTSUPP; /* without a PID namespace nothing else would keep its signals from the host's processes */
        fd = (int)syscall(SYS_landlock_create_ruleset, &set, abi >= 6 ? 24 : abi >= 4 ? 16 : 8, 0);
        if (fd < 0)
                return -errno;
        e = w->spec.tier == 2 ? add_rules_inside(w, fd, set.fs) : add_rules_host(w, fd, set.fs);
        if (e == 0 && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
                e = -errno;
        close(fd);
        return e;
}
