/* Runs: lethe-proxy. The rights that lethe-proxy gives up: its capabilities and its user (root's becomes PROXY_UID),
 * every file but the resolver's, and every system call that the loop does not need. */
#include "base/launched.h"
#include "proxy/process/state.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Landlock (userspace-api/landlock), as in worker/landlock.c. */
#define LL_READ_FILE (1ULL << 2)
#define LL_FS_ALL(abi) ((1ULL << ((abi) >= 5 ? 16 : (abi) >= 3 ? 15 \
                                            : (abi) == 2       ? 14 \
                                                               : 13)) -   \
                        1)
#define LL_BIND_TCP (1ULL << 0)
#define LL_SCOPE_ABSTRACT (1ULL << 0)
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

static const char *const confine_files[] = {"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf",
                                            "/etc/services", "/etc/gai.conf", "/dev/urandom"};

static bool confine_landlock(void) {
        const int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);
        LandlockRuleset set = {.fs = LL_FS_ALL(abi)};
        _cleanup_close_ int fd = -1;

        if (abi < 0)
                return false;
        if (abi >= 4)
                set.net = LL_BIND_TCP;
        if (abi >= 6)
                set.scoped = LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL;
        fd = (int)syscall(SYS_landlock_create_ruleset, &set, abi >= 6 ? 24 : abi >= 4 ? 16
                                                                                      : 8,
                          0);
        if (fd < 0)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(confine_files); i++) {
                _cleanup_close_ int file = open(confine_files[i], O_PATH | O_CLOEXEC);
                const LandlockPath rule = {.access = LL_READ_FILE, .parent = file};

                if (file >= 0 && syscall(SYS_landlock_add_rule, fd, LL_RULE_PATH, &rule, 0) < 0)
                        return false;
        }
        return syscall(SYS_landlock_restrict_self, fd, 0) == 0;
}

static bool confine_user(void) {
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {};

        for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
                if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EPERM)
                        return false;
        /* A user namespace may not have that user: then the user stays, and has no capability. */
        if (geteuid() == 0 && setgroups(0, NULL) == 0 && setresgid(PROXY_UID, PROXY_UID, PROXY_UID) == 0 &&
            setresuid(PROXY_UID, PROXY_UID, PROXY_UID) < 0 && errno != EINVAL)
                return false;
        prctl(PR_SET_DUMPABLE, 0); /* a change of the user has set it anew */
        return syscall(SYS_capset, &head, none) == 0;
}

/* The supervisor's end is seen at the channel's end; the signal is for a process that does not look. A change of the
 * user takes the signal away, so it is asked for afterwards. */
static bool confine_parent(void) {
        return proxy.launcher == 0 || launched_tie(proxy.launcher);
}

static const int confine_calls[] = {
        SCMP_SYS(read),
        SCMP_SYS(write),
        SCMP_SYS(readv),
        SCMP_SYS(writev),
        SCMP_SYS(close),
        SCMP_SYS(fcntl),
        SCMP_SYS(openat),
        SCMP_SYS(open),
        SCMP_SYS(lseek),
        SCMP_SYS(fstat),
        SCMP_SYS(newfstatat),
        SCMP_SYS(stat),
        SCMP_SYS(accept4),
        SCMP_SYS(connect),
        SCMP_SYS(bind),
        SCMP_SYS(sendto),
        SCMP_SYS(recvfrom),
        SCMP_SYS(sendmsg),
        SCMP_SYS(recvmsg),
        SCMP_SYS(shutdown),
        SCMP_SYS(getsockopt),
        SCMP_SYS(setsockopt),
        SCMP_SYS(getsockname),
        SCMP_SYS(getpeername),
        SCMP_SYS(epoll_ctl),
        SCMP_SYS(epoll_wait),
        SCMP_SYS(epoll_pwait),
        SCMP_SYS(poll),
        SCMP_SYS(brk),
        SCMP_SYS(munmap),
        SCMP_SYS(mremap),
        SCMP_SYS(madvise),
        SCMP_SYS(futex),
        SCMP_SYS(clock_gettime),
        SCMP_SYS(gettimeofday),
        SCMP_SYS(time),
        SCMP_SYS(getrandom),
        SCMP_SYS(rt_sigreturn),
        SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(exit),
        SCMP_SYS(exit_group),
        SCMP_SYS(getpid),
        SCMP_SYS(gettid),
};

static int confine_fill(scmp_filter_ctx f) {
        const struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
        const struct {
                int call;
                struct scmp_arg_cmp args[2];
                unsigned n;
        } rules[] = {
                {SCMP_SYS(mmap), {no_exec}, 1},
                {SCMP_SYS(mprotect), {no_exec}, 1},
                {SCMP_SYS(socket), {SCMP_A0(SCMP_CMP_EQ, AF_INET), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM)}, 2},
                {SCMP_SYS(socket), {SCMP_A0(SCMP_CMP_EQ, AF_INET), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_DGRAM)}, 2},
                {SCMP_SYS(socket), {SCMP_A0(SCMP_CMP_EQ, AF_INET6), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM)}, 2},
                {SCMP_SYS(socket), {SCMP_A0(SCMP_CMP_EQ, AF_INET6), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_DGRAM)}, 2},
                /* The machine's own addresses. */
                {SCMP_SYS(socket), {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE)}, 2},
        };
        int e = 0;

        for (size_t i = 0; i < ARRAY_SIZE(confine_calls) && e == 0; i++)
                if (confine_calls[i] >= 0) /* otherwise the architecture lacks the call */
                        e = seccomp_rule_add(f, SCMP_ACT_ALLOW, confine_calls[i], 0);
        for (size_t i = 0; i < ARRAY_SIZE(rules) && e == 0; i++)
                e = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, rules[i].call, rules[i].n, rules[i].args);
        return e;
}

static bool confine_filter(void) {
        scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
        int e = f ? seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) : -ENOMEM;

        if (e == 0)
                e = seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2) ?: confine_fill(f) ?
                                                                                        : seccomp_load(f);
        if (f)
                seccomp_release(f);
        return e == 0;
}

bool confine(void) {
        return confine_user() && confine_parent() && confine_landlock() && confine_filter();
}
