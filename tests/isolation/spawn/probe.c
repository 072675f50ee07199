/* Runs: tests, inside a region. A static program that looks at its own confinement and prints one "name value" a line, or tries one
 * forbidden thing and prints the errno ("0" when it worked). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *name, long long value) {
        printf("%s %lld\n", name, value);
}

static int see_status(void) {
        struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
        struct __user_cap_data_struct set[2] = {{0}};
        static const struct {
                const char *name;
                int which;
        } limits[] = {{"nofile", RLIMIT_NOFILE}, {"fsize", RLIMIT_FSIZE}, {"core", RLIMIT_CORE}, {"data", RLIMIT_DATA}, {"nproc", RLIMIT_NPROC},
                      {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}};
        char host[65] = "";
        long long caps = 0, bounding = 0, ambient = 0, fds = 0, ignored = 0;
        sigset_t blocked;
        mode_t mask;

        syscall(SYS_capget, &head, set);
        for (int i = 0; i < 2; i++)
                caps |= set[i].effective | set[i].permitted | set[i].inheritable;
        for (int c = 0; c < 64; c++) {
                bounding += prctl(PR_CAPBSET_READ, c) == 1;
                ambient += prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0) == 1;
        }
        for (int fd = 0; fd < 1024; fd++)
                if (fcntl(fd, F_GETFD) >= 0)
                        fds |= fd < 62 ? 1LL << fd : 1LL << 62;
        for (int s = 1; s < 32; s++) {
                struct sigaction a;

                ignored += sigaction(s, NULL, &a) == 0 && a.sa_handler == SIG_IGN;
        }
        sigprocmask(SIG_SETMASK, NULL, &blocked);
        umask(mask = umask(0));
        gethostname(host, sizeof(host));
        show("caps", caps);
        show("bounding", bounding);
        show("ambient", ambient);
        show("securebits", prctl(PR_GET_SECUREBITS));
        show("nnp", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
        show("seccomp", prctl(PR_GET_SECCOMP));
        show("uid", getuid() == geteuid() ? (long long)getuid() : -1);
        show("gid", getgid() == getegid() ? (long long)getgid() : -1);
        show("groups", getgroups(0, NULL));
        show("pid", getpid());
        show("session", getsid(0) == getpid());
        show("fds", fds);
        show("ignored", ignored);
        show("blocked", blocked.__val[0] != 0);
        show("umask", mask);
        printf("host %s\n", host);
        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
                struct rlimit r;

                getrlimit(limits[i].which, &r);
                printf("limit-%s %lld\n", limits[i].name, (long long)r.rlim_max);
        }
        return 0;
}

/* Tries to make a file in each folder; prints errno of each. */
static int see_writes(int argc, char **argv) {
        for (int i = 2; i < argc; i++) {
                char path[512];
                int fd;

                snprintf(path, sizeof(path), "%s/lethe-probe", argv[i]);
                fd = open(path, O_WRONLY | O_CREAT, 0600);
                printf("%s %d\n", argv[i], fd < 0 ? errno : 0);
        }
        return 0;
}

/* Opens each path for reading; prints errno of each. */
static int see_reads(int argc, char **argv) {
        for (int i = 2; i < argc; i++)
                printf("%s %d\n", argv[i], open(argv[i], O_RDONLY | O_NONBLOCK) < 0 ? errno : 0);
        return 0;
}

/* Mount flags of each path: 1 read-only, 2 nosuid, 4 nodev, 8 noexec. */
static int see_flags(int argc, char **argv) {
        for (int i = 2; i < argc; i++) {
                struct statvfs v;

                printf("%s %d\n", argv[i], statvfs(argv[i], &v) < 0 ? -errno : (int)(v.f_flag & 15));
        }
        return 0;
}

/* Everything below the root to the given depth, one path a line; not what is in /usr. */
static void list(const char *path, int depth) {
        DIR *d = opendir(path);
        struct dirent *e;

        while (d && (e = readdir(d))) {
                char below[512];

                if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                        continue;
                snprintf(below, sizeof(below), "%s/%s", strcmp(path, "/") == 0 ? "" : path, e->d_name);
                printf("%s\n", below);
                if (depth > 1 && e->d_type == DT_DIR && strcmp(below, "/usr") != 0)
                        list(below, depth - 1);
        }
        if (d)
                closedir(d);
}

static int see_links(int argc, char **argv) {
        for (int i = 2; i < argc; i++) {
                char text[128];
                ssize_t n = readlink(argv[i], text, sizeof(text));

                printf("%s %.*s\n", argv[i], n < 0 ? 0 : (int)n, text);
        }
        return 0;
}

/* Prints what the listener at a port of 127.0.0.1 sends. */
static int ask(const char *port) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int s = socket(AF_INET, SOCK_STREAM, 0);
        char text[64];
        ssize_t n = s < 0 || connect(s, (struct sockaddr *)&a, sizeof(a)) < 0 ? -1 : read(s, text, sizeof(text));

        printf("%.*s", n < 0 ? 0 : (int)n, text);
        return n < 0 ? errno : 0;
}

/* Connects to the host's abstract socket of that name; prints errno. */
static int see_abstract(const char *name) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        size_t n = strlen(name);

        memcpy(a.sun_path + 1, name, n);
        printf("%d\n", connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&a, (socklen_t)(3 + n)) < 0 ? errno : 0);
        return 0;
}

static int see_file(const char *path) {
        char text[4096];
        int fd = open(path, O_RDONLY);
        ssize_t n;

        while ((n = read(fd, text, sizeof(text))) > 0)
                fwrite(text, 1, (size_t)n, stdout);
        return 0;
}

static long try_clone(unsigned long flags) {
        long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);

        if (pid == 0)
                _exit(0);
        if (pid > 0)
                waitpid((pid_t)pid, NULL, __WALL);
        return pid;
}

static long try_listener(void) {
        struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        struct sock_fprog prog = {1, code};

        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

static long try_connect(void) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

        return connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a));
}

static long try_suid(void) {
        int fd = open("/tmp/suid", O_WRONLY | O_CREAT, 0755);

        return fchmod(fd, 04755);
}

/* The advice that C libraries give about memory that they no longer need. */
static int try_give_back(void) {
        static const int advice[] = {MADV_NORMAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE, MADV_DONTDUMP, MADV_HUGEPAGE, MADV_COLD};
        char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int r = p == MAP_FAILED ? -1 : 0;

        for (size_t i = 0; r == 0 && i < sizeof(advice) / sizeof(advice[0]); i++)
                r = madvise(p, 1 << 16, advice[i]);
        return r;
}

static long try_lease(void) {
        return fcntl(open("/tmp/lease", O_RDONLY | O_CREAT, 0600), F_SETLEASE, F_RDLCK);
}

/* The kernel looks at the low half of these arguments only; the filter must, too. */
#define HIGH 0x100000000UL

static long try(const char *what) {
        static char stack[4096];
        struct rlimit zero = {0, 0};
        int pair[2];

#define TRY(name, expression)                                                                                          \
        if (strcmp(what, name) == 0)                                                                                   \
                return (long)(expression)
        TRY("ptrace", syscall(SYS_ptrace, 0, 0, 0, 0));
        TRY("process_vm_readv", syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0));
        TRY("process_vm_writev", syscall(SYS_process_vm_writev, 1, NULL, 0, NULL, 0, 0));
        TRY("process_madvise", syscall(SYS_process_madvise, 0, NULL, 0, 0, 0));
        TRY("pidfd_getfd", syscall(SYS_pidfd_getfd, 0, 0, 0));
        TRY("kcmp", syscall(SYS_kcmp, 1, 1, 0, 0, 0));
        TRY("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
        TRY("add_key", syscall(SYS_add_key, "user", "x", "y", 1, -2));
        TRY("request_key", syscall(SYS_request_key, "user", "x", NULL, 0));
        TRY("keyctl", syscall(SYS_keyctl, 0, -3, 1));
        TRY("io_uring_setup", syscall(SYS_io_uring_setup, 1, NULL));
        TRY("io_setup", syscall(SYS_io_setup, 1, NULL));
        TRY("bpf", syscall(SYS_bpf, 0, NULL, 0));
        TRY("userfaultfd", syscall(SYS_userfaultfd, 1));
        TRY("memfd_secret", syscall(447, 0));
        TRY("vmsplice", syscall(SYS_vmsplice, 1, NULL, 0, 0));
        TRY("mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL));
        TRY("umount2", syscall(SYS_umount2, "/tmp", 0));
        TRY("pivot_root", syscall(SYS_pivot_root, ".", "."));
        TRY("chroot", syscall(SYS_chroot, "/tmp"));
        TRY("open_tree", syscall(SYS_open_tree, -100, "/", 1));
        TRY("move_mount", syscall(SYS_move_mount, -1, "", -1, "", 0));
        TRY("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
        TRY("mount_setattr", syscall(SYS_mount_setattr, -100, "/", 0, NULL, 0));
        TRY("setns", syscall(SYS_setns, 0, 0));
        TRY("unshare", syscall(SYS_unshare, CLONE_NEWUSER));
        TRY("clone-newuser", try_clone(CLONE_NEWUSER));
        TRY("clone-newnet", try_clone(CLONE_NEWNET));
        TRY("clone-parent", try_clone(CLONE_PARENT));
        TRY("clone-untraced", try_clone(CLONE_UNTRACED));
        TRY("clone-vm", try_clone(CLONE_VM));
        TRY("clone-plain", try_clone(0));
        TRY("clone3", syscall(SYS_clone3, NULL, 0));
        TRY("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
        TRY("init_module", syscall(SYS_init_module, NULL, 0, ""));
        TRY("delete_module", syscall(SYS_delete_module, "x", 0));
        TRY("swapon", syscall(SYS_swapon, "/tmp/x", 0));
        TRY("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
        TRY("settimeofday", syscall(SYS_settimeofday, NULL, NULL));
        TRY("clock_settime", syscall(SYS_clock_settime, 0, NULL));
        TRY("quotactl", syscall(SYS_quotactl, 0, NULL, 0, NULL));
        TRY("acct", syscall(SYS_acct, NULL));
        TRY("syslog", syscall(SYS_syslog, 10, NULL, 0));
        TRY("sethostname", syscall(SYS_sethostname, "x", 1));
        TRY("sync", syscall(SYS_sync));
        TRY("syncfs", syscall(SYS_syncfs, 0));
#ifdef __x86_64__
        TRY("iopl", syscall(SYS_iopl, 3));
        TRY("ioperm", syscall(SYS_ioperm, 0x80, 1, 1));
        TRY("modify_ldt", syscall(SYS_modify_ldt, 0, NULL, 0));
#endif
        TRY("personality", syscall(SYS_personality, 0x0400000));
        TRY("tiocsti", ioctl(0, 0x5412, "x"));
        TRY("tiocsti-high", syscall(SYS_ioctl, 0, HIGH | 0x5412, "x"));
        TRY("tioclinux", ioctl(0, 0x541C, "\2"));
        TRY("tiocsetd", ioctl(0, 0x5423, stack));
        TRY("tiocsctty", ioctl(0, 0x540E, 0));
        TRY("inet", socket(AF_INET, SOCK_STREAM, 0));
        TRY("inet-high", syscall(SYS_socket, HIGH | AF_INET, SOCK_STREAM, 0));
        TRY("inet6", socket(AF_INET6, SOCK_STREAM, 0));
        TRY("udp", socket(AF_INET, SOCK_DGRAM, 0));
        TRY("raw", socket(AF_INET, SOCK_RAW, 1));
        TRY("mptcp", socket(AF_INET, SOCK_STREAM, 262));
        TRY("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
        TRY("packet", socket(AF_PACKET, SOCK_RAW, 0));
        TRY("vsock", socket(40, SOCK_STREAM, 0));
        TRY("alg", socket(38, SOCK_SEQPACKET, 0));
        TRY("unix", socket(AF_UNIX, SOCK_STREAM, 0));
        TRY("unix-pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        TRY("unix-pair-dgram", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
        TRY("connect", try_connect());
        TRY("bind", bind(0, NULL, 0));
        TRY("listen", listen(0, 1));
        TRY("unix-dgram", socket(AF_UNIX, SOCK_DGRAM, 0));
        TRY("fastopen", sendto(0, "x", 1, 0x20000000, (void *)stack, 16));
        TRY("attach-filter", setsockopt(0, SOL_SOCKET, 26, stack, 16));
        TRY("peek-offset", setsockopt(0, SOL_SOCKET, 42, stack, 4)); /* where guard and supervisor look in a queue (I-69) */
        TRY("shmget", syscall(SYS_shmget, 1, 4096, 01600));
        TRY("semget", syscall(SYS_semget, 1, 1, 01600));
        TRY("msgget", syscall(SYS_msgget, 1, 01600));
        TRY("mq_open", syscall(SYS_mq_open, "x", O_CREAT | O_RDWR, 0600, NULL));
        TRY("dumpable", prctl(PR_SET_DUMPABLE, 0));
        TRY("ptracer", prctl(0x59616d61, -1L));
        TRY("set-mm", prctl(PR_SET_MM, PR_SET_MM_BRK, 0, 0, 0));
        TRY("keepcaps", prctl(PR_SET_KEEPCAPS, 1));
        TRY("nested-listener", try_listener());
        TRY("fanotify", syscall(SYS_fanotify_init, 0, 0));
        TRY("name_to_handle", syscall(SYS_name_to_handle_at, -100, "/", NULL, NULL, 0));
        TRY("open_by_handle", syscall(SYS_open_by_handle_at, -100, NULL, 0));
        TRY("openat2", syscall(SYS_openat2, -100, "/tmp", stack, 24));
        TRY("affinity", syscall(SYS_sched_setaffinity, 0, 8, stack));
        TRY("sched-fifo", syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, stack));
        TRY("mbind", syscall(SYS_mbind, NULL, 0, 0, NULL, 0, 0));
        TRY("core-limit", setrlimit(RLIMIT_CORE, &zero));
        TRY("core-limit-high", syscall(SYS_prlimit64, 0, HIGH | RLIMIT_CORE, &zero, NULL));
        TRY("nofile-limit", setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}));
        TRY("lease", try_lease());
        TRY("suid", try_suid());
        TRY("suid-open", open("/tmp/suid2", O_WRONLY | O_CREAT, 04755));
        TRY("suid-mknod", mknod("/tmp/suid3", S_IFREG | 04755, 0));
        TRY("device", mknod("/tmp/null", S_IFCHR | 0666, 0x103));
        TRY("fifo", mknod("/tmp/fifo", S_IFIFO | 0600, 0));
        TRY("hugetlb", mmap(NULL, 1 << 21, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) == MAP_FAILED ? -1 : 0);
        TRY("memfd", syscall(SYS_memfd_create, "x", 0));
        TRY("seals", fcntl(1, F_ADD_SEALS, F_SEAL_WRITE));
        TRY("landlock-file", syscall(SYS_landlock_add_rule, -1, 1, NULL, 0));
        TRY("landlock-file-high", syscall(SYS_landlock_add_rule, -1, HIGH | 1, NULL, 0));
        TRY("merge", madvise(NULL, 4096, MADV_MERGEABLE));
        TRY("merge-high", syscall(SYS_madvise, NULL, 4096UL, HIGH | MADV_MERGEABLE));
        TRY("give-back", try_give_back());
        TRY("big-map", mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
        TRY("chown", chown("/tmp", getuid(), getgid()));
        TRY("utime", utimensat(AT_FDCWD, "/tmp", NULL, 0));
        TRY("kill-parent", kill(getppid(), SIGKILL));
        TRY("kill-init", kill(1, SIGKILL));
        TRY("unknown", syscall(1000));
#undef TRY
        errno = 0;
        printf("no such try\n");
        return -1;
}

#ifdef __x86_64__
/* Foreign system call tables: 20 is getpid in ia32, bit 30 marks x32. Neither returns. */
static int try_foreign(const char *which) {
        long r;

        if (strcmp(which, "ia32") == 0)
                __asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory");
        else
                r = syscall(0x40000000 | SYS_getpid);
        printf("returned %ld %d\n", r, errno);
        return 0;
}
#endif

/* Leaves processes behind: an orphan in a session of its own that ignores what it can, and a stopped one. */
static int leave(void) {
        for (int i = 0; i < 3; i++)
                if (fork() == 0) {
                        setsid();
                        if (fork() > 0)
                                _exit(0);
                        for (int s = 1; s < 32; s++)
                                signal(s, SIG_IGN);
                        if (i == 2)
                                raise(SIGSTOP);
                        for (;;)
                                pause();
                }
        while (wait(NULL) > 0)
                ;
        printf("left\n");
        return 0;
}

int main(int argc, char **argv) {
        setvbuf(stdout, NULL, _IONBF, 0);
        if (argc < 2)
                return 2;
        if (strcmp(argv[1], "status") == 0)
                return see_status();
        if (strcmp(argv[1], "write") == 0)
                return see_writes(argc, argv);
        if (strcmp(argv[1], "read") == 0)
                return see_reads(argc, argv);
        if (strcmp(argv[1], "flags") == 0)
                return see_flags(argc, argv);
        if (strcmp(argv[1], "open-rw") == 0) {
                printf("%d\n", open(argv[2], O_RDWR | O_NONBLOCK) < 0 ? errno : 0);
                return 0;
        }
        if (strcmp(argv[1], "links") == 0)
                return see_links(argc, argv);
        if (strcmp(argv[1], "ask") == 0)
                return ask(argv[2]);
        if (strcmp(argv[1], "abstract") == 0)
                return see_abstract(argv[2]);
        if (strcmp(argv[1], "file") == 0)
                return see_file(argv[2]);
        if (strcmp(argv[1], "list") == 0) {
                list("/", 2);
                return 0;
        }
        if (strcmp(argv[1], "leave") == 0)
                return leave();
        if (strcmp(argv[1], "hang") == 0) {
                printf("hanging\n");
                for (;;)
                        pause();
        }
        if (strcmp(argv[1], "exit") == 0)
                return atoi(argv[2]);
        if (strcmp(argv[1], "signal") == 0)
                return raise(atoi(argv[2]));
#ifdef __x86_64__
        if (strcmp(argv[1], "foreign") == 0)
                return try_foreign(argv[2]);
#endif
        if (strcmp(argv[1], "try") == 0)
                for (int i = 2; i < argc; i++) {
                        errno = 0;
                        printf("%s %d\n", argv[i], try(argv[i]) == -1 ? errno : 0);
                }
        return 0;
}
