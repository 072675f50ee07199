/* Runs: lethe-layer. */
#include "layer/process/confine.h"

#include "base/util.h"

#include <errno.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Landlock (userspace-api/landlock), as in worker/landlock.c: the rights that change files. */
#define LL_WRITE_FILE (1ULL << 1)
#define LL_REMOVE_TO_SYM (0x1ffULL << 4) /* REMOVE_DIR … MAKE_SYM */
#define LL_REFER (1ULL << 13)
#define LL_TRUNCATE (1ULL << 14)
#define LL_CREATE_VERSION (1U << 0)
#define LL_RULE_PATH 1

typedef struct LayerRule {
        uint64_t access;
        int32_t parent;
} __attribute__((packed)) LayerRule;

static const int layer_calls[] = {
        SCMP_SYS(read),
        SCMP_SYS(pread64),
        SCMP_SYS(write),
        SCMP_SYS(close),
        SCMP_SYS(openat),
        SCMP_SYS(openat2),
        SCMP_SYS(fstat),
        SCMP_SYS(newfstatat),
        SCMP_SYS(statx),
        SCMP_SYS(readlinkat),
        SCMP_SYS(getdents64),
        SCMP_SYS(lseek),
        SCMP_SYS(fgetxattr),
        SCMP_SYS(fchmod),
        SCMP_SYS(fchmodat),
        SCMP_SYS(renameat),
        SCMP_SYS(renameat2),
        SCMP_SYS(unlinkat),
        SCMP_SYS(fsync),
        SCMP_SYS(fcntl),
        SCMP_SYS(recvmsg),
        SCMP_SYS(sendto),
        SCMP_SYS(poll),
        SCMP_SYS(ppoll),
        SCMP_SYS(setitimer),
        SCMP_SYS(brk),
        SCMP_SYS(munmap),
        SCMP_SYS(mremap),
        SCMP_SYS(madvise),
        SCMP_SYS(futex),
        SCMP_SYS(clock_gettime),
        SCMP_SYS(getrandom),
        SCMP_SYS(rt_sigreturn),
        SCMP_SYS(exit),
        SCMP_SYS(exit_group),
        SCMP_SYS(landlock_create_ruleset),
        SCMP_SYS(landlock_add_rule),
        SCMP_SYS(landlock_restrict_self),
};

static bool layer_filter(void) {
        const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
        scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
        int e = f ? seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) : -ENOMEM;

        for (size_t i = 0; i < ARRAY_SIZE(layer_calls) && e == 0; i++)
                e = seccomp_rule_add(f, SCMP_ACT_ALLOW, layer_calls[i], 0);
        e = e ?: seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, &no_exec)
                     ?: seccomp_load(f);
        if (f)
                seccomp_release(f);
        return e == 0;
}

/* Of root's: the layer and the folder below may be another user's, with any mode. */
static bool layer_capabilities(void) {
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct set[2] = {}, none[2] = {};

        if (syscall(SYS_capget, &head, set) < 0)
                return false;
        none[0].permitted = none[0].effective = set[0].permitted & 1U << CAP_DAC_READ_SEARCH;
        return syscall(SYS_capset, &head, none) == 0;
}

static void layer_limit(int resource, rlim_t most) {
        struct rlimit l;

        if (getrlimit(resource, &l) < 0)
                return;
        l.rlim_max = l.rlim_cur = MIN(l.rlim_max, most);
        setrlimit(resource, &l);
}

bool confine_begin(void) {
        layer_limit(RLIMIT_CORE, 0);
        layer_limit(RLIMIT_NOFILE, 512);
        layer_limit(RLIMIT_DATA, 512 << 20);
        layer_limit(RLIMIT_NPROC, 0);
        return prctl(PR_SET_DUMPABLE, 0) == 0 && layer_capabilities() && layer_filter();
}

bool confine_writes(int folder) {
        const int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);
        const uint64_t all = LL_WRITE_FILE | LL_REMOVE_TO_SYM | (abi >= 2 ? LL_REFER : 0) | (abi >= 3 ? LL_TRUNCATE : 0);
        const LayerRule rule = {.access = all, .parent = folder};
        _cleanup_close_ int fd = -1;

        if (abi < 0)
                return true;
        fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
        return fd >= 0 && syscall(SYS_landlock_add_rule, fd, LL_RULE_PATH, &rule, 0) == 0 &&
               syscall(SYS_landlock_restrict_self, fd, 0) == 0;
}
