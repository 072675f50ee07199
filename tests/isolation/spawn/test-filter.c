#include "policy/filter.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* A classic BPF machine, enough for a seccomp program: the filter is judged by what it does, not by how it was made. */
static uint32_t execute(const struct sock_filter *f, size_t n, const struct seccomp_data *d) {
        uint32_t a = 0;

        for (size_t pc = 0; pc < n; pc++) {
                const struct sock_filter *i = &f[pc];

                switch (i->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        cr_assert(i->k + 4 <= sizeof(*d));
                        memcpy(&a, (const char *)d + i->k, 4);
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        a &= i->k;
                        break;
                case BPF_JMP | BPF_JA:
                        pc += i->k;
                        break;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        pc += a == i->k ? i->jt : i->jf;
                        break;
                case BPF_JMP | BPF_JGT | BPF_K:
                        pc += a > i->k ? i->jt : i->jf;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        pc += a >= i->k ? i->jt : i->jf;
                        break;
                case BPF_RET | BPF_K:
                        return i->k;
                default:
                        cr_assert_fail("instruction 0x%x", i->code);
                }
        }
        cr_assert_fail("ran off the end");
        return 0;
}

static const uint64_t values[] = {
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 22, 23, 26, 36, 40, 41, 63, 64, 65, 0x41, 0x80, 0x100, 0x406, 0x408, 0x400,
        0x5401, 0x5412, 0x541B, 0x541C, 0x5423, 0x5450, 0x40000, 0x80000, 0x80001, 0x80801, 0x20000000, 0x10000000, 0x4111, 0x11,
        MAP_FIXED | MAP_PRIVATE, O_TRUNC | O_WRONLY, O_TMPFILE | O_RDWR, 24, 0x3d0f00, 04755, 0100644, 0104755, 0020666, 0010600, (1 << 20) - 1,
        1 << 20, 0x100000000, 0x100000001, 0x100000002, 0x100005401, 0x100005412, 0xffffffff, 0xfffff000, UINT64_MAX, 0x53564d41,
};

static FilterInput input(unsigned bits) {
        return (FilterInput){.tier = bits & 1 ? TIER_NAMESPACES : TIER_LANDLOCK, .network = (uint8_t)((bits >> 1) & 3),
                             .loopback = (bits & 1) && ((bits >> 1) & 3) == NETWORK_LOOPBACK,
                             .unix_sockets = (bits & 1) && ((bits >> 1) & 3) == NETWORK_LOOPBACK && (bits & 64), .notify_paths = (bits >> 3) & 1,
                             .notify_memory = (bits >> 4) & 1, .notify_tasks = (bits >> 5) & 1, .host_files = (bits >> 7) & 1, .notify_frees = (bits >> 8) & 1,
                             .watches = (bits & 1) && ((bits >> 9) & 1)};
}

/* The two readers of the tables agree: what the program lets pass is just what a row or the list of plain calls allows, and what it
 * notifies is judged "continue" only when it would have passed without the notification. */
Test(filter, program_and_judge_agree_on_every_call) {
        static const unsigned inputs[] = {1, 3, 67, 1 | 8 | 16 | 32, 67 | 8 | 16 | 32, 0, 8 | 16 | 32, 5, 5 | 8, 7, 7 | 16, 1 | 256, 256,
                                          1 | 8 | 16 | 32 | 256, 1 | 16 | 256, 1 | 512, 1 | 8 | 16 | 512};
        unsigned seed = 1;

        for (size_t k = 0; k < ARRAY_SIZE(inputs); k++) {
                FilterInput in = input(inputs[k]), plain = in;
                struct sock_filter *f, *p;
                size_t n, n_plain;

                plain.notify_paths = plain.notify_memory = plain.notify_tasks = plain.notify_frees = 0;
                cr_assert(filter_compile(&in, &f, &n) == 0 && filter_compile(&plain, &p, &n_plain) == 0);
                cr_assert(n < 1024, "%zu instructions", n);
                for (int nr = -1; nr < 600; nr++)
                        for (int round = 0; round < 60; round++) {
                                struct seccomp_data d = {.nr = nr, .arch = seccomp_arch_native()};
                                FilterVerdict v;
                                uint32_t answer, would;

                                for (int a = 0; a < 6; a++)
                                        d.args[a] = values[(size_t)rand_r(&seed) % ARRAY_SIZE(values)];
                                answer = execute(f, n, &d);
                                would = execute(p, n_plain, &d);
                                if (nr == SYS_clone3) {
                                        cr_assert(answer == (SECCOMP_RET_ERRNO | ENOSYS));
                                        continue;
                                }
                                if (nr == SYS_prctl && (uint32_t)d.args[0] == PR_SET_VMA) { // I-66
                                        cr_assert(answer == (SECCOMP_RET_ERRNO | EINVAL));
                                        continue;
                                }
                                cr_assert(answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_USER_NOTIF, "call %d: 0x%x", nr, answer);
                                if (answer == SECCOMP_RET_ALLOW) {
                                        /* memory files are the one thing that a memory cgroup allows and its absence forbids */
                                        cr_assert(would == SECCOMP_RET_ALLOW, "call %d passes only with notifications", nr);
                                        continue;
                                }
                                filter_judge(&in, &d, &v);
                                if (v.kind == FILTER_DENY)
                                        cr_assert((v.error > 0 || nr == SYS_setsockopt) && v.rule && v.operation, "call %d", nr); // some options do nothing
                                else if (v.kind == FILTER_CONNECT)
                                        cr_assert(nr == SYS_connect && (in.network == NETWORK_CONNECT || (in.loopback && !in.unix_sockets)));
                                else if (v.kind == FILTER_LOCK)
                                        cr_assert((nr == SYS_flock || nr == SYS_fcntl) && would == SECCOMP_RET_USER_NOTIF, "call %d", nr);
                                else if (v.kind == FILTER_WATCH)
                                        cr_assert(nr == SYS_inotify_add_watch && in.watches);
                                else if (nr == SYS_mmap && (d.args[3] & MAP_SHARED_VALIDATE) != MAP_PRIVATE) {
                                        /* Each of these is told of; it goes on if it would as a private one. */
                                        cr_assert(would == SECCOMP_RET_USER_NOTIF && v.shared == (d.args[3] & MAP_SHARED));
                                        d.args[3] = (d.args[3] & ~(uint64_t)MAP_SHARED_VALIDATE) | MAP_PRIVATE;
                                        cr_assert(execute(p, n_plain, &d) == SECCOMP_RET_ALLOW);
                                } else
                                        cr_assert(would == SECCOMP_RET_ALLOW, "call %d (%s) would be continued, but is not allowed", nr,
                                                  v.operation);
                        }
                free(f);
                free(p);
        }
}

Test(filter, foreign_tables_are_killed) {
        FilterInput in = input(1);
        struct seccomp_data d = {.nr = SYS_getpid, .arch = AUDIT_ARCH_I386};
        struct sock_filter *f;
        size_t n;

        cr_assert(filter_compile(&in, &f, &n) == 0);
        cr_assert(execute(f, n, &d) == SECCOMP_RET_KILL_PROCESS);
        d.arch = AUDIT_ARCH_X86_64;
        cr_assert(execute(f, n, &d) == SECCOMP_RET_ALLOW);
        d.nr |= 0x40000000;
        cr_assert(execute(f, n, &d) == SECCOMP_RET_KILL_PROCESS);
        free(f);
}

/* I-69: where nobody can look into a table of descriptors that is a thread's own, no thread gets one. */
Test(filter, no_thread_has_a_table_that_cannot_be_looked_into) {
        const uint64_t thread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
        const struct {
                struct seccomp_data d;
                bool tables, allowed;
        } rows[] = {
                {{.nr = SYS_clone, .args = {thread | CLONE_FILES}}, false, true},  {{.nr = SYS_clone, .args = {thread}}, false, false},
                {{.nr = SYS_clone, .args = {thread | CLONE_FILES}}, true, true},   {{.nr = SYS_clone, .args = {thread}}, true, true},
                {{.nr = SYS_clone, .args = {SIGCHLD}}, false, true},               {{.nr = SYS_clone, .args = {CLONE_VM | CLONE_VFORK}}, false, true},
                {{.nr = SYS_close_range, .args = {3, ~0U, 0}}, false, true},       {{.nr = SYS_close_range, .args = {3, ~0U, 2}}, false, false},
                {{.nr = SYS_close_range, .args = {3, ~0U, 4}}, false, true},       {{.nr = SYS_close_range, .args = {3, ~0U, 2}}, true, true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                FilterInput in = input(1);
                struct seccomp_data d = rows[i].d;
                struct sock_filter *f;
                FilterVerdict v;
                size_t n;

                in.tables = rows[i].tables;
                in.notify_tasks = 0;
                d.arch = seccomp_arch_native();
                cr_assert(filter_compile(&in, &f, &n) == 0);
                cr_expect_eq(execute(f, n, &d) == SECCOMP_RET_ALLOW, rows[i].allowed, "row %zu", i);
                filter_judge(&in, &d, &v);
                cr_expect(rows[i].allowed || (v.kind == FILTER_DENY && strcmp(v.rule, "process-kind") == 0), "row %zu: %s", i, v.rule);
                free(f);
        }
}

/* I-30: under multipass nothing that gives memory back passes without a word, and what gives nothing back does. */
Test(filter, what_is_given_back_is_notified) {
        static const struct {
                const char *what;
                int nr;
                uint64_t args[6];
                bool frees;
        } rows[] = {
                {"munmap", SYS_munmap, {4096, 4096}, true},
                {"brk", SYS_brk, {0x10000000}, true},
                {"a question to brk", SYS_brk, {0}, false},
                {"MADV_DONTNEED", SYS_madvise, {4096, 4096, MADV_DONTNEED}, true},
                {"MADV_FREE", SYS_madvise, {4096, 4096, MADV_FREE}, true},
                {"MADV_REMOVE", SYS_madvise, {4096, 4096, MADV_REMOVE}, true},
                {"MADV_DONTNEED_LOCKED", SYS_madvise, {4096, 4096, 24}, true},
                {"MADV_COLLAPSE", SYS_madvise, {4096, 4096, 25}, true},
                {"MADV_HUGEPAGE", SYS_madvise, {4096, 4096, MADV_HUGEPAGE}, true},
                {"MADV_PAGEOUT", SYS_madvise, {4096, 4096, 21}, true},
                {"MADV_GUARD_INSTALL", SYS_madvise, {4096, 4096, 102}, true},
                {"MADV_WILLNEED", SYS_madvise, {4096, 4096, MADV_WILLNEED}, false},
                {"MADV_NOHUGEPAGE", SYS_madvise, {4096, 4096, MADV_NOHUGEPAGE}, false},
                {"MADV_WIPEONFORK", SYS_madvise, {4096, 4096, MADV_WIPEONFORK}, false},
                {"mmap", SYS_mmap, {0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS}, false},
                {"mmap over something", SYS_mmap, {4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED}, true},
                {"mmap beside something", SYS_mmap, {4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | 0x100000}, false},
                {"mremap", SYS_mremap, {4096, 8192, 4096}, true},
                {"execve", SYS_execve, {4096}, true},
                {"execveat", SYS_execveat, {3, 4096, 0, 0, 0x1000}, true},
                {"unlink", SYS_unlink, {4096}, true},
                {"unlinkat", SYS_unlinkat, {3, 4096}, true},
                {"rename", SYS_rename, {4096, 8192}, true},
                {"renameat2", SYS_renameat2, {3, 4096, 3, 8192}, true},
                {"truncate", SYS_truncate, {4096, 0}, true},
                {"ftruncate", SYS_ftruncate, {3, 0}, true},
                {"a hole", SYS_fallocate, {3, 3, 0, 4096}, true},
                {"no hole", SYS_fallocate, {3, 0, 0, 4096}, false},
                {"open to truncate", SYS_open, {4096, O_WRONLY | O_TRUNC}, true},
                {"openat to make and truncate", SYS_openat, {3, 4096, O_WRONLY | O_CREAT | O_TRUNC, 0600}, true},
                {"openat without a name", SYS_openat, {3, 4096, O_RDWR | O_TMPFILE, 0600}, true},
                {"openat to make", SYS_openat, {3, 4096, O_WRONLY | O_CREAT, 0600}, false},
                {"creat", SYS_creat, {4096, 0600}, true},
                {"write", SYS_write, {3, 4096, 1}, false},
        };
        static const unsigned inputs[] = {1 | 256, 256, 1 | 16 | 256};

        for (size_t k = 0; k < ARRAY_SIZE(inputs); k++) {
                FilterInput in = input(inputs[k]), zero = input(inputs[k] & ~256U);
                struct sock_filter *f, *p;
                size_t n, n_zero;

                cr_assert(filter_compile(&in, &f, &n) == 0 && filter_compile(&zero, &p, &n_zero) == 0);
                for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                        struct seccomp_data d = {.nr = rows[i].nr, .arch = AUDIT_ARCH_X86_64};
                        FilterVerdict v;

                        memcpy(d.args, rows[i].args, sizeof(d.args));
                        if (rows[i].nr == SYS_fallocate && !(inputs[k] & 1)) { /* denied in tier landlock (I-24) */
                                filter_judge(&in, &d, &v);
                                cr_expect(execute(p, n_zero, &d) == SECCOMP_RET_USER_NOTIF && v.kind == FILTER_DENY && v.error == EOPNOTSUPP, "%s", rows[i].what);
                                continue;
                        }
                        cr_expect_eq(execute(f, n, &d) == SECCOMP_RET_USER_NOTIF, rows[i].frees, "%s, input %u", rows[i].what, inputs[k]);
                        cr_expect_eq(execute(p, n_zero, &d), SECCOMP_RET_ALLOW, "%s under zero, input %u", rows[i].what, inputs[k]);
                        if (!rows[i].frees)
                                continue;
                        filter_judge(&in, &d, &v);
                        cr_expect(v.kind == FILTER_FREE && v.frees, "%s: kind %d, input %u", rows[i].what, v.kind, inputs[k]);
                }
                free(f);
                free(p);
        }
}

typedef struct JudgeRow {
        const char *what;
        unsigned bits;
        int nr;
        uint64_t args[6];
        FilterClass kind;
        const char *rule;
        const char *object; /* part of it, or NULL */
        bool allow_with, writes;
} JudgeRow;

static const JudgeRow judge_rows[] = {
        {"open to read", 1 | 8, SYS_openat, {-100, 4096, O_RDONLY}, FILTER_PATH, "paths", NULL, false, false},
        {"open to write", 1 | 8, SYS_openat, {-100, 4096, O_RDWR}, FILTER_PATH, "paths", NULL, false, true},
        {"open to create", 1 | 8, SYS_openat, {-100, 4096, O_CREAT, 0644}, FILTER_PATH, "paths", NULL, false, true},
        {"open to truncate", 1 | 8, SYS_open, {4096, O_TRUNC}, FILTER_PATH, "paths", NULL, false, true},
        {"create with set-user-id", 1 | 8, SYS_openat, {-100, 4096, O_CREAT, 04755}, FILTER_DENY, "set-user-id", NULL, false, false},
        {"mode bits without creation", 1 | 8, SYS_openat, {-100, 4096, 0, 04755}, FILTER_PATH, "paths", NULL, false, false},
        {"chmod", 1 | 8, SYS_chmod, {4096, 0755}, FILTER_PATH, "paths", NULL, false, true},
        {"chmod set-user-id", 1 | 8, SYS_chmod, {4096, 04755}, FILTER_DENY, "set-user-id", "04755", false, false},
        {"chmod in tier landlock", 8, SYS_chmod, {4096, 0755}, FILTER_DENY, "file-metadata", NULL, false, false},
        {"unlink", 1 | 8, SYS_unlinkat, {-100, 4096, 0}, FILTER_PATH, "paths", NULL, false, true},
        {"execve", 1 | 8, SYS_execve, {4096, 0, 0}, FILTER_PATH, "paths", NULL, false, false},
        {"a device", 1 | 8, SYS_mknodat, {-100, 4096, S_IFBLK | 0600}, FILTER_DENY, "devices", NULL, false, false},
        {"a large map", 1 | 16, SYS_mmap, {0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS}, FILTER_MEMORY, "memory",
         "67108864 bytes", false, false},
        {"a large map of huge pages", 1 | 16, SYS_mmap, {0, 64 << 20, PROT_WRITE, MAP_HUGETLB}, FILTER_DENY, "huge-pages", NULL, false, false},
        {"a shared map", 1, SYS_mmap, {0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS}, FILTER_MEMORY, "memory", "4096 bytes", false, false},
        {"a shared map of a file", 1, SYS_mmap, {0, 4096, PROT_READ, MAP_SHARED_VALIDATE, 3}, FILTER_MEMORY, "memory", "4096 bytes", false, false},
        {"a shared map over something", 1 | 256, SYS_mmap, {4096, 4096, 0, MAP_SHARED | MAP_FIXED}, FILTER_FREE, "multipass", NULL, false, false},
        {"flock", 1, SYS_flock, {3, 2}, FILTER_LOCK, "locks", NULL, false, false},
        {"a record lock", 0, SYS_fcntl, {3, F_SETLKW, 4096}, FILTER_LOCK, "locks", NULL, false, false},
        {"a record lock of a description", 1, SYS_fcntl, {3, F_OFD_GETLK, 4096}, FILTER_LOCK, "locks", NULL, false, false},
        {"a lease", 1, SYS_fcntl, {3, F_SETLEASE, 1}, FILTER_DENY, "file-leases", "command 1024", false, false},
        {"a small pipe", 1, SYS_fcntl, {3, F_SETPIPE_SZ, 4096}, FILTER_DENY, "pipe-size", "4096 bytes", false, false},
        {"a large pipe", 1, SYS_fcntl, {3, F_SETPIPE_SZ, 1 << 20}, FILTER_DENY, "pipe-size", "1048576 bytes", false, false},
        {"a watch", 1 | 512, SYS_inotify_add_watch, {3, 4096, 2}, FILTER_WATCH, "file-watch", NULL, false, false},
        {"a watch in tier landlock", 512, SYS_inotify_add_watch, {3, 4096, 2}, FILTER_DENY, "file-watch", NULL, false, false},
        {"inotify without limits of its own", 1, SYS_inotify_init1, {0}, FILTER_DENY, "file-watch", NULL, false, false},
        {"mremap", 1 | 16, SYS_mremap, {4096, 4096, 2 << 20}, FILTER_MEMORY, "memory", "2097152 bytes", false, false},
        {"an unlink of which two want to know", 1 | 8 | 256, SYS_unlink, {4096}, FILTER_PATH, "paths", NULL, false, true},
        {"set-user-id and truncation", 1 | 256, SYS_open, {4096, O_CREAT | O_TRUNC, 04755}, FILTER_DENY, "set-user-id", NULL, false, false},
        {"huge pages over something", 1 | 256, SYS_mmap, {4096, 2 << 20, 0, MAP_HUGETLB | MAP_FIXED}, FILTER_DENY, "huge-pages", NULL, false, false},
        {"a thread", 1 | 32, SYS_clone, {0x3d0f00}, FILTER_TASK, "processes", NULL, false, false},
        {"fork", 1 | 32, SYS_fork, {0}, FILTER_TASK, "processes", NULL, false, false},
        {"a namespace", 1 | 32, SYS_clone, {0x10000011}, FILTER_DENY, "namespaces", "0x10000011", false, false},
        {"connect in mode connect", 5, SYS_connect, {3, 4096, 16}, FILTER_CONNECT, "network", NULL, true, false},
        {"connect in mode none", 1, SYS_connect, {3, 4096, 16}, FILTER_DENY, "network", NULL, true, false},
        {"a TCP socket", 1, SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 6}, FILTER_DENY, "network", "AF_INET SOCK_STREAM", true, false},
        {"a UDP socket", 1, SYS_socket, {AF_INET6, SOCK_DGRAM, 0}, FILTER_DENY, "network", "AF_INET6 SOCK_DGRAM", true, false},
        {"a Unix socket", 1, SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, FILTER_DENY, "sockets", "AF_UNIX", true, false},
        {"a Unix socket beside files of the host", 1 | 128, SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, FILTER_DENY, "sockets", "AF_UNIX", true, false},
        {"a Unix datagram beside files of the host, in network loopback", 3 | 128, SYS_socket, {AF_UNIX, SOCK_DGRAM, 0}, FILTER_DENY, "sockets", "AF_UNIX", false, false},
        {"a connect beside files of the host, in network loopback", 3 | 128, SYS_connect, {3, 4096, 16}, FILTER_CONNECT, "network", NULL, false, false},
        {"a vsock", 1, SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, FILTER_DENY, "sockets", "AF_VSOCK", false, false},
        {"an unknown family", 1, SYS_socket, {77, 9, 0}, FILTER_DENY, "sockets", "family 77", false, false},
        {"TIOCSTI", 1, SYS_ioctl, {0, 0x5412}, FILTER_DENY, "device-control", "0x5412", false, false},
        {"a call from the future", 1, 9999, {0}, FILTER_DENY, "unknown-call", "9999", false, false},
};

Test(filter, verdicts_name_rule_object_and_remedy) {
        for (size_t i = 0; i < ARRAY_SIZE(judge_rows); i++) {
                const JudgeRow *r = &judge_rows[i];
                struct seccomp_data d = {.nr = r->nr, .arch = AUDIT_ARCH_X86_64};
                FilterInput in = input(r->bits);
                FilterVerdict v;

                memcpy(d.args, r->args, sizeof(d.args));
                filter_judge(&in, &d, &v);
                cr_assert(v.kind == r->kind, "%s: kind %d", r->what, v.kind);
                cr_assert_str_eq(v.rule, r->rule, "%s: rule %s", r->what, v.rule);
                cr_assert(!r->object || strstr(v.object, r->object), "%s: object %s", r->what, v.object);
                cr_assert(r->allow_with == (v.allow_with != NULL), "%s: allow_with %s", r->what, v.allow_with ?: "none");
                cr_assert(r->writes == v.writes, "%s", r->what);
        }
}

Test(filter, the_cache_gives_the_same_program_and_survives_damage) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        struct sock_filter *made, *cached;
        char command[PATH_MAX + 64], name[128] = "";
        size_t n, n_cached;
        FilterInput in = input(1);
        FILE *p;
        int fd;

        cr_assert(temp_dir_make(&t) == 0);
        cr_assert(filter_compile(&in, &made, &n) == 0);
        cr_assert(filter_cached(&in, t.path, &cached, &n_cached) == 0);
        free(cached);
        snprintf(command, sizeof(command), "%s/cache", t.path);
        cr_assert(access(command, F_OK) < 0, "a folder that is no store was written to");
        snprintf(command, sizeof(command), "%s/data.mdb", t.path);
        fd = open(command, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        cr_assert_geq(fd, 0);
        close(fd);
        for (int round = 0; round < 5; round++) {
                cr_assert(filter_cached(&in, t.path, &cached, &n_cached) == 0);
                cr_assert(n == n_cached && memcmp(made, cached, n * sizeof(*made)) == 0, "round %d", round);
                free(cached);
                if (round == 0) {
                        snprintf(command, sizeof(command), "ls -d %s/cache/filter-*", t.path);
                        p = popen(command, "r");
                        cr_assert(p && fgets(command, sizeof(command), p));
                        pclose(p);
                        command[strcspn(command, "\n")] = 0;
                }
                snprintf(name, sizeof(name), "%.120s", command);
                fd = open(command, O_RDWR);
                cr_assert(fd >= 0, "%s", name);
                if (round == 1)
                        cr_assert(pwrite(fd, "\x06\0\0\0\0\0\xff\x7f", 8, 40) == 8); /* an instruction that allows everything */
                else if (round == 2)
                        cr_assert(ftruncate(fd, 40) == 0);
                else if (round == 3)
                        cr_assert(ftruncate(fd, 0) == 0);
                close(fd);
        }
        /* The file of another input under this one's name. */
        {
                FilterInput other = input(3);
                char from[2 * PATH_MAX + 256];

                cr_assert(unlink(command) == 0);
                cr_assert(filter_cached(&other, t.path, &cached, &n_cached) == 0);
                free(cached);
                snprintf(from, sizeof(from), "mv %s/cache/filter-* %s", t.path, command);
                cr_assert(system(from) == 0);
                cr_assert(filter_cached(&in, t.path, &cached, &n_cached) == 0);
                cr_assert(n == n_cached && memcmp(made, cached, n * sizeof(*made)) == 0);
                free(cached);
        }
        free(made);
        /* A store that is not there costs only the time. */
        cr_assert(filter_cached(&in, "/no/such/store", &cached, &n_cached) == 0 && n == n_cached);
        free(cached);
}
