/* A signal can cut a notified call short before the supervisor has taken the notification:
 * SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV keeps signals off only from then on. With a handler without SA_RESTART the
 * kernel would return EINTR, which fork(2), mmap(2) or unlink(2) never do. The task stands before its handler, the
 * result of its call still open: the guard tells it to make the call again, as the kernel itself does for fork(2).
 * On aarch64 the kernel has decided by then, and the guard does nothing. */
#include "scrub/tracer/state.h"

#if defined(__x86_64__)

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#define CACHED_LOOKS 100   /* a microsecond each */
#define ERESTARTSYS 512    /* errors internal to the kernel; a tracer sees them */
#define ERESTARTNOINTR 513

typedef enum RestartKind { CALL_OTHER, CALL_OPENS, CALL_OPENS_AT, CALL_NEVER_CUT_SHORT } RestartKind;

/* Sorts the calls that the filter may notify (policy/filter-calls.def, filter-args.c). OTHER: may return EINTR. */
static RestartKind restart_kind(long call) {
        switch (call) {
        case SYS_open: case SYS_creat:
                return CALL_OPENS;
        case SYS_openat:
                return CALL_OPENS_AT;
        case SYS_clone: case SYS_fork: case SYS_vfork: case SYS_execve: case SYS_execveat:
        case SYS_mmap: case SYS_munmap: case SYS_mremap: case SYS_mprotect: case SYS_pkey_mprotect: case SYS_madvise:
        case SYS_brk: case SYS_truncate: case SYS_ftruncate: case SYS_fallocate: case SYS_mknod: case SYS_mknodat:
        case SYS_rename: case SYS_renameat: case SYS_renameat2: case SYS_mkdir: case SYS_mkdirat: case SYS_rmdir:
        case SYS_unlink: case SYS_unlinkat: case SYS_link: case SYS_linkat: case SYS_symlink: case SYS_symlinkat:
        case SYS_chmod: case SYS_fchmodat: case SYS_chown: case SYS_lchown: case SYS_fchownat:
        /* answered by the supervisor, never made */
        case SYS_fchmod: case SYS_fchown: case SYS_fsetxattr: case SYS_fremovexattr: case SYS_memfd_create:
        case SYS_openat2: case SYS_utime: case SYS_utimes: case SYS_futimesat: case SYS_utimensat: case SYS_setxattr:
        case SYS_lsetxattr: case SYS_removexattr: case SYS_lremovexattr:
                return CALL_NEVER_CUT_SHORT;
        default:
                return CALL_OTHER;
        }
}

/* Reads a string of the task's memory, which may end at a page's end. */
static bool restart_read_name(pid_t pid, uint64_t at, char text[static PATH_MAX]) {
        size_t first = 4096 - (at & 4095);
        struct iovec local = {text, PATH_MAX}, remote[2] = {{(void *)(uintptr_t)at, first},
                                                            {(void *)(uintptr_t)(at + first), PATH_MAX - first}};
        ssize_t n = process_vm_readv(pid, &local, 1, remote, first < PATH_MAX ? 2 : 1, 0);

        return n > 0 && memchr(text, 0, (size_t)n);
}

/* Reads the path to open, from the region's root on, without dots and slashes at the end. Links of /proc tell a
 * folder's place without a request to its file system. */
static bool restart_read_path(pid_t pid, RestartKind kind, char path[static PATH_MAX]) {
        int dirfd = kind == CALL_OPENS_AT ? (int)regs_word(pid, RDI) : AT_FDCWD;
        uint64_t at = (uint64_t)regs_word(pid, kind == CALL_OPENS_AT ? RSI : RDI);
        char name[PATH_MAX];
        ssize_t n = 0;
        size_t end;
        bool whole = restart_read_name(pid, at, name);

        if (whole && name[0] != '/') {
                n = readlink(dirfd == AT_FDCWD ? PROC_PATH("%d/cwd", pid) : PROC_PATH("%d/fd/%d", pid, dirfd), path,
                             PATH_MAX - 1);
                whole = n > 0 && path[0] == '/';
        }
        whole = whole && name[0] && (size_t)n + strlen(name) + 2 < PATH_MAX;
        if (whole) {
                path[n] = '/';
                strcpy(path + n + 1, name);
                end = strlen(path);
                while (end > 1 && (path[end - 1] == '/' || (path[end - 1] == '.' && path[end - 2] == '/')))
                        path[--end] = 0;
                whole = end < 3 || strcmp(path + end - 3, "/..") != 0;
        }
        explicit_bzero(name, sizeof(name)); /* a name is data of the region, too */
        return whole;
}

/* RESOLVE_CACHED fails with EAGAIN for a name not in memory, and during a mount or rename: then a retry helps. */
static int restart_look_up(int folder, const char *name, uint64_t resolve) {
        struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS | resolve};
        int fd, looks = resolve & RESOLVE_CACHED ? CACHED_LOOKS : 1;

        do
                fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));
        while (fd < 0 && errno == EAGAIN && --looks > 0);
        return fd;
}

/* Reads the status from the kernel's memory, without a request to a remote server (FUSE, NFS). */
static bool restart_known_status(int fd, uint32_t *ret_mode, dev_t *ret_dev) {
        struct {
                uint32_t mask, blksize;
                uint64_t attributes;
                uint32_t nlink, uid, gid;
                uint16_t mode, spare;
                uint64_t numbers[4], times[8];
                uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
                uint64_t more[14];
        } st; /* struct statx, missing in some C libraries */

        _Static_assert(sizeof(st) == 256, "struct statx");
        /* AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE */
        if (syscall(SYS_statx, fd, "", 0x1000 | 0x4000, 1, &st) < 0)
                return false;
        *ret_mode = st.mode;
        *ret_dev = makedev(st.dev_major, st.dev_minor);
        return true;
}

/* Names not in the kernel's memory are searched only in the scratch, which is in memory or Lethe's own: a granted
 * file system may answer late or never, and the guard must not wait. Returns a descriptor or -1 with errno. */
static int restart_look_up_in_scratch(const Tracer *g, int root, char *path) {
        char *slash = strrchr(path, '/');
        uint32_t mode;
        _autoclose_ int folder = -1;
        dev_t dev = 0;

        *slash = 0;
        folder = restart_look_up(root, slash > path ? path : "/", RESOLVE_IN_ROOT | RESOLVE_CACHED);
        *slash = '/';
        if (slash[1] && folder >= 0 && restart_known_status(folder, &mode, &dev) && S_ISDIR(mode) &&
            dev == g->scratch_dev)
                return restart_look_up(folder, slash + 1, RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
        errno = EAGAIN;
        return -1;
}

/* Says whether the open call cannot wait, as it would for the other end of a FIFO, and so cannot be cut short by
 * itself. Checked from the region's own root, without opening the file. False when unknown. */
static bool restart_opens_at_once(const Tracer *g, pid_t pid, RestartKind kind) {
        char path[PATH_MAX];
        _autoclose_ int root = -1, fd = -1;
        bool known = false;
        uint32_t mode;
        dev_t dev;

        if (!restart_read_path(pid, kind, path))
                return false;
        root = openat(AT_FDCWD, PROC_PATH("%d/root", pid), O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root >= 0) {
                fd = restart_look_up(root, path, RESOLVE_IN_ROOT | RESOLVE_CACHED);
                /* /dev/fd leads to /proc/self, not the task's here: ENOENT is sure only without links */
                if (fd < 0 && errno == ENOENT)
                        fd = restart_look_up(root, path, RESOLVE_IN_ROOT | RESOLVE_CACHED | RESOLVE_NO_SYMLINKS);
                if (fd < 0 && errno == EAGAIN)
                        fd = restart_look_up_in_scratch(g, root, path);
                known = fd < 0 ? errno == ENOENT
                               : restart_known_status(fd, &mode, &dev) &&
                                         (S_ISREG(mode) || S_ISDIR(mode) || S_ISCHR(mode));
        }
        explicit_bzero(path, sizeof(path));
        return known;
}

void restart_call(const Tracer *g, pid_t pid) {
        RestartKind kind;

        if (regs_word(pid, RAX) != -ERESTARTSYS)
                return;
        kind = restart_kind(regs_word(pid, ORIG_RAX));
        if (kind == CALL_NEVER_CUT_SHORT || (kind != CALL_OTHER && restart_opens_at_once(g, pid, kind)))
                ptrace(PTRACE_POKEUSER, pid, (void *)(RAX * sizeof(long)), (void *)-ERESTARTNOINTR);
}

#else

void restart_call(const Tracer *g, pid_t pid) {
}

#endif
