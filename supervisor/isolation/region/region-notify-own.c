/* Calls that are for what a region has for itself: locks and watches. The supervisor makes them, on what it has looked at. */
#include "region/region-notify.h"

#include "region/region-locks.h"
#include "region/region-path.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static void own_deny(RegionNotify *n, const FilterVerdict *v, const char *object, int error, bool *ret_denied) {
        region_notify_answer(n, n->req->id, error, false);
        if (denials_add(n->denials, v->rule, v->operation, object, strlen(object), NULL) < 0)
                n->denials->others++;
        *ret_denied = true;
}

static void own_lock(RegionNotify *n, const FilterVerdict *v, bool *ret_denied) {
        const LockPlace place = {n->worker, n->tier, n->budget->scratch, n->scratch, n->grant};
        char object[256];
        int error;

        if (!n->locks && !(n->locks = region_locks_new())) {
                region_notify_answer(n, n->req->id, ENOLCK, false);
                return;
        }
        switch (region_locks_call(n->locks, &place, n->req, &error, object)) {
        case 0:
                region_notify_answer(n, n->req->id, error, false);
                break;
        case LOCK_REFUSED:
                own_deny(n, v, object, EPERM, ret_denied);
                break;
        case LOCK_TOO_MANY:
                snprintf(object, sizeof(object), "more than %d locked ranges", LOCK_RANGES_MAX);
                own_deny(n, v, object, ENOLCK, ret_denied);
                break;
        case LOCK_LATER:
                break;
        }
        n->locks_deadline = n->locks->deadline;
}

int region_notify_locks(RegionNotify *n, uint64_t now) {
        uint64_t id;
        int error;

        while (n->failed == 0 && region_locks_try(n->locks, n->fd, now, &id, &error))
                region_notify_answer(n, id, error, false);
        n->locks_deadline = n->locks->deadline;
        return n->failed;
}

/* A descriptor of what the path names in the scratch, by a walk that leaves it nowhere. Returns -EXDEV when it is elsewhere, -errno. */
static int own_path(const RegionNotify *n, uint64_t at, char full[static PATH_MAX]) {
        static const char *const folders[] = {REGION_WORK_DIR, REGION_TMP_DIR};
        struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                               .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS};
        char text[PATH_MAX];
        ssize_t k = region_notify_read((pid_t)n->req->pid, at, text, sizeof(text) - 1);
        int e;

        if (k <= 0)
                return -EFAULT;
        text[k] = 0;
        if (strlen(text) == (size_t)k)
                return -ENAMETOOLONG;
        if (!*text)
                return -ENOENT;
        e = region_path_absolute((pid_t)n->req->pid, AT_FDCWD, text, full);
        if (e < 0)
                return e;
        for (size_t i = 0; i < ARRAY_SIZE(folders) && n->budget->scratch >= 0; i++) {
                size_t f = strlen(folders[i]);

                if (strncmp(full, folders[i], f) == 0 && (full[f] == '/' || full[f] == 0)) {
                        int fd = (int)syscall(SYS_openat2, n->budget->scratch, full + 1, &how, sizeof(how));

                        return fd >= 0 ? fd : errno == ELOOP ? -EXDEV : -errno; /* a link may lead anywhere */
                }
        }
        return -EXDEV;
}

static void own_watch(RegionNotify *n, const FilterVerdict *v, bool *ret_denied) {
        const struct seccomp_notif *q = n->req;
        _cleanup_close_ int path = -1, instance = -1;
        char full[PATH_MAX], link[64];
        int wd;

        path = own_path(n, q->data.args[1], full);
        if (path == -EXDEV) {
                own_deny(n, v, full, EACCES, ret_denied);
                return;
        }
        instance = region_notify_copy_fd((pid_t)q->pid, (int)q->data.args[0]);
        if (path < 0 || instance < 0) {
                region_notify_answer(n, q->id, path < 0 ? -path : -instance, false);
                return;
        }
        snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
        wd = inotify_add_watch(instance, link, (uint32_t)q->data.args[2] & ~(uint32_t)IN_DONT_FOLLOW);
        if (wd >= 0)
                region_notify_answer_value(n, q->id, wd);
        else if (errno == ENOSPC) {
                snprintf(link, sizeof(link), "more than %d watches", REGION_INOTIFY_WATCHES);
                own_deny(n, v, link, ENOSPC, ret_denied);
        } else
                region_notify_answer(n, q->id, errno, false);
}

void region_notify_own(RegionNotify *n, const FilterVerdict *v, bool *ret_denied) {
        if (v->kind == FILTER_LOCK)
                own_lock(n, v, ret_denied);
        else
                own_watch(n, v, ret_denied);
}
