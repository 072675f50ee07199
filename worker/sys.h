/* Runs: worker. System calls without a wrapper in the C library. Each returns -1 with errno on failure. */
#pragma once

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

static inline int sys_fsopen(const char *type) {
        return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}
static inline int sys_fsconfig(int fd, unsigned cmd, const char *key, const char *value) {
        return (int)syscall(SYS_fsconfig, fd, cmd, key, value, 0);
}
static inline int sys_fsmount(int fd, unsigned attributes) {
        return (int)syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, attributes);
}
static inline int sys_open_tree(int fd, const char *path, unsigned flags) {
        return (int)syscall(SYS_open_tree, fd, path, flags | OPEN_TREE_CLOEXEC);
}
static inline int sys_move_mount(int tree, int folder, const char *name) {
        return (int)syscall(SYS_move_mount, tree, "", folder, name, MOVE_MOUNT_F_EMPTY_PATH);
}
static inline int sys_mount_setattr(int fd, unsigned flags, struct mount_attr *attr) {
        return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | flags, attr, sizeof(*attr));
}
static inline int sys_openat2(int fd, const char *path, uint64_t flags, uint64_t resolve) {
        struct open_how how = {.flags = flags, .resolve = resolve};

        return (int)syscall(SYS_openat2, fd, path, &how, sizeof(how));
}

/* Kind and file system of a file, from the kernel's memory: a remote or FUSE server is not asked. */
static inline int sys_kind(int fd, struct stat *ret) {
        struct statx x;

        if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | 0x4000 /* AT_STATX_DONT_SYNC */, STATX_TYPE, &x) < 0)
                return -1;
        *ret = (struct stat){.st_mode = x.stx_mode, .st_dev = makedev(x.stx_dev_major, x.stx_dev_minor)};
        return 0;
}
