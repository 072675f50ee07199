/* Landlock: the second lock on the file system, and the only lock in tier landlock. */
#include "worker/sys.h"
#include "worker/worker.h"

#include <sys/stat.h>

/* The kernel's documentation (userspace-api/landlock) up to ABI 6; the headers of Debian 12 stop at ABI 2. */
#define LL_EXECUTE (1ULL << 0)
#define LL_WRITE_FILE (1ULL << 1)
#define LL_READ_FILE (1ULL << 2)
#define LL_READ_DIR (1ULL << 3)
#define LL_REMOVE_DIR (1ULL << 4)
#define LL_REMOVE_FILE (1ULL << 5)
#define LL_MAKE_CHAR (1ULL << 6)
#define LL_MAKE_DIR (1ULL << 7)
#define LL_MAKE_REG (1ULL << 8)
#define LL_MAKE_SOCK (1ULL << 9)
#define LL_MAKE_FIFO (1ULL << 10)
#define LL_MAKE_BLOCK (1ULL << 11)
#define LL_MAKE_SYM (1ULL << 12)
#define LL_REFER (1ULL << 13)     /* ABI 2 */
#define LL_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define LL_IOCTL_DEV (1ULL << 15) /* ABI 5 */

#define LL_BIND_TCP (1ULL << 0) /* ABI 4 */
#define LL_CONNECT_TCP (1ULL << 1)

#define LL_SCOPE_ABSTRACT (1ULL << 0) /* ABI 6 */
#define LL_SCOPE_SIGNAL (1ULL << 1)

#define LL_CREATE_VERSION (1U << 0)
#define LL_RULE_PATH 1

typedef struct LandlockRuleset {
        uint64_t fs, net, scoped;
} LandlockRuleset;

typedef struct LandlockPath {
        uint64_t access;
        int32_t parent;
} __attribute__((packed)) LandlockPath;

#define FILE_RIGHTS (LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV)
#define READ_RIGHTS (LL_EXECUTE | LL_READ_FILE | LL_READ_DIR)
#define WRITE_RIGHTS                                                                                                   \
        (READ_RIGHTS | LL_WRITE_FILE | LL_TRUNCATE | LL_REMOVE_DIR | LL_REMOVE_FILE | LL_MAKE_DIR | LL_MAKE_REG |      \
         LL_MAKE_SOCK | LL_MAKE_FIFO | LL_MAKE_SYM | LL_REFER)
#define DEVICE_RIGHTS (LL_READ_FILE | LL_WRITE_FILE | LL_TRUNCATE)
#define TTY_RIGHTS (DEVICE_RIGHTS | LL_IOCTL_DEV)

/* The rights known to each ABI: a ruleset with an unknown right is refused. */
static uint64_t landlock_fs_rights(int abi) {
        return (1ULL << (abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13)) - 1;
}

static int landlock_add_rule(int ruleset, uint64_t handled, const char *path, uint64_t access) {
        LandlockPath rule = {.access = access & handled};
        _autoclose_ int fd = openat(AT_FDCWD, path, O_PATH | O_CLOEXEC); /* musl's open() makes two calls */
        struct stat st;

        if (fd < 0)
                return -errno;
        /* A file that is no folder can have only the rights of files. */
        if (rule.access & ~(uint64_t)FILE_RIGHTS) {
                if (sys_kind(fd, &st) < 0)
                        return -errno;
                if (!S_ISDIR(st.st_mode))
                        rule.access &= FILE_RIGHTS;
        }
        rule.parent = fd;
        return syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH, &rule, 0) < 0 ? -errno : 0;
}

static uint64_t landlock_bind_rights(const LaunchEntry *b) {
        return b->flags & LAUNCH_TTY      ? TTY_RIGHTS
               : b->flags & LAUNCH_DEVICE ? DEVICE_RIGHTS
               : b->flags & (LAUNCH_WRITE | LAUNCH_OVERLAY) ? WRITE_RIGHTS
                                                            : READ_RIGHTS;
}

/* Inside the private root all files may be read; writing is for the scratch, granted files and devices. */
static int landlock_add_inside(Worker *w, int ruleset, uint64_t handled) {
        static const char *const scratch[] = {"/work", "/tmp"};
        int e = landlock_add_rule(ruleset, handled, "/", READ_RIGHTS);

        for (size_t i = 0; e == 0 && i < 2; i++)
                e = landlock_add_rule(ruleset, handled, scratch[i], WRITE_RIGHTS);
        if (e == 0 && w->spec.flags & LAUNCH_TERMINALS)
                e = landlock_add_rule(ruleset, handled, TERMINALS_DIR, TTY_RIGHTS);
        for (size_t i = 0; e == 0 && i < w->spec.n_entries; i++) {
                const LaunchEntry *b = &w->spec.entries[i];

                if (b->kind != LAUNCH_BIND || !(b->flags & (LAUNCH_WRITE | LAUNCH_OVERLAY | LAUNCH_DEVICE)))
                        continue;
                e = landlock_add_rule(ruleset, handled, b->target, landlock_bind_rights(b));
                if (e == -ENOENT && (b->flags & LAUNCH_OPTIONAL))
                        e = 0;
        }
        return e;
}

/* On the host's tree only listed paths can be reached. */
static int landlock_add_host(Worker *w, int ruleset, uint64_t handled) {
        int e;

        w->progress->detail = (int)w->spec.n_entries; /* none of the entries */
        e = landlock_add_rule(ruleset, handled, w->spec.scratch, WRITE_RIGHTS);
        for (size_t i = 0; e == 0 && i < w->spec.n_entries; i++) {
                const LaunchEntry *b = &w->spec.entries[i];

                if (b->kind != LAUNCH_BIND)
                        continue;
                w->progress->detail = (int)i;
                e = landlock_add_rule(ruleset, handled, b->source, landlock_bind_rights(b));
                if (e == -ENOENT && (b->flags & LAUNCH_OPTIONAL))
                        e = 0;
        }
        return e;
}

/* Leaves out what the kernel lacks. Returns the descriptor of a ruleset without a rule, or -errno. */
static int landlock_make(LandlockRuleset *set, int *ret_abi) {
        int fd;

        *ret_abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);
        if (*ret_abi < 0)
                return -errno;
        set->fs &= landlock_fs_rights(*ret_abi);
        set->net &= *ret_abi >= 4 ? LL_BIND_TCP | LL_CONNECT_TCP : 0;
        set->scoped &= *ret_abi >= 6 ? LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL : 0;
        fd = (int)syscall(SYS_landlock_create_ruleset, set, *ret_abi >= 6 ? 24 : *ret_abi >= 4 ? 16 : 8, 0);
        return fd < 0 ? -errno : fd;
}

static int landlock_enter(LandlockRuleset set) {
        int abi;
        _autoclose_ int fd = landlock_make(&set, &abi);

        if (fd == -ENOMSG) /* the kernel has none of these rights */
                return 0;
        return fd < 0 ? fd : syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}

int landlock_scope(void) {
        return landlock_enter((LandlockRuleset){.scoped = UINT64_MAX});
}

int landlock_nothing(void) {
        return landlock_enter((LandlockRuleset){.fs = UINT64_MAX, .net = UINT64_MAX});
}

int step_landlock(Worker *w) {
        LandlockRuleset set = {.fs = UINT64_MAX,
                               .net = w->spec.flags & (LAUNCH_NET_HOST | LAUNCH_LOOPBACK) ? 0 : UINT64_MAX,
                               .scoped = w->apart ? 0 : UINT64_MAX};
        _autoclose_ int fd = -1;
        int abi, e;

        /* In tier namespaces both processes are confined, before the fork; in tier landlock only the program. */
        if ((w->spec.tier == 2) != (w->program < 0))
                return 0;
        fd = landlock_make(&set, &abi);
        if (fd < 0)
                return fd;
        if (abi < 6 && w->spec.tier == 1)
                return -EOPNOTSUPP; /* without a PID namespace only Landlock keeps signals from the host's processes */
        e = w->spec.tier == 2 ? landlock_add_inside(w, fd, set.fs) : landlock_add_host(w, fd, set.fs);
        if (e == 0 && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
                e = -errno;
        return e;
}
