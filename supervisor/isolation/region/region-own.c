/* Runs: supervisor. */
#include "region/region-own.h"

#include "base/io.h"
#include "base/timed-syscall.h"
#include "region/region-path.h"
#include "region/region-proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define MOUNTINFO_MAX (1024 * 1024)
#define OWN_ABSTRACT "an abstract name, which is the host's"
#define OWN_WITH_LOOPBACK "\"network\": \"loopback\""
#define PATH_AT offsetof(struct sockaddr_un, sun_path)

/* A task takes on the region's user: the kernel judges rights by the user, and shows the user to the server. */
typedef struct OwnUser {
        uint32_t id; /* 0: the supervisor's own */
} OwnUser;

__attribute__((no_sanitize("address", "undefined"))) static long own_become(const OwnUser *u) {
        long e = u->id ? timed_do(SYS_setgroups, 0, NULL) : 0;

        e = e ?: u->id ? timed_do(SYS_setresgid, u->id, u->id, u->id) : 0;
        return e ?: u->id ? timed_do(SYS_setresuid, u->id, u->id, u->id) : 0;
}

/* Memory is common with the task, and a change of the user makes it less dumpable. */
static OwnUser own_begin(const RegionNotify *n, int *ret_dumpable) {
        *ret_dumpable = n->host_uid && geteuid() == 0 ? prctl(PR_GET_DUMPABLE) : -1;
        return (OwnUser){*ret_dumpable >= 0 ? n->host_uid : 0};
}

static void own_end(int dumpable) {
        if (dumpable == 1)
                prctl(PR_SET_DUMPABLE, 1);
}

typedef struct OwnLook {
        OwnUser user;
        char root[32], path[PATH_MAX];
        struct open_how how;
} OwnLook;

__attribute__((no_sanitize("address", "undefined"))) static long own_look(void *job) {
        OwnLook *l = job;
        long root = timed_do(SYS_open, l->root, O_PATH | O_DIRECTORY | O_CLOEXEC), e;

        if (root < 0)
                return root;
        e = own_become(&l->user);
        return e ?: timed_do(SYS_openat2, root, l->path, &l->how, sizeof(l->how));
}

/* The path from the region's root: behind the working folder of the task, unless absolute. */
static int own_path(pid_t pid, const char *text, char out[static PATH_MAX]) {
        ssize_t n = *text == '/' ? 0 : readlink(PROC_PATH("%d/cwd", pid), out, PATH_MAX - 1);

        if (n < 0)
                return -errno;
        if (*text != '/' && *out != '/')
                return -ENOENT;
        return (size_t)n + 1 + strlen(text) + 1 > PATH_MAX ? -ENAMETOOLONG
                                                            : (snprintf(out + n, PATH_MAX - (size_t)n, "/%s", text), 0);
}

/* Returns a descriptor of the file (O_PATH), or -errno as the kernel's answer to a connect. */
static int own_find(const RegionNotify *n, const char *text) {
        OwnLook l = {.how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS}};
        int dumpable, fd = own_path((pid_t)n->req->pid, text, l.path);

        if (fd < 0)
                return fd;
        if (!region_notify_waits(n, n->req->id))
                return -ENOENT;
        snprintf(l.root, sizeof(l.root), "/proc/%d/root", (int)n->worker);
        l.user = own_begin(n, &dumpable);
        fd = timed_open(own_look, &l, sizeof(l), TIMED_USEC);
        own_end(dumpable);
        explicit_bzero(l.path, sizeof(l.path));
        return fd;
}

/* The device of a mount, as in sock_diag(7); 0: unknown. */
static uint32_t own_device(pid_t worker, uint64_t mount) {
        _cleanup_free_ char *text = NULL;
        unsigned long long number;
        unsigned major, minor;
        size_t n;

        if (io_read_file(AT_FDCWD, PROC_PATH("%d/mountinfo", worker), MOUNTINFO_MAX, &text, &n) < 0)
                return 0;
        for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
                if (sscanf(p, "%llu %*u %u:%u", &number, &major, &minor) == 3 && number == mount)
                        return major << 20 | minor;
        return 0;
}

/* Whether the file is that of a socket which listens in the region's own network namespace. The kernel's own text tells
 * the file's numbers: no server of a file system is asked. */
static bool own_is(const RegionNotify *n, int file) {
        uint64_t inode = proc_field(PROC_PATH("self/fdinfo/%d", file), "ino:", 10),
                 mount = proc_field(PROC_PATH("self/fdinfo/%d", file), "mnt_id:", 10);
        uint32_t device = own_device(n->worker, mount);

        /* sock_diag(7) tells the low half of an inode's number. */
        return device != 0 && inode > 0 && inode <= UINT32_MAX &&
               region_budget_listens(n->budget, device, (uint32_t)inode);
}

typedef struct OwnConnect {
        OwnUser user;
        int fd;
        struct sockaddr_storage address;
        socklen_t n;
        bool blocks; /* the region's socket waits for the end of a connect */
} OwnConnect;

/* A call on the socket may wait for another thread's call on it. O_NONBLOCK belongs to the region's descriptor, too: for
 * the time of the connect, which is not answered before. */
__attribute__((no_sanitize("address", "undefined"))) static long own_connect(void *job) {
        OwnConnect *c = job;
        int type;
        socklen_t n = sizeof(type);
        long e = timed_do(SYS_getsockopt, c->fd, SOL_SOCKET, SO_TYPE, &type, &n), flags;

        if (e < 0) /* flags of another file, a terminal perhaps, are not touched */
                return e;
        flags = timed_do(SYS_fcntl, c->fd, F_GETFL);
        if (flags < 0)
                return flags;
        c->blocks = !(flags & O_NONBLOCK);
        e = own_become(&c->user);
        if (e == 0 && c->blocks)
                e = timed_do(SYS_fcntl, c->fd, F_SETFL, flags | O_NONBLOCK);
        if (e < 0)
                return e;
        e = timed_do(SYS_connect, c->fd, &c->address, c->n);
        if (c->blocks)
                timed_do(SYS_fcntl, c->fd, F_SETFL, flags);
        return e;
}

/* Connects a copy of the task's socket, to the file instead of the address unless -1. Returns 0 or an errno for the
 * region, or CONNECT_LATER. */
static int own_make(RegionNotify *n, OwnConnect *c, int file) {
        const struct seccomp_notif *q = n->req;
        int dumpable;
        long e;

        c->fd = region_notify_copy_fd((pid_t)q->pid, (int)q->data.args[0]);
        if (c->fd < 0)
                return c->fd == -EREMOTE ? ENOTSOCK : -c->fd;
        if (!region_notify_waits(n, q->id)) {
                region_notify_close(c->fd);
                return EINTR;
        }
        c->user = own_begin(n, &dumpable);
        e = timed_run_with(own_connect, c, sizeof(*c), c->fd, file, TIMED_USEC);
        own_end(dumpable);
        if (e == -EINPROGRESS && c->blocks)
                return region_connect_await(&n->connects, q->id, c->fd);
        region_notify_close(c->fd);
        return e == -ETIMEDOUT ? EAGAIN : (int)-e;
}

/* A socket that is none of the region's looks like one that nobody listens at. */
static int own_refuse(RegionNotify *n, const FilterVerdict *v, const char *text, bool *ret_denied) {
        char full[PATH_MAX];

        region_notify_answer(n, n->req->id, ECONNREFUSED, false);
        if (region_path_absolute((pid_t)n->req->pid, AT_FDCWD, text, full) == 0 &&
            !region_path_is_scratch(n->grant, n->tier, full))
                region_notify_deny(n, v, full, NULL, ret_denied);
        explicit_bzero(full, sizeof(full));
        return CONNECT_LATER; /* is answered */
}

/* Returns as own_make(). */
static int own_connect_path(RegionNotify *n, const FilterVerdict *v, const struct sockaddr_un *a, socklen_t n_a,
                            bool *ret_denied) {
        OwnConnect c = {};
        struct sockaddr_un *to = (void *)&c.address;
        char text[sizeof(a->sun_path) + 1] = "";
        _cleanup_close_ int file = -1;

        if (n_a > sizeof(*a))
                return EINVAL;
        memcpy(text, a->sun_path, n_a - PATH_AT);
        file = own_find(n, text);
        if (file < 0)
                return file == -ETIMEDOUT || file == -EXDEV ? EACCES : -file;
        if (!own_is(n, file))
                return own_refuse(n, v, text, ret_denied);
        to->sun_family = AF_UNIX;
        c.n = (socklen_t)(PATH_AT + 1) +
              (socklen_t)snprintf(to->sun_path, sizeof(to->sun_path), "/proc/self/fd/%d", file);
        return own_make(n, &c, file);
}

/* Returns as own_make(). */
static int own_connect_unix(RegionNotify *n, const FilterVerdict *v, OwnConnect *c, bool *ret_denied) {
        const struct sockaddr_un *a = (const void *)&c->address;

        if (c->n > PATH_AT && *a->sun_path)
                return own_connect_path(n, v, a, c->n, ret_denied);
        if (!n->filter.listed || c->n <= PATH_AT)
                return own_make(n, c, -1);
        region_notify_answer(n, n->req->id, ECONNREFUSED, false);
        region_notify_deny(n, v, OWN_ABSTRACT, OWN_WITH_LOOPBACK, ret_denied);
        return CONNECT_LATER;
}

bool region_own_connect(RegionNotify *n, const FilterVerdict *v, bool *ret_denied) {
        const struct seccomp_notif *q = n->req;
        OwnConnect c = {.n = (socklen_t)q->data.args[2]};
        int e;

        if (c.n > sizeof(c.address))
                e = EINVAL;
        else if (region_notify_read((pid_t)q->pid, q->data.args[1], &c.address, c.n) != (ssize_t)c.n)
                e = EFAULT;
        else if (c.n >= sizeof(sa_family_t) && c.address.ss_family == AF_UNIX)
                e = own_connect_unix(n, v, &c, ret_denied);
        else if (n->filter.network == NETWORK_CONNECT)
                return false;
        else
                e = own_make(n, &c, -1);
        if (e != CONNECT_LATER)
                region_notify_answer(n, q->id, e, false);
        return true;
}

typedef struct OwnListen {
        OwnUser user;
        int fd, backlog;
        bool internet; /* such sockets may listen */
        int domain;
        uint64_t cookie;
        struct stat st; /* of the socket itself */
} OwnListen;

__attribute__((no_sanitize("address", "undefined"))) static long own_do_listen(void *job) {
        OwnListen *l = job;
        struct sockaddr_un a;
        socklen_t n_domain = sizeof(l->domain), n_cookie = sizeof(l->cookie), n = sizeof(a);
        long e = timed_do(SYS_getsockopt, l->fd, SOL_SOCKET, SO_DOMAIN, &l->domain, &n_domain);

        if (e < 0)
                return e;
        if (l->domain != AF_UNIX && !l->internet)
                return -EACCES;
        if (l->domain == AF_UNIX) {
                e = timed_do(SYS_getsockname, l->fd, &a, &n);
                if (e == 0 && n <= PATH_AT) /* a name after this look must not be an abstract one */
                        e = -EINVAL;
                if (e == 0 && !*a.sun_path)
                        e = -EACCES;
                e = e ?: timed_do(SYS_getsockopt, l->fd, SOL_SOCKET, SO_COOKIE, &l->cookie, &n_cookie);
                e = e ?: timed_do(SYS_fstat, l->fd, &l->st);
                e = e ?: own_become(&l->user);
        }
        return e ?: timed_do(SYS_listen, l->fd, l->backlog);
}

void region_own_listen(RegionNotify *n, const FilterVerdict *v, bool *ret_denied) {
        const struct seccomp_notif *q = n->req;
        OwnListen l = {.fd = region_notify_copy_fd((pid_t)q->pid, (int)q->data.args[0]), .backlog = (int)q->data.args[1],
                       .internet = n->filter.network == NETWORK_HOST};
        int dumpable;
        long e;

        if (l.fd < 0)
                e = l.fd == -EREMOTE ? -ENOTSOCK : l.fd;
        else if (!region_notify_waits(n, q->id))
                e = -EINTR;
        else if (!region_budget_may_list(n->budget))
                e = -ENOBUFS;
        else {
                l.user = own_begin(n, &dumpable);
                e = timed_run(own_do_listen, &l, sizeof(l), l.fd, TIMED_USEC);
                own_end(dumpable);
        }
        if (e == 0 && l.domain == AF_UNIX)
                region_budget_list(n->budget, (uint32_t)l.st.st_ino, l.cookie);
        if (l.fd >= 0)
                region_notify_close(l.fd);
        region_notify_answer(n, q->id, e == -ETIMEDOUT ? EAGAIN : (int)-e, false);
        if (e == -EACCES)
                region_notify_deny(n, v, l.domain == AF_UNIX ? OWN_ABSTRACT : "an address of the host's",
                                   l.domain == AF_UNIX ? OWN_WITH_LOOPBACK : v->allow_with, ret_denied);
}
