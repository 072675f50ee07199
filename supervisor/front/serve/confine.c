/* Runs: lethe-serve. The rights that the daemon gives up after its start: its zygotes exist, so the daemon executes no
 * program and mounts no file system itself.
 *
 * The filter is an allow-list for all present and future threads. Other calls fail with EPERM, calls of a foreign ABI
 * end the process. Regions are children of zygotes made before, and the filter does not bind them. Landlock is of no
 * use here: a domain may not inspect processes outside (ptrace access mode), and the daemon has to inspect the
 * processes of regions; see lethe-serve(8). */
#include "serve/serve.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static const int allowed[] = {
        /* memory and threads */
        SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(madvise),
        SCMP_SYS(msync), SCMP_SYS(mlock), SCMP_SYS(munlock), SCMP_SYS(clone), SCMP_SYS(clone3), SCMP_SYS(futex),
        SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(membarrier), SCMP_SYS(sched_yield),
        SCMP_SYS(sched_getaffinity), SCMP_SYS(gettid), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(restart_syscall),
        /* files */
        SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(preadv), SCMP_SYS(write), SCMP_SYS(pwrite64), SCMP_SYS(splice),
        SCMP_SYS(writev), SCMP_SYS(pwritev), SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(close),
        SCMP_SYS(close_range), SCMP_SYS(lseek), SCMP_SYS(dup), SCMP_SYS(dup3), SCMP_SYS(fcntl), SCMP_SYS(flock),
        SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(sync_file_range),
        SCMP_SYS(fadvise64), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx),
        SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
        SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(getcwd), SCMP_SYS(chdir),
        SCMP_SYS(fchdir), SCMP_SYS(umask), SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(rmdir), SCMP_SYS(unlink),
        SCMP_SYS(unlinkat), SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(chmod),
        SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(fchown), SCMP_SYS(lchown), SCMP_SYS(fchownat),
        SCMP_SYS(memfd_create), SCMP_SYS(pipe2), SCMP_SYS(eventfd2), SCMP_SYS(open_tree), SCMP_SYS(mount_setattr),
        SCMP_SYS(pwritev2), SCMP_SYS(symlinkat), SCMP_SYS(utimensat), /* of a copy of a skill */
        SCMP_SYS(mincore),   /* base/heap.c */
        /* waiting, time, signals */
        SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
        SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime),
        SCMP_SYS(signalfd4), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
        SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(pidfd_open),
        SCMP_SYS(pidfd_send_signal), SCMP_SYS(wait4), SCMP_SYS(waitid),
        /* existing sockets */
        SCMP_SYS(accept4), SCMP_SYS(connect), SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(recvfrom),
        SCMP_SYS(recvmsg), SCMP_SYS(shutdown), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname),
        SCMP_SYS(getpeername),
        /* published ports of a region (region/region-proxy.h); listen() also of a region's socket (region/region-own.h) */
        SCMP_SYS(bind), SCMP_SYS(listen),
        /* for judging, stopping and overwriting regions */
        SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp),
        SCMP_SYS(move_pages),
        /* identity of the machine and of the process */
        SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
        SCMP_SYS(getresuid), SCMP_SYS(getresgid), SCMP_SYS(getpgrp), SCMP_SYS(getgroups), SCMP_SYS(capget),
        SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(getrandom), SCMP_SYS(prlimit64), SCMP_SYS(getrlimit),
        SCMP_SYS(getrusage), SCMP_SYS(prctl), SCMP_SYS(seccomp), SCMP_SYS(landlock_create_ruleset),
};

static int confine_fill(scmp_filter_ctx f) {
        const struct scmp_arg_cmp tcp = SCMP_A1(SCMP_CMP_EQ, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC),
                                  tcp_protocol = SCMP_A2(SCMP_CMP_EQ, IPPROTO_TCP);
        const struct {
                int call;
                unsigned n;
                struct scmp_arg_cmp args[3];
        } rules[] = {
                {SCMP_SYS(socket), 1, {SCMP_A0(SCMP_CMP_EQ, AF_UNIX)}},
                /* The daemon connects an address granted to a region on a socket of its own, and then passes the
                 * socket to the region (region/region-connect.h). */
                {SCMP_SYS(socket), 3, {SCMP_A0(SCMP_CMP_EQ, AF_INET), tcp, tcp_protocol}},
                {SCMP_SYS(socket), 3, {SCMP_A0(SCMP_CMP_EQ, AF_INET6), tcp, tcp_protocol}},
                /* The kernel lists the sockets of a region's network only to a thread inside
                 * (region/region-budget-sockets.c): setns() to these two namespaces, and no further namespace. */
                {SCMP_SYS(setns), 1, {SCMP_A1(SCMP_CMP_EQ, CLONE_NEWNET)}},
                {SCMP_SYS(setns), 1, {SCMP_A1(SCMP_CMP_EQ, CLONE_NEWNET | CLONE_NEWUSER)}},
                {SCMP_SYS(socket), 3, {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A1(SCMP_CMP_EQ, SOCK_RAW | SOCK_CLOEXEC),
                                       SCMP_A2(SCMP_CMP_EQ, NETLINK_SOCK_DIAG)}},
                {SCMP_SYS(socketpair), 1, {SCMP_A0(SCMP_CMP_EQ, AF_UNIX)}},
                /* A task that connects for a region takes on the region's user (region/region-own.h), never root. */
                {SCMP_SYS(setgroups), 1, {SCMP_A0(SCMP_CMP_EQ, 0)}},
                {SCMP_SYS(setresgid), 1, {SCMP_A0(SCMP_CMP_NE, 0)}},
                {SCMP_SYS(setresuid), 1, {SCMP_A0(SCMP_CMP_NE, 0)}},
                /* A thread's own working folder, and no namespace. */
                {SCMP_SYS(unshare), 1, {SCMP_A0(SCMP_CMP_EQ, CLONE_FS)}},
                /* A client's terminal is written to, and never typed at. */
                {SCMP_SYS(ioctl), 1, {SCMP_A1(SCMP_CMP_NE, TIOCSTI)}},
        };
        int e = 0;

        for (size_t i = 0; i < ARRAY_SIZE(allowed) && e == 0; i++)
                if (allowed[i] >= 0) /* otherwise the architecture lacks the call */
                        e = seccomp_rule_add(f, SCMP_ACT_ALLOW, allowed[i], 0);
        for (size_t i = 0; i < ARRAY_SIZE(rules) && e == 0; i++)
                e = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, rules[i].call, rules[i].n, rules[i].args);
        return e;
}

static int confine_filter(void) {
        scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
        int e = f ? seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM;

        if (e == 0)
                e = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)
                                ?: seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2)
                                ?: confine_fill(f)
                                ?: seccomp_load(f);
        if (f)
                seccomp_release(f);
        return e;
}

/* No program can be executed, so no later program can regain the capabilities. */
static int confine_drop_capabilities(void) {
        static const int needed[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID,
                                     CAP_KILL,      CAP_SETGID,       CAP_SETUID,          CAP_SETPCAP, CAP_SYS_PTRACE,
                                     CAP_SYS_ADMIN, CAP_SYS_NICE,     CAP_IPC_LOCK,        CAP_LEASE};
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct set[2], keep[2] = {};

        if (syscall(SYS_capget, &head, set) < 0)
                return -errno;
        for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
                keep[needed[i] / 32].effective |= 1U << (needed[i] % 32);
        for (size_t i = 0; i < ARRAY_SIZE(set); i++) {
                set[i].effective &= keep[i].effective;
                set[i].permitted &= keep[i].effective;
                set[i].inheritable = 0;
        }
        return syscall(SYS_capset, &head, set) < 0 ? -errno : 0;
}

int server_confine(Diag *reterr) {
        int e = confine_drop_capabilities();

        if (e < 0)
                return diag(reterr, e, "capabilities cannot be given up: %s", strerror(-e));
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return diag(reterr, -errno, "no_new_privs: %s", strerror(errno));
        e = confine_filter();
        return e < 0 ? diag(reterr, e, "the system call filter: %s", strerror(-e)) : 0;
}
