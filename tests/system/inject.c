// Runs: tests. A fault at a chosen call of a guard or a worker, which no strace can be started for: lethe makes them itself.
//
//   inject SOCKET NAME CALL ERRNO SECRET LOG    serves until its standard input ends; says "ready"
//   NAME                                        the same program in the place of lethe-guard or lethe-worker, beside lethe: it asks at `inject.sock`
//                                               beside itself to be traced, and executes real/NAME
//   inject keep SECRET                          in a region: holds the text in what a region holds until its end: memory of its own and of a child, shared
//                                               memory, a deleted file. Each of the two writes it itself: pages that they have in common would be
//                                               overwritten with the second one only
//
// Only the asking process itself is traced, from its execve on, and none that it makes: what it traces itself is its own (a tracer may be traced). Calls are
// told apart by number, and by the path, request or option that they have. At the first call of the CALLth such kind, nothing is done, and ERRNO is its result;
// 0: no fault. LOG has a line for each kind: its number and the call.
//
// A traced guard is looked at, too: when it lets a process go on, is the text SECRET in that one's memory? The last time counts, which is at its exit stop.
// Before it closes a deleted file, is it in there? SECRET is in no program image: each of its bytes is written one less. "memory PID clean|secret",
// "file DEVICE:INODE clean|secret" in LOG; and "held PID", "held DEVICE:INODE" when the text was there before the guard wrote.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PTRACE_GET_SYSCALL_INFO
#error "a C library that knows PTRACE_GET_SYSCALL_INFO"
#endif

#define KINDS_MAX 512
#define CHUNK (1UL << 20)

static FILE *out;
static char secret[64];
static long fault_at;
static int fault_errno;
static bool is_guard;

// ---- in the place of a guard or a worker ----

static int stand_in(const char *exe, char **argv) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        char real[PATH_MAX + 16], go;
        const char *name = strrchr(exe, '/') + 1;
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), n = (int)(name - exe);

        snprintf(a.sun_path, sizeof(a.sun_path), "%.*sinject.sock", n > 80 ? 80 : n, exe);
        if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
                while (read(fd, &go, 1) < 0 && errno == EINTR)
                        ;
        snprintf(real, sizeof(real), "%.*sreal/%s", n, exe, name);
        execv(real, argv);
        return 127;
}

// ---- in a region ----

static void write_text(const char *from, char *to) {
        for (size_t i = 0; i < sizeof(secret) - 1 && from[i]; i++)
                secret[i] = (char)(from[i] + 1);
        memcpy(to, secret, sizeof(secret));
}

static int keep(const char *text) {
        char *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        int fd = open("/tmp/deleted", O_RDWR | O_CREAT | O_EXCL, 0600), status = 1;

        if (own == MAP_FAILED || shared == MAP_FAILED || fd < 0 || unlink("/tmp/deleted") < 0)
                return 2;
        if (fork() == 0) {
                write_text(text, own);
                _exit(0);
        }
        wait(&status);
        write_text(text, own);
        memcpy(shared, secret, sizeof(secret));
        if (write(fd, secret, sizeof(secret)) != (ssize_t)sizeof(secret))
                return 3;
        printf("kept\n");
        return status;
}

// ---- what the traced one's memory and files hold ----

static bool has_secret(const char *p, size_t n) {
        return memmem(p, n, secret, strlen(secret)) != NULL;
}

static bool in_memory(pid_t pid, bool *ret_seen) {
        static char chunk[CHUNK];
        char path[64], line[PATH_MAX + 128], mode[8];
        unsigned long from, to;
        bool found = false;
        FILE *maps;
        int mem;

        snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
        mem = open(path, O_RDONLY | O_CLOEXEC);
        snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
        maps = fopen(path, "re");
        *ret_seen = mem >= 0 && maps;
        while (*ret_seen && !found && fgets(line, sizeof(line), maps)) {
                if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3)
                        continue;
                for (unsigned long at = from; at < to && !found; at += CHUNK - sizeof(secret)) {
                        ssize_t n = pread(mem, chunk, to - at < CHUNK ? to - at : CHUNK, (off_t)at);

                        found = n > 0 && has_secret(chunk, (size_t)n);
                }
        }
        if (maps)
                fclose(maps);
        if (mem >= 0)
                close(mem);
        return found;
}

static void say_file(pid_t pid, int n, bool closes) {
        static char chunk[CHUNK];
        struct stat st;
        char path[64];
        ssize_t k;
        off_t at = 0;
        bool found = false;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, n);
        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 0 || st.st_size == 0)
                return;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        while (fd >= 0 && !found && (k = pread(fd, chunk, sizeof(chunk), at)) > 0) {
                found = has_secret(chunk, (size_t)k);
                at += k > (ssize_t)sizeof(secret) ? k - (ssize_t)sizeof(secret) : k;
        }
        if (fd >= 0)
                close(fd);
        if (closes)
                fprintf(out, "file %lx:%lu %s\n", (unsigned long)st.st_dev, (unsigned long)st.st_ino, fd < 0 ? "unseen" : found ? "secret" : "clean");
        else if (found)
                fprintf(out, "held %lx:%lu\n", (unsigned long)st.st_dev, (unsigned long)st.st_ino);
}

static void say_files(pid_t pid) {
        char path[64];
        struct dirent *e;
        DIR *d;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        d = opendir(path);
        while (d && (e = readdir(d)))
                if (e->d_name[0] != '.')
                        say_file(pid, atoi(e->d_name), true);
        if (d)
                closedir(d);
}

// Of one page: text that goes on in the next one is cut.
static void text_at(pid_t pid, unsigned long at, char *text, size_t size) {
        struct iovec to = {text, size - 1}, from = {(void *)at, 4096 - at % 4096 < size - 1 ? 4096 - at % 4096 : size - 1};
        ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);

        text[n > 0 ? n : 0] = 0;
}

static void look(pid_t pid, const struct __ptrace_syscall_info *i) {
        pid_t other = (pid_t)i->entry.args[1];
        char text[128];
        bool seen, found;

        switch (i->entry.nr) {
        case SYS_ptrace:
                if (i->entry.args[0] != PTRACE_CONT && i->entry.args[0] != PTRACE_DETACH)
                        return;
                found = in_memory(other, &seen);
                fprintf(out, "memory %d %s\n", (int)other, !seen ? "unseen" : found ? "secret" : "clean");
                break;
        case SYS_openat: // the guard looks before it writes; a look of ours in between would move pages (KERNEL.md 4.1)
                text_at(pid, i->entry.args[1], text, sizeof(text));
                if (sscanf(text, "/proc/%d/", &other) == 1 && in_memory(other, &seen))
                        fprintf(out, "held %d\n", (int)other);
                break;
        case SYS_pwrite64:
        case SYS_pwritev:
        case SYS_write:
                say_file(pid, (int)i->entry.args[0], false);
                break;
        case SYS_close:
                say_file(pid, (int)i->entry.args[0], true);
                break;
        case SYS_exit_group:
                say_files(pid);
                break;
        default:
                break;
        }
}

// ---- faults ----

// Calls that cannot fail, that end the process, or for which the C library ends it; and close, which closes whatever it says.
static bool is_left_alone(long nr) {
        static const long calls[] = {
                SYS_exit,   SYS_exit_group, SYS_execve,  SYS_execveat, SYS_brk,      SYS_arch_prctl, SYS_set_tid_address, SYS_set_robust_list,
                SYS_rseq,   SYS_munmap,     SYS_getpid,  SYS_gettid,   SYS_getuid,   SYS_geteuid,    SYS_getgid,          SYS_getegid,
                SYS_futex,  SYS_close,      SYS_mprotect, SYS_prlimit64, SYS_getrandom, SYS_rt_sigreturn, SYS_restart_syscall,
        };

        for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
                if (calls[i] == nr)
                        return true;
        return false;
}

// A path with its numbers taken out, or "" for a call that has none.
static void text_of(pid_t pid, const struct __ptrace_syscall_info *i, char text[static 128]) {
        unsigned long at = 0;
        char *w = text;

        *text = 0;
        switch (i->entry.nr) {
        case SYS_ptrace:
        case SYS_prctl:
                snprintf(text, 128, "%llx", (unsigned long long)i->entry.args[0]);
                return;
        case SYS_fcntl:
        case SYS_ioctl:
                snprintf(text, 128, "%llx", (unsigned long long)i->entry.args[1]);
                return;
        case SYS_open:
        case SYS_stat:
        case SYS_readlink:
        case SYS_chdir:
                at = i->entry.args[0];
                break;
        case SYS_openat:
        case SYS_newfstatat:
        case SYS_readlinkat:
        case SYS_mkdirat:
        case SYS_unlinkat:
        case SYS_symlinkat:
        case SYS_statx:
        case SYS_mount:
                at = i->entry.args[1];
                break;
        default:
                return;
        }
        text_at(pid, at, text, 128);
        for (const char *r = text; *r; r++)
                if (*r < '0' || *r > '9')
                        *w++ = *r;
                else if (w == text || w[-1] != '#')
                        *w++ = '#';
        *w = 0;
}

// The number of this call's kind when it is the first of it, else 0.
static long new_kind(pid_t pid, const struct __ptrace_syscall_info *i) {
        static struct {
                long nr;
                char text[128];
        } kinds[KINDS_MAX];
        static long n;
        char text[128] = "";

        if (is_left_alone((long)i->entry.nr) || n == KINDS_MAX)
                return 0;
        text_of(pid, i, text);
        for (long k = 0; k < n; k++)
                if (kinds[k].nr == (long)i->entry.nr && strcmp(kinds[k].text, text) == 0)
                        return 0;
        kinds[n].nr = (long)i->entry.nr;
        memcpy(kinds[n++].text, text, sizeof(text));
        fprintf(out, "call %ld %llu %s\n", n, (unsigned long long)i->entry.nr, text);
        return n;
}

static void at_call(pid_t pid, bool *fails) {
        struct __ptrace_syscall_info i;

        if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(i), &i) <= 0)
                return;
        if (i.op == PTRACE_SYSCALL_INFO_EXIT && *fails)
                ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rax), (long)-fault_errno);
        if (i.op != PTRACE_SYSCALL_INFO_ENTRY) {
                *fails = false;
                return;
        }
        *fails = new_kind(pid, &i) == fault_at && fault_at > 0;
        if (*fails) {
                fprintf(out, "fault %llu\n", (unsigned long long)i.entry.nr);
                ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), -1L);
        } else if (is_guard)
                look(pid, &i);
}

static int follow(pid_t pid) {
        bool fails = false, executed = false;
        int status, signal;

        while (waitpid(pid, &status, __WALL) == pid) {
                signal = 0;
                if (WIFEXITED(status) || WIFSIGNALED(status)) {
                        fprintf(out, "end %x\n", (unsigned)status);
                        return 0;
                }
                if (status >> 16 == PTRACE_EVENT_EXEC)
                        executed = true;
                else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
                        if (executed)
                                at_call(pid, &fails);
                } else if (status >> 16 == 0)
                        signal = WSTOPSIG(status);
                else if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP) {
                        ptrace(PTRACE_LISTEN, pid, 0, 0);
                        continue;
                }
                ptrace(PTRACE_SYSCALL, pid, 0, signal);
        }
        return 1;
}

static int trace(int client, pid_t pid) {
        int status;

        if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC) < 0 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0 ||
            waitpid(pid, &status, __WALL) != pid) {
                fprintf(out, "no tracing: %s\n", strerror(errno));
                return 1;
        }
        ptrace(PTRACE_SYSCALL, pid, 0, 0);
        if (write(client, "", 1) != 1)
                return 1;
        close(client);
        return follow(pid);
}

// Only the first one that asks under this name meets the fault, and is traced at all.
int main(int argc, char **argv) {
        char exe[PATH_MAX] = "";
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        struct pollfd p[2] = {{.fd = 0, .events = POLLIN}, {.events = POLLIN}};
        bool traced = false;
        pid_t tracer = 0;

        if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0 && strncmp(strrchr(exe, '/'), "/lethe-", 7) == 0)
                return stand_in(exe, argv);
        if (argc == 3 && strcmp(argv[1], "keep") == 0)
                return keep(argv[2]);
        if (argc != 7)
                return 2;
        out = fopen(argv[6], "we");
        p[1].fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        snprintf(a.sun_path, sizeof(a.sun_path), "%s", argv[1]);
        if (!out || bind(p[1].fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(p[1].fd, 16) < 0) {
                perror(argv[1]);
                return 2;
        }
        setvbuf(out, NULL, _IOLBF, 0);
        is_guard = strcmp(argv[2], "lethe-guard") == 0;
        fault_at = atol(argv[3]);
        fault_errno = atoi(argv[4]);
        write_text(argv[5], (char[sizeof(secret)]){0});
        dprintf(1, "ready\n");
        while (poll(p, 2, -1) > 0 || errno == EINTR) {
                struct ucred peer = {};
                socklen_t n = sizeof(peer);
                int client;

                if (p[0].revents)
                        break;
                client = accept4(p[1].fd, NULL, NULL, SOCK_CLOEXEC);
                if (client < 0 || getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
                        continue;
                if (!traced && (tracer = fork()) == 0)
                        return trace(client, peer.pid);
                traced = true;
                close(client);
        }
        if (tracer > 0)
                waitpid(tracer, NULL, 0);
        return 0;
}
