/* A call that the supervisor is asked about can be cut short by a signal before the question was taken: SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV keeps
 * signals off only from then on. With a handler that has no SA_RESTART the kernel would say EINTR then, which fork(2), mmap(2) or unlink(2) never
 * do. The task stands before its handler, what its call is to answer still undecided: it is told to make the call again, as the kernel itself does
 * for fork(2). On aarch64 the kernel has decided by then, and nothing is done. */
#include "scrub/guard/state.h"

#if defined(__x86_64__)

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define ERESTARTSYS 512    /* errors that stay in the kernel; a tracer sees them */
#define ERESTARTNOINTR 513
enum { RSI = 13, RDI = 14, RAX = 10, ORIG_RAX = 15 }; /* words of struct user */

typedef enum Call { CALL_OTHER, CALL_OPENS, CALL_OPENS_AT, CALL_NEVER_CUT_SHORT } Call;

static long word(pid_t pid, int n) {
        errno = 0;
        return ptrace(PTRACE_PEEKUSER, pid, (void *)(n * sizeof(long)), NULL);
}

/* Of those that may be asked about (policy/filter-calls.def, filter-args.c). Others may say by themselves that they were cut short. */
static Call kind_of(long call) {
        switch (call) {
        case SYS_open: case SYS_creat:
                return CALL_OPENS;
        case SYS_openat:
                return CALL_OPENS_AT;
        case SYS_clone: case SYS_fork: case SYS_vfork: case SYS_execve: case SYS_execveat:
        case SYS_mmap: case SYS_munmap: case SYS_mremap: case SYS_mprotect: case SYS_pkey_mprotect: case SYS_madvise: case SYS_brk:
        case SYS_truncate: case SYS_ftruncate: case SYS_fallocate: case SYS_mknod: case SYS_mknodat: case SYS_rename: case SYS_renameat:
        case SYS_renameat2: case SYS_mkdir: case SYS_mkdirat: case SYS_rmdir: case SYS_unlink: case SYS_unlinkat: case SYS_link: case SYS_linkat:
        case SYS_symlink: case SYS_symlinkat: case SYS_chmod: case SYS_fchmodat: case SYS_chown: case SYS_lchown: case SYS_fchownat:
        case SYS_utime: case SYS_utimes: case SYS_futimesat: case SYS_utimensat: case SYS_setxattr: case SYS_lsetxattr: case SYS_removexattr:
        case SYS_lremovexattr:
                return CALL_NEVER_CUT_SHORT;
        default:
                return CALL_OTHER;
        }
}

/* A string of the task's memory, which may end at a page's end. */
static bool read_name(pid_t pid, uint64_t at, char text[static PATH_MAX]) {
        size_t first = 4096 - (at & 4095);
        struct iovec local = {text, PATH_MAX}, remote[2] = {{(void *)(uintptr_t)at, first}, {(void *)(uintptr_t)(at + first), PATH_MAX - first}};
        ssize_t n = process_vm_readv(pid, &local, 1, remote, first < PATH_MAX ? 2 : 1, 0);

        return n > 0 && memchr(text, 0, (size_t)n);
}

/* Is what it opens nothing that an open waits for, as it does for the other end of a FIFO, and may be cut short in? Looked at from the region's own
 * root, without opening it. False when that is not known: of a relative name that goes through a symbolic link. */
static bool opens_at_once(pid_t pid, Call kind) {
        char name[PATH_MAX], folder[64];
        struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
        int dirfd = kind == CALL_OPENS_AT ? (int)word(pid, RDI) : AT_FDCWD, at, fd = -1;
        bool absolute, known = false;
        struct stat st;

        if (!read_name(pid, (uint64_t)word(pid, kind == CALL_OPENS_AT ? RSI : RDI), name))
                return false;
        absolute = name[0] == '/';
        how.resolve |= absolute ? RESOLVE_IN_ROOT : RESOLVE_NO_SYMLINKS;
        if (absolute || dirfd == AT_FDCWD)
                snprintf(folder, sizeof(folder), "/proc/%d/%s", (int)pid, absolute ? "root" : "cwd");
        else
                snprintf(folder, sizeof(folder), "/proc/%d/fd/%d", (int)pid, dirfd);
        at = openat(AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (at >= 0) {
                fd = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
                if (fd < 0 && errno == ENOENT && absolute) { /* /proc/self, to which /dev/fd leads, is not there for us: only without links is it sure */
                        how.resolve |= RESOLVE_NO_SYMLINKS;
                        fd = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
                }
                known = fd < 0 ? errno == ENOENT : fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode));
        }
        if (fd >= 0)
                close(fd);
        if (at >= 0)
                close(at);
        explicit_bzero(name, sizeof(name)); /* a name is a thing of the region, too */
        return known;
}

void restart_call(pid_t pid) {
        Call kind;

        if (word(pid, RAX) != -ERESTARTSYS)
                return;
        kind = kind_of(word(pid, ORIG_RAX));
        if (kind == CALL_NEVER_CUT_SHORT || (kind != CALL_OTHER && opens_at_once(pid, kind)))
                ptrace(PTRACE_POKEUSER, pid, (void *)(RAX * sizeof(long)), (void *)-ERESTARTNOINTR);
}

#else

void restart_call(pid_t pid) {
}

#endif
