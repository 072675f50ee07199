#include "base/owner.h"

#include "base/io.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#define LINKS_MAX 40 /* the kernel's limit */
#define ACL_NAME "system.posix_acl_access"
#define FUSE_TYPE 0x65735546 /* statfs(2) */
#define MOUNTS_MAX (16 * 1024 * 1024)

static bool owner_trusts(uid_t uid, uid_t self) {
        return uid == 0 || uid == self;
}

/* A group with the number of its user is that user's private group, which most systems make. */
static bool owner_trusts_group(gid_t gid, uid_t self) {
        return gid == 0 || (self != 0 && gid == (gid_t)self);
}

bool owner_alone(const struct stat *st, uid_t self) {
        if (!owner_trusts(st->st_uid, self))
                return false;
        if (S_ISLNK(st->st_mode) ||
            S_ISCHR(st->st_mode)) /* the mode of a link has no effect, and bytes written to /dev/null are gone */
                return true;
        return !(st->st_mode & S_IWOTH) && (!(st->st_mode & S_IWGRP) || owner_trusts_group(st->st_gid, self));
}

int owner_refuse(const char *path, const struct stat *st, uid_t self, Diag *reterr) {
        char shown[512];

        diag_quote(path, strlen(path), shown, sizeof(shown));
        if (!owner_trusts(st->st_uid, self))
                return diag(reterr, OWNER_E_OTHER,
                            "user %u can write \"%s\", which belongs to that user; fix: chown %s \"%s\"",
                            (unsigned)st->st_uid, shown, self == 0 ? "root" : "the folder to you, or to root:", shown);
        if (st->st_mode & S_IWOTH)
                return diag(reterr, OWNER_E_OTHER, "every user can write \"%s\" (mode %04o); fix: chmod o-w \"%s\"",
                            shown, st->st_mode & 07777, shown);
        return diag(reterr, OWNER_E_OTHER, "group %u can write \"%s\" (mode %04o); fix: chmod g-w \"%s\"",
                    (unsigned)st->st_gid, shown, st->st_mode & 07777, shown);
}

/* An access control list with write access for other users shows as write access of the group, even of group root. */
static bool owner_has_list(const char *path, const struct stat *st) {
        return st->st_mode & S_IWGRP && !S_ISLNK(st->st_mode) && lgetxattr(path, ACL_NAME, NULL, 0) > 0;
}

/* The user who mounted a FUSE file system: the last field of a line of proc_pid_mountinfo(5) has its options. 0 without
 * such an option, as for virtiofs. The fields before may hold words of the mounter, without blanks. */
static uid_t owner_of_server(const char *mounts, dev_t dev) {
        char number[32];

        snprintf(number, sizeof(number), " %u:%u ", major(dev), minor(dev));
        for (const char *line = mounts; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                const size_t n = strcspn(line, "\n");
                const char *at = memmem(line, n, number, strlen(number)), *last = memrchr(line, ' ', n), *user;

                if (!at)
                        continue;
                user = memmem(last, n - (size_t)(last - line), ",user_id=", strlen(",user_id="));
                return user ? (uid_t)strtoul(user + strlen(",user_id="), NULL, 10) : 0;
        }
        return 0;
}

uid_t owner_server(const char *path, const struct stat *st) {
        _cleanup_free_ char *mounts = NULL;
        struct statfs fs;
        size_t n;

        /* Only file systems without a device need a look: root mounted those with a device. */
        if (major(st->st_dev) != 0 || statfs(path, &fs) < 0 || fs.f_type != FUSE_TYPE)
                return 0;
        if (io_read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTS_MAX, &mounts, &n) < 0)
                return (uid_t)-1;
        return owner_of_server(mounts, st->st_dev);
}

/* proc_sys_kernel(5) */
static uid_t owner_overflow(void) {
        unsigned uid = 65534;
        char text[16];

        if (proc_read("/proc/sys/kernel/overflowuid", text, sizeof(text)) > 0)
                sscanf(text, "%u", &uid);
        return uid;
}

static bool owner_all_are_mapped(void) {
        unsigned long from, to, count, all = 0;
        char text[4096], *line = text;

        if (proc_read("/proc/self/uid_map", text, sizeof(text)) == 0)
                return false;
        for (; line && sscanf(line, "%lu %lu %lu", &from, &to, &count) == 3; line = line ? line + 1 : NULL) {
                all += count;
                line = strchr(line, '\n');
        }
        return all >= UINT32_MAX;
}

/* Both are looked up once for each process: a map is written once. */
bool owner_is_anybody(uid_t uid) {
        /* the number; UINT32_MAX, which no user has: every number belongs to a known user */
        static _Atomic int64_t anybody = -1;

        if (atomic_load(&anybody) < 0)
                atomic_store(&anybody, owner_all_are_mapped() ? UINT32_MAX : owner_overflow());
        return uid == (uid_t)atomic_load(&anybody) && uid != (uid_t)-1;
}

/* The kernel allows O_NOATIME only to the owner as the kernel knows the owner (open(2)). */
static bool owner_is_ours(const char *path, const struct stat *st) {
        int fd = S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)
                         ? open(path, O_RDONLY | O_NOATIME | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                         : -1;

        if (fd < 0)
                return false;
        close(fd);
        return true;
}

typedef struct OwnerWalk {
        char done[PATH_MAX]; /* looked at, without links; "" is the root */
        char rest[PATH_MAX]; /* still to be walked */
        uid_t self;
        unsigned links;
        dev_t known; /* the last file system asked for; 0: no file system yet */
        Diag *reterr;
} OwnerWalk;

/* Judges the entry `done`. In a sticky folder other users cannot replace an entry: next, the entry itself is judged. */
static int owner_judge(OwnerWalk *w, const struct stat *st, bool last) {
        const char *path = *w->done ? w->done : "/";
        const bool sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX && !last && owner_trusts(st->st_uid, w->self);

        if (st->st_dev != w->known && !S_ISLNK(st->st_mode)) {
                const uid_t server = owner_server(path, st);

                if (!owner_trusts(server, w->self))
                        return diag(w->reterr, OWNER_E_OTHER,
                                    "user %u serves the file system of \"%s\" (FUSE), and can invent owners and modes; "
                                    "fix: name a place on another file system", (unsigned)server, path);
                w->known = st->st_dev;
        }
        if (!sticky && st->st_uid != 0 && owner_trusts(st->st_uid, w->self) && owner_is_anybody(st->st_uid) &&
            !owner_is_ours(path, st))
                return diag(w->reterr, OWNER_E_OTHER,
                            "\"%s\" belongs to user %u, who stands for all users whom this namespace does not map; "
                            "fix: chown root \"%s\", or map its owner", path, (unsigned)st->st_uid, path);
        if (sticky || (owner_alone(st, w->self) && !owner_has_list(path, st)))
                return 0;
        if (owner_alone(st, w->self))
                return diag(w->reterr, OWNER_E_OTHER,
                            "an access control list lets others write \"%s\"; fix: setfacl -b \"%s\"", path, path);
        return owner_refuse(path, st, w->self, w->reterr);
}

static int owner_follow(OwnerWalk *w, size_t n_before) {
        char target[PATH_MAX], whole[PATH_MAX];
        ssize_t n = readlink(w->done, target, sizeof(target) - 1);

        if (n < 0)
                return -errno;
        target[n] = 0;
        if (++w->links > LINKS_MAX)
                return -ELOOP;
        if (snprintf(whole, sizeof(whole), "%s/%s", target, w->rest) >= (int)sizeof(whole))
                return -ENAMETOOLONG;
        memcpy(w->rest, whole, sizeof(whole));
        w->done[target[0] == '/' ? 0 : n_before] = 0;
        return 0;
}

/* Takes the first part of `rest`; an empty part at the end. */
static int owner_part(OwnerWalk *w, char part[static NAME_MAX + 1], bool *ret_last) {
        size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");

        if (n > NAME_MAX)
                return -ENAMETOOLONG;
        memcpy(part, w->rest + skip, n);
        part[n] = 0;
        memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
        *ret_last = w->rest[strspn(w->rest, "/")] == 0;
        return 0;
}

static int owner_walk(OwnerWalk *w) {
        char part[NAME_MAX + 1];
        struct stat st;
        bool last;
        int r;

        if (stat("/", &st) < 0)
                return -errno;
        r = owner_judge(w, &st, false);
        while (r == 0 && (r = owner_part(w, part, &last)) == 0 && *part) {
                size_t n = strlen(w->done);

                if (strcmp(part, ".") == 0)
                        continue;
                if (strcmp(part, "..") == 0) {
                        *(strrchr(w->done, '/') ?: w->done) = 0;
                        continue;
                }
                if (n + strlen(part) + 2 > sizeof(w->done))
                        return -ENAMETOOLONG;
                w->done[n] = '/';
                strcpy(w->done + n + 1, part);
                if (lstat(w->done, &st) < 0)
                        return errno == ENOENT ? 0 : -errno;
                if (!last && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
                        return -ENOTDIR;
                r = owner_judge(w, &st, last);
                if (r == 0 && S_ISLNK(st.st_mode))
                        r = owner_follow(w, n);
        }
        return r;
}

int owner_check(const char *path, uid_t self, Diag *reterr) {
        _cleanup_free_ char *absolute = io_absolute(path);
        OwnerWalk w = {.self = self, .reterr = reterr};

        if (!absolute)
                return errno ? -errno : -ENOMEM;
        if (strlen(absolute) >= sizeof(w.rest))
                return -ENAMETOOLONG;
        strcpy(w.rest, absolute);
        return owner_walk(&w);
}
