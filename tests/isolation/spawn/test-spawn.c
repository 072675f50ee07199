#include "spawn/plan.h"
#include "tests/isolation/spawn/region.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#define NOBODY 65534

/* Each test runs as root and as an ordinary user when it is started by root, else as who it is. */
typedef struct Case {
        const RunWish *wish;
        bool as_user;
        RunEnd *end;
} Case;

static int in_child(void *arg) {
        Case *c = arg;

        if (c->as_user) {
                child_check(setgroups(0, NULL) == 0);
                child_check(setresgid(NOBODY, NOBODY, NOBODY) == 0);
                child_check(setresuid(NOBODY, NOBODY, NOBODY) == 0);
        } else if (geteuid() == 0)
                child_check(setgroups(2, (gid_t[]){4, 27}) == 0);
        /* What a careless caller leaves open must not reach a program. */
        child_check(dup2(0, 77) == 77);
        region_try(c->wish, c->end);
        return 0;
}

static RunEnd *run_as(const RunWish *wish, bool as_user) {
        static RunEnd *end;
        RunWish w = *wish;
        char store[PATH_MAX];
        Case c = {&w, as_user, NULL};

        if (!end)
                end = mmap(NULL, sizeof(*end), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        snprintf(store, sizeof(store), "%s", region_store());
        if (as_user) {
                cr_assert(chmod(getenv("TMPDIR") ?: "/tmp", 0777 | S_ISVTX) == 0);
                cr_assert(chown(store, NOBODY, NOBODY) == 0);
        }
        w.store = store;
        c.end = end;
        child_assert_ok(in_child, &c);
        return end;
}

#define USERS (geteuid() == 0 ? 2 : 1)
/* Runs once for each user: body sees `e` and `who`. */
#define EACH_USER(wish, ...)                                                                                           \
        for (int user_ = 0; user_ < USERS; user_++) {                                                                  \
                const char *who = user_ == 0 && geteuid() == 0 ? "root" : "user";                                      \
                RunEnd *e = run_as(wish, user_ == 1);                                                                  \
                cr_assert(e->start == 0, "%s: start %d: %s", who, e->start, e->message);                               \
                cr_assert(e->step == 0, "%s: step %s: %s", who, spawn_step_name(e->step), e->message);                 \
                cr_assert(e->prove == 0, "%s: %s", who, e->message);                                                   \
                __VA_ARGS__                                                                                            \
        }

#define PROBE_ARGV(...) ((const char *const[]){LETHE_PROBE, __VA_ARGS__, NULL})

/* The line "name value" of a probe's output. */
static long long value(const RunEnd *e, const char *name) {
        size_t n = strlen(name);

        for (const char *p = e->out; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
                if (strncmp(p, name, n) == 0 && p[n] == ' ')
                        return strtoll(p + n + 1, NULL, 10);
        cr_assert_fail("no \"%s\" in: %s", name, e->out);
        return -1;
}

static void expect(const RunEnd *e, const char *who, const char *name, long long wanted) {
        long long v = value(e, name);

        cr_assert(v == wanted, "%s: %s is %lld, not %lld", who, name, v, wanted);
}

typedef struct TryRow {
        const char *name;
        int error;        /* 0: allowed */
        const char *told; /* "operation/rule" in the list of denials; NULL: none */
} TryRow;

typedef struct Row {
        const char *name;
        long long wanted;
} Row;

static const Row status_everywhere[] = {
        {"caps", 0}, {"ambient", 0}, {"nnp", 1}, {"seccomp", 2}, {"groups", 0}, {"session", 1}, {"fds", 31}, {"ignored", 0},
        {"blocked", 0}, {"umask", 022}, {"limit-core", 1}, {"limit-nofile", 101}, {"limit-fsize", (1 << 20) + 1}, {"limit-msgqueue", 0},
        {"limit-memlock", 65536}, {"limit-data", (64 << 20) + FILTER_MEMORY_NOTIFY_BYTES},
};

Test(spawn, program_is_confined_in_namespaces) {
        const RunWish w = {.argv = PROBE_ARGV("status"), .program = LETHE_PROBE, .no_memory_cgroup = true,
                           .budget = {.memory_bytes = 64 << 20, .open_files = 100, .file_bytes = 1 << 20, .processes = 10}};

        signal(SIGUSR2, SIG_IGN); /* what the caller ignores is not the program's */
        EACH_USER(&w, {
                for (size_t i = 0; i < ARRAY_SIZE(status_everywhere); i++)
                        expect(e, who, status_everywhere[i].name, status_everywhere[i].wanted);
                expect(e, who, "uid", 1000);
                expect(e, who, "gid", 1000);
                expect(e, who, "pid", 2);
                expect(e, who, "bounding", 0);
                expect(e, who, "securebits", 239);
                expect(e, who, "limit-nproc", 18);
                cr_assert(strstr(e->out, "host lethe\n"), "%s", e->out);
        })
}

Test(spawn, program_is_confined_by_landlock) {
        const RunWish w = {.argv = PROBE_ARGV("status"), .program = LETHE_PROBE, .no_memory_cgroup = true, .tier = TIER_LANDLOCK,
                           .budget = {.memory_bytes = 64 << 20, .open_files = 100, .file_bytes = 1 << 20}};

        if (region_tiers_here() < 2)
                cr_skip_test("this kernel has no Landlock of ABI 6");
        EACH_USER(&w, {
                cr_assert(e->tier == TIER_LANDLOCK);
                for (size_t i = 0; i < ARRAY_SIZE(status_everywhere); i++)
                        expect(e, who, status_everywhere[i].name, status_everywhere[i].wanted);
                if (strcmp(who, "root") == 0) /* I-67 */
                        cr_assert(value(e, "uid") >= UIDS_STANDARD_FIRST && value(e, "uid") < UIDS_STANDARD_FIRST + UIDS_STANDARD_COUNT, "%lld", value(e, "uid"));
                else
                        expect(e, who, "uid", geteuid() == 0 ? NOBODY : (long long)geteuid());
        })
}

/* I-3, I-21: what is not in this list of paths is not in a region. */
Test(spawn, nothing_of_the_host_is_visible_but_the_list) {
        static const char *const may[] = {
                "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/work", "/tmp", "/lethe", "/lethe/bin", "/lethe/python",
                "/lethe/node", "/lethe/warm", "/dev", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm", "/etc",
                "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/ssl", "/etc/passwd", "/etc/group", "/etc/hosts",
                "/etc/hostname", "/etc/machine-id", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/os-release", "/dev/fd",
                "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty",
        };
        const RunWish w = {.argv = PROBE_ARGV("list"), .program = LETHE_PROBE};
        char first[512] = LETHE_PROBE;

        *strchr(first + 1, '/') = 0; /* the probe's own file needs its folders */
        EACH_USER(&w, {
                char *save = NULL;

                cr_assert(strstr(e->out, "/usr\n"), "%s: %s", who, e->out);
                for (char *p = strtok_r(e->out, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
                        bool known = strncmp(p, first, strlen(first)) == 0 && (p[strlen(first)] == 0 || p[strlen(first)] == '/');

                        known |= strncmp(p, "/etc/", 5) == 0 && probe_is_shown_etc(p + 5);
                        for (size_t i = 0; i < ARRAY_SIZE(may); i++)
                                known |= strcmp(p, may[i]) == 0;
                        cr_assert(known, "%s: %s is visible", who, p);
                }
        })
}

Test(spawn, only_the_scratch_can_be_written) {
        static const Row rows[] = {
                {"/work", 0}, {"/tmp", 0}, {"/dev/shm", 0}, {"/", EROFS}, {"/usr", EROFS}, {"/usr/bin", EROFS}, {"/etc", EROFS},
                {"/dev", EROFS}, {"/skill", EROFS}, {"/data", EROFS}, {"/out", 0},
        };
        static const Row flags[] = {
                {"/", 1 | 2 | 4}, {"/usr", 1 | 2 | 4}, {"/skill", 1 | 2 | 4}, {"/data", 1 | 2 | 4}, {"/out", 2 | 4}, {"/work", 2 | 4},
                {"/tmp", 2 | 4}, {"/etc/ld.so.cache", 1 | 2 | 4}, {"/dev/null", 1 | 2 | 8}, {"/dev/random", 1 | 2 | 8},
        };
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char skill[PATH_MAX + 16], data[PATH_MAX + 16], out[PATH_MAX + 16], made[PATH_MAX + 32];
        FileGrant files[] = {{data, (char *)"/data", false}, {out, (char *)"/out", true}};
        RunWish w = {.argv = PROBE_ARGV("write", "/work", "/tmp", "/dev/shm", "/", "/usr", "/usr/bin", "/etc", "/dev", "/skill", "/data", "/out"),
                     .program = LETHE_PROBE, .skill_dir = skill, .files = files, .n_files = 2};

        cr_assert(temp_dir_make(&t) == 0);
        snprintf(skill, sizeof(skill), "%s/skill", t.path);
        snprintf(data, sizeof(data), "%s/data", t.path);
        snprintf(out, sizeof(out), "%s/out", t.path);
        snprintf(made, sizeof(made), "%s/lethe-probe", out);
        cr_assert(mkdir(skill, 0700) == 0 && mkdir(data, 0755) == 0 && mkdir(out, 0700) == 0);
        for (int user = 0; user < USERS; user++) {
                struct stat st;
                RunEnd *e;

                if (user == 1) {
                        /* An ordinary user's own folders, below a folder that it may enter. */
                        cr_assert(chmod(t.path, 0755) == 0);
                        cr_assert(chown(skill, NOBODY, NOBODY) == 0 && chown(data, NOBODY, NOBODY) == 0 && chown(out, NOBODY, NOBODY) == 0);
                }
                w.argv = PROBE_ARGV("write", "/work", "/tmp", "/dev/shm", "/", "/usr", "/usr/bin", "/etc", "/dev", "/skill", "/data", "/out");
                e = run_as(&w, user == 1);
                cr_assert(e->start == 0 && e->step == 0, "user %d: %s", user, e->message);
                for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                        long long v = value(e, rows[i].name);

                        cr_assert(v == rows[i].wanted || (rows[i].wanted == EROFS && v == EACCES), "user %d: %s: %lld", user, rows[i].name, v);
                }
                /* What the region made belongs to the folder's owner, although the region ran as somebody else. */
                cr_assert(stat(made, &st) == 0 && st.st_uid == (user == 1 ? NOBODY : geteuid()), "user %d: owner %d", user, (int)st.st_uid);
                cr_assert(unlink(made) == 0);
                w.argv = PROBE_ARGV("flags", "/", "/usr", "/skill", "/data", "/out", "/work", "/tmp", "/etc/ld.so.cache", "/dev/null",
                                    "/dev/random");
                e = run_as(&w, user == 1);
                for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
                        expect(e, user == 1 ? "user" : "root", flags[i].name, flags[i].wanted);
        }
}

/* A read-only mount does not keep anyone from writing to a FIFO in it; Landlock does. */
Test(spawn, landlock_holds_where_the_mounts_do_not) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char fifo[PATH_MAX + 16];
        RunWish w = {.argv = PROBE_ARGV("open-rw", "/skill/fifo"), .program = LETHE_PROBE};

        cr_assert(temp_dir_make(&t) == 0);
        snprintf(fifo, sizeof(fifo), "%s/fifo", t.path);
        cr_assert(chmod(t.path, 0755) == 0 && mkfifo(fifo, 0666) == 0 && chmod(fifo, 0666) == 0);
        w.skill_dir = t.path;
        EACH_USER(&w, { cr_assert_str_eq(e->out, "13\n", "%s: %s", who, e->out); })
}

Test(spawn, landlock_tier_reaches_only_what_is_listed) {
        const RunWish w = {.argv = PROBE_ARGV("read", "/", "/etc", "/etc/passwd", "/etc/shadow", "/root", "/proc", "/proc/self/status",
                                              "/proc/1/environ", "/home", "/sys", "/dev", "/var", "/usr/bin/env", "/dev/null"),
                           .program = LETHE_PROBE, .tier = TIER_LANDLOCK};
        const RunWish kills = {.argv = PROBE_ARGV("try", "kill-parent", "kill-init", "unix", "unix-pair-dgram", "chown", "utime", "fifo"),
                               .program = LETHE_PROBE, .tier = TIER_LANDLOCK};

        if (region_tiers_here() < 2)
                cr_skip_test("this kernel has no Landlock of ABI 6");
        EACH_USER(&w, {
                static const char *const closed[] = {"/", "/etc", "/etc/passwd", "/etc/shadow", "/root", "/proc", "/proc/self/status",
                                                     "/proc/1/environ", "/home", "/sys", "/dev", "/var"};

                for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
                        expect(e, who, closed[i], EACCES);
                expect(e, who, "/usr/bin/env", 0);
                expect(e, who, "/dev/null", 0);
        })
        EACH_USER(&kills, {
                expect(e, who, "kill-parent", EPERM); /* the worker has the same user: Landlock's scope is what stands between */
                expect(e, who, "kill-init", EPERM);
                expect(e, who, "unix", EACCES);
                expect(e, who, "unix-pair-dgram", EACCES);
                expect(e, who, "chown", EPERM);
                expect(e, who, "utime", EPERM);
        })
}

/* with generated files in place of the kernel's. */
Test(spawn, proc_is_there_only_when_asked_for) {
        RunWish w = {.argv = PROBE_ARGV("read", "/proc", "/proc/self/status"), .program = LETHE_PROBE};

        EACH_USER(&w, {
                expect(e, who, "/proc", ENOENT);
                expect(e, who, "/proc/self/status", ENOENT);
        })
        w.proc = true;
        w.argv = PROBE_ARGV("read", "/proc/self/status", "/proc/sys/kernel/core_pattern", "/proc/meminfo", "/proc/interrupts", "/proc/1/exe",
                            "/proc/1/environ", "/proc/1/mem", "/dev/fd/0");
        EACH_USER(&w, {
                expect(e, who, "/proc/self/status", 0);
                expect(e, who, "/proc/sys/kernel/core_pattern", ENOENT);
                expect(e, who, "/proc/meminfo", 0);
                expect(e, who, "/proc/interrupts", EACCES);
                /* The first process is not dumpable, and hidepid keeps such a one out of sight. */
                expect(e, who, "/proc/1/exe", ENOENT);
                expect(e, who, "/proc/1/environ", ENOENT);
                expect(e, who, "/proc/1/mem", ENOENT);
                expect(e, who, "/dev/fd/0", 0);
        })
        w.argv = PROBE_ARGV("flags", "/proc");
        EACH_USER(&w, { expect(e, who, "/proc", 15); })
}

/* No namespace of a region is the caller's. */
Test(spawn, all_seven_namespaces_are_its_own) {
        static const char *const names[] = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};
        const RunWish w = {.argv = PROBE_ARGV("links", "/proc/self/ns/user", "/proc/self/ns/pid", "/proc/self/ns/mnt", "/proc/self/ns/net",
                                              "/proc/self/ns/ipc", "/proc/self/ns/uts", "/proc/self/ns/cgroup"),
                           .program = LETHE_PROBE, .proc = true};

        EACH_USER(&w, {
                for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                        char path[64], here[64] = "", line[160];

                        snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
                        cr_assert(readlink(path, here, sizeof(here) - 1) > 0);
                        snprintf(line, sizeof(line), "%s %s\n", path, here);
                        cr_assert(!strstr(e->out, line), "%s: %s is the host's", who, names[i]);
                        snprintf(line, sizeof(line), "%s %s:[", path, names[i]);
                        cr_assert(strstr(e->out, line), "%s: %s is not to be seen in %s", who, names[i], e->out);
                }
        })
}

/* Nothing of the old tree hangs on anywhere: every mount is one of ours, and the root is there once. */
Test(spawn, no_mount_of_the_host_is_left) {
        const RunWish w = {.argv = PROBE_ARGV("file", "/proc/self/mountinfo"), .program = LETHE_PROBE, .proc = true};

        EACH_USER(&w, {
                char *save = NULL;
                int roots = 0;
                int lines = 0;

                for (char *p = strtok_r(e->out, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
                        char point[512];
                        char options[256];
                        bool known;

                        cr_assert(sscanf(p, "%*d %*d %*s %*s %511s %255s", point, options) == 2, "%s", p);
                        roots += strcmp(point, "/") == 0;
                        lines++;
                        known = strcmp(point, "/") == 0 || strncmp(point, "/usr", 4) == 0 || strncmp(point, "/dev/", 5) == 0 ||
                                strncmp(point, "/etc/", 5) == 0 || strcmp(point, "/work") == 0 || strcmp(point, "/tmp") == 0 ||
                                strncmp(point, "/proc", 5) == 0 || strcmp(point, "/lethe") == 0 || strncmp(point, "/lib", 4) == 0 ||
                                strcmp(point, LETHE_PROBE) == 0;
                        cr_assert(known, "%s: %s", who, p);
                        cr_assert(strstr(options, "nosuid"), "%s: %s", who, p);
                        cr_assert(strstr(options, "nodev") || strncmp(point, "/dev/", 5) == 0, "%s: %s", who, p);
                }
                cr_assert(roots == 1 && lines > 8, "%s: %d of %d", who, roots, lines);
        })
}

/* Refused by the network namespace, where the name does not exist; Landlock's scope alone would say EPERM. */
Test(spawn, abstract_sockets_of_the_host_do_not_exist) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        socklen_t n = sizeof(a);
        char name[sizeof(a.sun_path)];
        const RunWish w = {.argv = PROBE_ARGV("abstract", name), .program = LETHE_PROBE, .network = NETWORK_LOOPBACK};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(sa_family_t)) == 0 && listen(fd, 1) == 0); /* at a name that the kernel chooses */
        cr_assert(getsockname(fd, (struct sockaddr *)&a, &n) == 0 && n > sizeof(sa_family_t) + 1 && a.sun_path[0] == 0);
        snprintf(name, sizeof(name), "%.*s", (int)(n - sizeof(sa_family_t) - 1), a.sun_path + 1);
        EACH_USER(&w, { cr_assert(strtol(e->out, NULL, 10) == ECONNREFUSED, "%s: %s", who, e->out); })
        close(fd);
}

static const TryRow tries[] = {
        {"ptrace", EPERM, "ptrace/debugging"}, {"process_vm_readv", EPERM, "process_vm_readv/debugging"},
        {"process_vm_writev", EPERM, "process_vm_writev/debugging"}, {"process_madvise", EPERM, "process_madvise/debugging"},
        {"pidfd_getfd", EPERM, "pidfd_getfd/debugging"}, {"kcmp", EPERM, "kcmp/debugging"},
        {"perf_event_open", EPERM, "perf_event_open/debugging"}, {"add_key", EPERM, "add_key/keyrings"},
        {"request_key", EPERM, "request_key/keyrings"}, {"keyctl", EPERM, "keyctl/keyrings"},
        {"io_uring_setup", EPERM, "io_uring_setup/io-uring"}, {"io_setup", ENOSYS, "io_setup/kernel-aio"}, {"bpf", EPERM, "bpf/bpf"},
        {"userfaultfd", EPERM, "userfaultfd/hidden-memory"}, {"memfd_secret", EPERM, "memfd_secret/hidden-memory"},
        {"vmsplice", EPERM, "vmsplice/hidden-memory"}, {"mount", EPERM, "mount/mounts"}, {"umount2", EPERM, "umount2/mounts"},
        {"pivot_root", EPERM, "pivot_root/mounts"}, {"chroot", EPERM, "chroot/mounts"}, {"open_tree", EPERM, "open_tree/mounts"},
        {"move_mount", EPERM, "move_mount/mounts"}, {"fsopen", EPERM, "fsopen/mounts"}, {"mount_setattr", EPERM, "mount_setattr/mounts"},
        {"setns", EPERM, "setns/namespaces"}, {"unshare", EPERM, "unshare/namespaces"}, {"clone-newuser", EPERM, "clone/namespaces"},
        {"clone-newnet", EPERM, "clone/namespaces"}, {"clone-parent", EPERM, "clone/process-kind"},
        {"clone-untraced", EPERM, "clone/process-kind"}, {"clone-vm", EPERM, "clone/process-kind"}, {"clone-plain", 0, NULL},
        {"clone3", ENOSYS, NULL}, {"kexec_load", EPERM, "kexec_load/host"}, {"init_module", EPERM, "init_module/host"},
        {"delete_module", EPERM, "delete_module/host"}, {"swapon", EPERM, "swapon/host"}, {"reboot", EPERM, "reboot/host"},
        {"settimeofday", EPERM, "settimeofday/host"}, {"clock_settime", EPERM, "clock_settime/host"}, {"quotactl", EPERM, "quotactl/host"},
        {"acct", EPERM, "acct/host"}, {"syslog", EPERM, "syslog/host"}, {"sethostname", EPERM, "sethostname/host"},
        {"sync", EPERM, "sync/host"}, {"syncfs", EPERM, "syncfs/host"},
#ifdef __x86_64__
        {"iopl", EPERM, "iopl/host"}, {"ioperm", EPERM, "ioperm/host"}, {"modify_ldt", ENOSYS, "modify_ldt/host"},
#endif
        {"personality", EPERM, "personality/process-attributes"}, {"tiocsti", EPERM, "ioctl/device-control"},
        {"tiocsti-high", EPERM, "ioctl/device-control"}, {"tioclinux", EPERM, "ioctl/device-control"},
        {"tiocsetd", EPERM, "ioctl/device-control"}, {"tiocsctty", EPERM, "ioctl/device-control"}, {"inet", EACCES, "socket/network"},
        {"inet-high", EACCES, "socket/network"}, {"inet6", EACCES, "socket/network"}, {"udp", EACCES, "socket/network"},
        {"raw", EACCES, "socket/network"}, {"netlink", EACCES, "socket/sockets"}, {"packet", EACCES, "socket/sockets"},
        {"vsock", EACCES, "socket/sockets"}, {"alg", EACCES, "socket/sockets"}, {"unix", EACCES, "socket/sockets"},
        {"unix-pair", 0, NULL}, {"unix-pair-dgram", EACCES, "socketpair/sockets"}, {"attach-filter", ENOPROTOOPT, "setsockopt/socket-options"},
        {"peek-offset", ENOPROTOOPT, "setsockopt/socket-options"}, {"shmget", EPERM, "shmget/sysv-ipc"},
        {"semget", EPERM, "semget/sysv-ipc"}, {"msgget", EPERM, "msgget/sysv-ipc"}, {"mq_open", EPERM, "mq_open/posix-mq"},
        {"dumpable", EPERM, "prctl/process-attributes"}, {"ptracer", EPERM, "prctl/process-attributes"},
        {"set-mm", EPERM, "prctl/process-attributes"}, {"keepcaps", EPERM, "prctl/process-attributes"},
        {"landlock-file", EOPNOTSUPP, "landlock_add_rule/hidden-files"}, {"landlock-file-high", EOPNOTSUPP, "landlock_add_rule/hidden-files"},
        {"nested-listener", EPERM, "seccomp/nested-listener"}, {"fanotify", EPERM, "fanotify_init/file-watch"},
        {"name_to_handle", EPERM, "name_to_handle_at/file-handles"}, {"open_by_handle", EPERM, "open_by_handle_at/file-handles"},
        {"openat2", ENOSYS, "openat2/hidden-arguments"}, {"affinity", EPERM, "sched_setaffinity/scheduling"},
        {"sched-fifo", EPERM, "sched_setscheduler/scheduling"}, {"mbind", EPERM, "mbind/memory-policy"},
        {"core-limit", EPERM, "prlimit64/core-files"}, {"core-limit-high", EPERM, "prlimit64/core-files"}, {"nofile-limit", 0, NULL},
        {"lease", EPERM, "fcntl/file-leases"}, {"suid", EPERM, "fchmod/set-user-id"}, {"suid-open", EPERM, "openat/set-user-id"},
        {"suid-mknod", EPERM, "mknodat/devices"}, {"device", EPERM, "mknodat/devices"}, {"fifo", 0, NULL}, {"hugetlb", EPERM, "mmap/huge-pages"},
        {"memfd", EPERM, "memfd_create/memory-files"}, {"seals", EPERM, "fcntl/file-seals"}, {"merge", EINVAL, "madvise/merged-memory"},
        {"merge-high", EINVAL, "madvise/merged-memory"}, {"give-back", 0, NULL}, {"big-map", 0, NULL}, {"chown", 0, NULL}, {"utime", 0, NULL},
        {"unknown", ENOSYS, "call/unknown-call"},
};

static void check_tries(const RunWish *base, const TryRow *rows, size_t n) {
        const char *argv[3 + 128] = {LETHE_PROBE, "try"};
        RunWish w = *base;

        cr_assert(n < 128);
        for (size_t i = 0; i < n; i++)
                argv[2 + i] = rows[i].name;
        w.argv = argv;
        w.program = LETHE_PROBE;
        EACH_USER(&w, {
                for (size_t i = 0; i < n; i++) {
                        char told[128];

                        expect(e, who, rows[i].name, rows[i].error);
                        snprintf(told, sizeof(told), "%s ", rows[i].told ?: "");
                        cr_assert(!rows[i].told || strstr(e->denied, told), "%s: %s was not told as %s: %s", who, rows[i].name, told, e->denied);
                }
        })
}

Test(spawn, each_forbidden_call_is_refused_and_told) {
        const RunWish w = {0};

        check_tries(&w, tries, ARRAY_SIZE(tries));
}

/* The same answers when paths, tasks and memory are notified: a notification must never be a way around a rule. */
Test(spawn, notified_calls_are_judged_by_the_same_rules) {
        const RunWish w = {.report_paths = true, .no_memory_cgroup = true, .no_tasks_cgroup = true};

        check_tries(&w, tries, ARRAY_SIZE(tries));
}

Test(spawn, network_connect_gives_tcp_sockets_and_asks_for_each_connect_and_listen) {
        static const TryRow rows[] = {
                {"inet", 0, NULL}, {"inet6", 0, NULL}, {"udp", EACCES, "socket/network"}, {"raw", EACCES, "socket/network"},
                {"mptcp", EACCES, "socket/network"}, {"connect", ECONNREFUSED, "connect/network"}, {"bind", ENOTSOCK, NULL},
                {"listen", ECONNREFUSED, "listen/network"}, {"fastopen", EACCES, "sendto/network"}, {"unix", 0, NULL}, {"unix-dgram", EACCES, "socket/sockets"}, {"unix-pair", 0, NULL},
                {"unix-pair-dgram", EACCES, "socketpair/sockets"}, {"netlink", EACCES, "socket/sockets"},
        };
        const RunWish w = {.network = NETWORK_CONNECT};

        check_tries(&w, rows, ARRAY_SIZE(rows));
}

Test(spawn, network_loopback_gives_tcp_udp_and_unix_sockets_and_no_other_family) {
        static const TryRow rows[] = {
                {"unix", 0, NULL}, {"unix-pair", 0, NULL}, {"unix-pair-dgram", 0, NULL}, {"inet", 0, NULL},
                {"inet6", 0, NULL}, {"udp", 0, NULL}, {"bind", ENOTSOCK, NULL}, {"raw", EACCES, "socket/sockets"}, {"netlink", 0, NULL},
                {"packet", EACCES, "socket/sockets"}, {"vsock", EACCES, "socket/sockets"}, {"mptcp", EACCES, "socket/sockets"},
        };
        const RunWish w = {.network = NETWORK_LOOPBACK};

        check_tries(&w, rows, ARRAY_SIZE(rows));
}

/* Beside files of the host, where a name can be that of a host's socket: streams alone, and each connect is made for the region. */
Test(spawn, network_loopback_beside_files_asks_for_each_connect) {
        static const TryRow rows[] = {
                {"unix", 0, NULL}, {"unix-pair", 0, NULL}, {"unix-pair-dgram", EACCES, "socketpair/sockets"}, {"inet", 0, NULL}, {"udp", 0, NULL},
                {"connect", ECONNREFUSED, "connect/network"},
        };
        FileGrant files[] = {{(char *)"/usr/share", (char *)"/data", false}};
        const RunWish w = {.network = NETWORK_LOOPBACK, .files = files, .n_files = 1};

        check_tries(&w, rows, ARRAY_SIZE(rows));
}

/* a socket of the region's own network, made before its program, and handed to the supervisor. */
Test(spawn, a_listener_of_the_region_answers_its_program) {
        const RunWish w = {.argv = PROBE_ARGV("ask", "3129"), .program = LETHE_PROBE, .network = NETWORK_LOOPBACK, .listen = {3128, 3129}};

        EACH_USER(&w, { cr_assert(strcmp(e->out, "answer") == 0 && e->n_listeners == 2, "%s: %s, %d sockets", who, e->out, e->n_listeners); })
}

/* Without a network namespace the sockets would be the host's. */
Test(spawn, tier_landlock_refuses_network_loopback) {
        const Grant g = {.network = NETWORK_LOOPBACK, .tier = TIER_LANDLOCK, .min_tier = TIER_LANDLOCK};
        const Probe p = {.landlock_abi = 7};
        Diag d = {0};
        Tier t;

        cr_assert(plan_tier(&g, &p, &t, &d) == SPAWN_E_TIER && strstr(d.text, "no network namespace"), "%s", d.text);
}

Test(spawn, network_host_gives_tcp_udp_and_unix_streams_but_no_other_family) {
        static const TryRow rows[] = {
                {"inet", 0, NULL}, {"udp", 0, NULL}, {"raw", EACCES, "socket/sockets"}, {"unix", 0, NULL}, {"unix-dgram", EACCES, "socket/sockets"},
                {"listen", ECONNREFUSED, "listen/network"}, {"bind", ENOTSOCK, NULL}, {"unix-pair-dgram", EACCES, "socketpair/sockets"}, {"packet", EACCES, "socket/sockets"}, {"vsock", EACCES, "socket/sockets"},
        };
        static const TryRow beside_files[] = {{"connect", ECONNREFUSED, "connect/network"}, {"unix", 0, NULL}};
        FileGrant files[] = {{(char *)"/usr/share", (char *)"/data", false}};
        RunWish w = {.network = NETWORK_HOST};

        check_tries(&w, rows, ARRAY_SIZE(rows));
        w.files = files;
        w.n_files = 1;
        check_tries(&w, beside_files, ARRAY_SIZE(beside_files));
}

#ifdef __x86_64__
Test(spawn, foreign_system_call_tables_kill) {
        static const char *const which[] = {"ia32", "x32"};

        for (size_t i = 0; i < ARRAY_SIZE(which); i++) {
                const RunWish w = {.argv = PROBE_ARGV("foreign", which[i]), .program = LETHE_PROBE};

                EACH_USER(&w, {
                        cr_assert(e->status >= 0 && WIFSIGNALED(e->status) && WTERMSIG(e->status) == SIGSYS, "%s %s: 0x%x %s", who, which[i],
                                  e->status, e->out);
                })
        }
}
#endif

Test(spawn, notifications_come_only_where_they_were_asked_for) {
        RunWish w = {.argv = (const char *const[]){"sh", "-c", "cat /etc/passwd > /tmp/x; true", NULL}};

        EACH_USER(&w, { cr_assert(e->n_path == 0 && e->n_memory == 0 && e->n_task == 0 && *e->denied == 0, "%s: %s", who, e->denied); })
        w.report_paths = w.no_tasks_cgroup = w.no_memory_cgroup = true;
        EACH_USER(&w, { cr_assert(e->n_path > 5 && e->n_task > 0, "%s: %d %d", who, e->n_path, e->n_task); })
}
