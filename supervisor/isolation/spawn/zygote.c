#include "spawn/zygote.h"

#include "base/child-registry.h"
#include "base/io.h"
#include "base/proc.h"
#include "schema/zygote.h"
#include "spawn/clone.h"
#include "spawn/find.h"
#include "spawn/spawn.h"
#include "spawn/uids.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ANSWER_MS 10000 /* a fork takes a tenth of a millisecond */
#define END_MS 1000

void zygote_init(Zygote *n) {
        *n = (Zygote){.control = -1, .lifeline = -1};
        pthread_mutex_init(&n->lock, NULL);
}

static void zygote_began(Zygote *n, pid_t pid, int control) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&n->lock);

        n->pid = pid;
        n->control = control;
}

int zygote_start(Zygote *n, const char *name, Diag *reterr) {
        _cleanup_close_ int exe = -1, theirs = -1, ours = -1;
        CloneExec c = {.name = name, .arg = ZYGOTE_ARG, .n_fds = ZYGOTE_FDS};
        int pair[2], fds[ZYGOTE_FDS], pidfd, e = find_needed(name, SPAWN_E_WORKER, &exe, reterr);
        pid_t pid;

        if (e != 0)
                return e;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        fds[ZYGOTE_SOCKET] = theirs;
        fds[ZYGOTE_PROGRAM] = exe;
        c.exec_fd = exe;
        c.fds = fds;
        pid = clone_exec(&c, 0, &pidfd);
        if (pid < 0)
                return diag(reterr, SPAWN_E_KERNEL, "%s as a zygote: %s: %s", name, c.what, strerror(-pid));
        close(pidfd);
        zygote_began(n, pid, TAKE_FD(ours));
        return 0;
}

static bool zygote_order(int fd, uint64_t flags, const int *fds, size_t n_fds) {
        const ZygoteOrder o = {.version = ZYGOTE_VERSION, .n_fds = (uint32_t)n_fds, .flags = (uint32_t)flags,
                                .owner = (uint32_t)(flags >> 32)};

        return io_send_fds(fd, &o, sizeof(o), fds, n_fds) == 0;
}

/* False: no answer, or an invalid answer. */
static bool zygote_answer(int fd, ZygoteAnswer *ret, int *ret_pidfd) {
        ssize_t n = io_receive_fd(fd, ANSWER_MS, ret, sizeof(*ret), ret_pidfd);

        if (n == (ssize_t)sizeof(*ret) && ret->version == ZYGOTE_VERSION && (ret->error > 0) == (*ret_pidfd < 0) &&
            (ret->error > 0 || ret->pid > 1))
                return true;
        closep(ret_pidfd);
        return false;
}

static void zygote_kill_and_reap(pid_t pid) {
        kill(pid, SIGKILL);
        child_registry_reap(pid);
}

int zygote_child(Zygote *n, uint64_t flags, const int *fds, size_t n_fds, pid_t *ret_pid, int *ret_pidfd) {
        ZygoteAnswer a;
        bool answered, noted;
        int pidfd = -1;
        pid_t pid;

        if (n_fds == 0 || n_fds > ZYGOTE_FDS_MAX)
                return -E2BIG;
        child_registry_begin();
        pthread_mutex_lock(&n->lock);
        answered = n->control >= 0 && zygote_order(n->control, flags, fds, n_fds) &&
                   zygote_answer(n->control, &a, &pidfd);
        if (!answered && n->control >= 0) {
                /* A process of the lost answer waits for a lifeline without an owner. */
                kill(n->pid, SIGKILL);
                closep(&n->control);
        }
        pthread_mutex_unlock(&n->lock);
        pid = !answered || a.error > 0 ? 0 : n->first > 0 ? pidfd_pid(pidfd) : a.pid;
        noted = pid == 0 || (pid > 0 && child_registry_note(pid));
        child_registry_done();
        if (!answered)
                return ZYGOTE_E_GONE;
        if (a.error > 0)
                return -a.error;
        if (!noted) {
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
                while (waitid(P_PIDFD, (id_t)pidfd, &(siginfo_t){0}, WEXITED) < 0 && errno == EINTR)
                        ;
                close(pidfd);
                return pid < 0 ? pid : -ENOMEM;
        }
        *ret_pid = pid;
        *ret_pidfd = pidfd;
        return 0;
}

int zygote_start_again(Zygote *n, Zygote *ret) {
        _cleanup_close_ int theirs = -1, ours = -1;
        int pair[2], pidfd, e;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        e = zygote_child(n, ZYGOTE_AGAIN, &theirs, 1, &pid, &pidfd);
        if (e != 0)
                return e;
        close(pidfd);
        zygote_began(ret, pid, TAKE_FD(ours));
        return 0;
}

void zygote_move(Zygote *to, Zygote *from) {
        pthread_mutex_lock(&from->lock);
        pthread_mutex_lock(&to->lock);
        to->pid = from->pid;
        to->control = TAKE_FD(from->control);
        from->pid = 0;
        pthread_mutex_unlock(&to->lock);
        pthread_mutex_unlock(&from->lock);
}

bool zygote_look(Zygote *n) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&n->lock);
        struct pollfd p = {.fd = n->control};

        if (n->control >= 0 && poll(&p, 1, 0) > 0)
                closep(&n->control);
        return n->control >= 0;
}

static void zygote_reap_stray(pid_t pid, void *arg) {
        (void)arg;
        if (!child_registry_is(pid))
                zygote_kill_and_reap(pid);
}

void zygote_reap_strays(void) {
        child_registry_hold(); /* a process in the making is noted before the search */
        clone_each_child(gettid(), zygote_reap_stray, NULL);
        child_registry_done();
}

bool zygote_is_there(Zygote *n) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&n->lock);

        return n->control >= 0;
}

int zygote_socket(Zygote *n) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&n->lock);

        return n->control;
}

void zygote_end(Zygote *n) {
        pthread_mutex_lock(&n->lock);
        closep(&n->control);
        pthread_mutex_unlock(&n->lock);
        if (n->pid > 0) {
                if (!clone_reap(n->pid, END_MS))
                        zygote_kill_and_reap(n->pid);
                child_registry_forget(n->pid);
                n->pid = 0;
        }
        closep(&n->lifeline);
        uids_give(n->uid);
        n->uid = 0;
        if (n->first > 0) {
                /* The first process ends after the reap of its namespace, where callers reap regions. */
                kill(n->first, SIGKILL);
                if (clone_reap(n->first, END_MS))
                        child_registry_forget(n->first);
                else
                        child_registry_reap_later(n->first);
                n->first = 0;
        }
        if (n->groups)
                n->groups->leave(n->groups->userdata, n->group);
        n->groups = NULL;
}
