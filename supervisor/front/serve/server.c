/* Runs: lethe-serve. Its life: sockets, accepting, policy, recovery, the end. */
#include "serve/serve.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/owner.h"
#include "request/paths.h"
#include "recover/recover.h"
#include "engine/fold.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#define BACKLOG 512
#define ACCEPT_AT_ONCE 16
#define OWN_CLIENTS 16           /* connections beyond the most, of the daemon's own user and root */
#define ACCEPT_AGAIN_USEC 100000 /* after the system had no descriptor for us */
#define LOOK_AFTER_USEC 10000000 /* how often dead supervisors of the same store are looked for */
#define LAST_USEC 15000000       /* for what was cancelled to be torn down */
#define DELIVER_USEC 2000000     /* for the last answers to be taken */
#define PLACE_SAY_USEC 1000000   /* of a wait for another daemon that starts: then it is told of */
#define PLACE_LOOK_MSEC 10

/* Room for one more: the peer with the most connections gives one up on which nothing is asked, unless it is the one
 * who comes. */
static bool server_make_room(Server *s, const struct ucred *cred) {
        Client *oldest = NULL;
        Peer *most = NULL;

        if (s->n_clients < s->options.max_clients)
                return true;
        for (Peer *p = s->peers; p; p = p->next)
                if (!most || p->n_clients > most->n_clients)
                        most = p;
        if (!most || peer_is(most, cred))
                return false;
        for (Client *c = s->clients; c; c = c->next)
                if (c->peer == most && c->n_jobs == 0 && (!oldest || c->last_usec < oldest->last_usec))
                        oldest = c;
        if (oldest)
                client_free(oldest);
        /* Others than its own may ask on all of theirs, and must not keep those from it who could end them. */
        return oldest ||
               (most->foreign && !peer_is_foreign(cred) && s->n_clients < s->options.max_clients + OWN_CLIENTS);
}

static void server_refuse(Server *s, int fd, bool foreign, int code, const char *why) {
        char line[512];
        int n = snprintf(
                line, sizeof(line),
                "{\"error\":{\"code\":%d,\"data\":{\"code\":\"%s\"},\"message\":\"%s\"},\"id\":null,\"jsonrpc\":\"2.0\"}\n",
                -code, serve_error_word(code), why);

        if (send(fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                log_debug("a client was refused and did not hear of it: %s", strerror(errno));
        if (foreign)
                discard_connection(s, fd);
        else
                close(fd);
}

static void server_admit(Server *s, int fd) {
        struct ucred cred;
        socklen_t n = sizeof(cred);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0 || !peer_is_known(&cred))
                server_refuse(s, fd, true, SERVE_E_NOT_ALLOWED, "who asks cannot be told");
        else if (peer_is_foreign(&cred) && !policy_client(s->policy->policy, cred.uid, NULL))
                server_refuse(s, fd, true, SERVE_E_NOT_ALLOWED,
                              "this daemon serves its own user and root, and whom its policy names");
        else if (peer_is_foreign(&cred) && s->discard_is_full)
                server_refuse(
                        s, fd, true, SERVE_E_BUSY,
                        "connections of other users cannot be closed any more: only the daemon's own user and root are served");
        else if (!server_make_room(s, &cred))
                server_refuse(s, fd, peer_is_foreign(&cred), SERVE_E_BUSY, "too many connections");
        else if (client_new(s, fd, &cred) < 0)
                log_warning("a client cannot be served: %s", strerror(ENOMEM));
}

static int on_accept_again(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;

        s->accept_again = sd_event_source_disable_unref(s->accept_again);
        if (s->listening)
                sd_event_source_set_enabled(s->listening, SD_EVENT_ON);
        if (s->own_listening)
                sd_event_source_set_enabled(s->own_listening, SD_EVENT_ON);
        return 0;
}

static int on_connect(sd_event_source *source, int listener, uint32_t revents, void *userdata) {
        Server *s = userdata;

        for (unsigned i = 0; i < ACCEPT_AT_ONCE; i++) {
                int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (fd >= 0) {
                        server_admit(s, fd);
                        continue;
                }
                if (errno == EAGAIN)
                        break;
                if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS)
                        continue; /* one that came and went */
                /* It would be ready at once again. */
                sd_event_source_set_enabled(source, SD_EVENT_OFF);
                if (!s->accept_again)
                        sd_event_add_time_relative(s->event, &s->accept_again, CLOCK_MONOTONIC, ACCEPT_AGAIN_USEC, 0,
                                                   on_accept_again, s);
                break;
        }
        return 0;
}

/* Bound beside its name, and renamed over it: the name always leads to somebody who listens. */
static int bind_at(const char *path, Diag *reterr) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        mode_t was;
        int e;

        if (fd < 0)
                return -errno;
        if (snprintf(a.sun_path, sizeof(a.sun_path), "%s.%d", path, (int)getpid()) >= (int)sizeof(a.sun_path))
                return diag(reterr, -ENAMETOOLONG, "socket %s: its name is too long: at most %zu bytes", path,
                            sizeof(a.sun_path) - 12);
        unlink(a.sun_path);
        was = umask(0077);
        e = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, BACKLOG) < 0 ? -errno : 0;
        umask(was);
        if (e == 0 && rename(a.sun_path, path) < 0) {
                e = -errno;
                unlink(a.sun_path);
        }
        return e < 0 ? diag(reterr, e, "socket %s: %s", path, strerror(-e)) : TAKE_FD(fd);
}

static int server_make_folder(const char *path, Diag *reterr) {
        _cleanup_free_ char *folder = strdup(path);
        char *slash = folder ? strrchr(folder, '/') : NULL;
        int e;

        if (!folder)
                return -ENOMEM;
        if (!slash || slash == folder)
                return 0;
        *slash = 0;
        e = io_mkdir_parents(folder, 0711);
        return e < 0 ? diag(reterr, e, "folder %s: %s", folder, strerror(-e)) : 0;
}

/* Another daemon that starts has the lock for a moment, or for as long as somebody stops it there. Its number is in the
 * file. Our signals are blocked. */
static int wait_for_place(int lock, const char *path) {
        const uint64_t began = clock_mono_usec();
        char number[12];
        bool said = false;
        sigset_t set;

        while (flock(lock, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return -errno;
                if (sigpending(&set) == 0 && (sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1))
                        return -EINTR;
                if (!said && clock_mono_usec() - began > PLACE_SAY_USEC) {
                        ssize_t n = pread(lock, number, sizeof(number) - 1, 0);

                        number[n > 0 ? n : 0] = 0;
                        log_warning("%s: waiting for %s%.*s, which is about to serve there", path,
                                    atoi(number) > 0 ? "process " : "another process",
                                    (int)strspn(number, "0123456789"), number);
                        said = true;
                }
                poll(NULL, 0, PLACE_LOOK_MSEC);
        }
        snprintf(number, sizeof(number), "%d\n", (int)getpid());
        if (pwrite(lock, number, strlen(number), 0) < 0)
                log_debug("%s: %s", path, strerror(errno));
        return 0;
}

/* One at a time looks and takes the place. */
static int take_place(const char *path, int *ret, Diag *reterr) {
        _cleanup_free_ char *lock_path = NULL;
        _cleanup_close_ int lock = -1, other = -1;
        int fd, e;

        if (asprintf(&lock_path, "%s.lock", path) < 0) {
                lock_path = NULL;
                return -ENOMEM;
        }
        lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        e = lock < 0 ? -errno : wait_for_place(lock, lock_path);
        if (e < 0)
                return diag(reterr, e, "%s: %s", lock_path, strerror(-e));
        other = path_connect(path);
        if (other == -ETIMEDOUT)
                return diag(
                        reterr, -EADDRINUSE,
                        "socket %s: a process listens there and answers nobody; end it, or name another place with --socket",
                        path);
        if (other >= 0)
                return diag(reterr, -EADDRINUSE,
                            "socket %s: a daemon answers there already (--replace takes its place)", path);
        fd = bind_at(path, reterr);
        if (fd < 0)
                return fd;
        *ret = fd;
        return 0;
}

/* The socket of the daemon that answers there, which ends then. Returns 0, -ENOENT or -ECONNREFUSED when none does,
 * -errno. */
static int take_over(const char *path, int *ret, Diag *reterr) {
        static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"takeover\"}\n";
        char line[4096];
        _cleanup_close_ int other = path_ask(path), fd = -1;
        ssize_t n;

        if (other == -EPERM)
                return diag(reterr, other, "socket %s: another user listens there, whose place root does not take",
                            path);
        if (other < 0)
                return other;
        if (io_write_full(other, request, sizeof(request) - 1) < 0 ||
            (n = io_receive_fd(other, -1, line, sizeof(line) - 1, &fd)) <= 0)
                return diag(reterr, -EPROTO, "socket %s: the daemon there does not answer", path);
        line[n] = 0;
        if (fd < 0 || sd_is_socket(fd, AF_UNIX, SOCK_STREAM, 1) <= 0)
                return diag(reterr, -EPROTO, "socket %s: the daemon there does not give its place: %.300s", path, line);
        *ret = TAKE_FD(fd);
        return 0;
}

int server_hand_over(Server *s, Client *c, json_t *answer) {
        _cleanup_json_ json_t *owned = answer;
        char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
        _cleanup_free_ char *line = NULL;
        int n = text ? asprintf(&line, "%s\n", text) : -1, e;

        free(text);
        if (n < 0) {
                line = NULL;
                return -ENOMEM;
        }
        e = io_send_fds(c->fd, line, (size_t)n, &s->listener, 1);
        if (e < 0)
                return e;
        free(TAKE_PTR(s->socket_path)); /* the name is the other's now */
        server_stop(s, "another daemon takes its place");
        return 0;
}

static int listen_given(Server *s, Diag *reterr) {
        int n = sd_listen_fds(true);

        if (n < 0)
                return diag(reterr, n, "LISTEN_FDS: %s", strerror(-n));
        if (n == 0)
                return 0;
        if (n > 1)
                return diag(reterr, -EINVAL, "LISTEN_FDS: %d sockets were passed, and one is served", n);
        if (sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX, SOCK_STREAM, 1) <= 0)
                return diag(reterr, -EINVAL, "LISTEN_FDS: what was passed is no Unix stream socket that listens");
        s->listener = SD_LISTEN_FDS_START;
        return io_set_nonblock(s->listener);
}

/* Whoever can change the folder could make the name that of another file, whose mode would be set with our rights, or
 * another process's socket (I-82). */
static int check_folder(const char *path, Diag *reterr) {
        _cleanup_free_ char *folder = strdup(path);
        char *slash = folder ? strrchr(folder, '/') : NULL, said[sizeof(reterr->text)];
        int e;

        if (!folder)
                return -ENOMEM;
        if (!slash)
                strcpy(folder, ".");
        else
                slash[slash == folder] = 0;
        e = owner_check(folder, geteuid(), reterr);
        if (e != OWNER_E_OTHER)
                return e;
        snprintf(said, sizeof(said), "%s", reterr->text);
        return diag(reterr, -EPERM, "socket %.300s: %.700s", path, said);
}

/* Who is served is told by the kernel, whoever can connect: but without need nobody else can. */
int server_set_mode(const Server *s, const Policy *p, Diag *reterr) {
        const mode_t mode = p->n_clients > 0 && !s->discard_is_full ? 0666 : 0600;
        struct sockaddr_un a = {};
        socklen_t n = sizeof(a) - 1;
        Diag d = {};
        int e;

        /* A socket that was passed (lethe.socket) is where its name says. Its unit set its mode where we may not change
         * that. */
        if (!s->socket_path) {
                if (s->listener < 0 || getsockname(s->listener, (struct sockaddr *)&a, &n) < 0 || a.sun_path[0] != '/')
                        return 0;
                if (check_folder(a.sun_path, &d) != 0 || chmod(a.sun_path, mode) < 0)
                        log_warning("socket %s: its mode cannot be set: %s", a.sun_path,
                                    *d.text ? d.text : strerror(errno));
                return 0;
        }
        e = check_folder(s->socket_path, reterr);
        if (e != 0)
                return e;
        if (chmod(s->socket_path, mode) == 0)
                return 0;
        return diag(reterr, -errno, "socket %s: its mode cannot be set: %s", s->socket_path, strerror(errno));
}

int server_listen(Server *s, Diag *reterr) {
        char path[STORE_SOCKET_MAX];
        int e;

        e = listen_given(s, reterr);
        if (e == 0 && s->listener < 0)
                e = check_folder(s->options.socket, reterr);
        if (e == 0 && s->listener < 0 && s->options.replace) {
                e = take_over(s->options.socket, &s->listener, reterr);
                if (e == 0 && !(s->socket_path = strdup(s->options.socket)))
                        e = -ENOMEM;
                if (e == -ENOENT || e == -ECONNREFUSED)
                        e = 0;
        }
        if (e == 0 && s->listener < 0) {
                e = server_make_folder(s->options.socket, reterr);
                if (e == 0)
                        e = take_place(s->options.socket, &s->listener, reterr);
                if (e == 0 && !(s->socket_path = strdup(s->options.socket)))
                        e = -ENOMEM;
        }
        if (e == 0)
                e = server_set_mode(s, s->policy->policy, reterr);
        if (e < 0)
                return e;
        /* By the number of its place in the store, so that who looks for a region's supervisor finds it, whatever
         * became of the other name. */
        store_sweep_sockets(s->store);
        store_place_socket(s->store, store_own_lock(s->store), path);
        s->own_listener = bind_at(path, reterr);
        if (s->own_listener < 0)
                return s->own_listener;
        s->own_path = strdup(path);
        if (!s->own_path)
                return -ENOMEM;
        e = sd_event_add_io(s->event, &s->listening, s->listener, EPOLLIN, on_connect, s);
        if (e >= 0)
                e = sd_event_add_io(s->event, &s->own_listening, s->own_listener, EPOLLIN, on_connect, s);
        return e < 0 ? e : 0;
}

/* Somebody else had the store open when we began, and an index of an older Lethe's form stayed what it was. */
static void server_renew(Server *s) {
        Diag d = {};
        int e = s->old_index ? engine_index_renew(s->store, &d) : STORE_E_LOCKED;

        if (e == 0)
                log_note("the index of %s is made anew", s->store_path);
        else if (e != STORE_E_LOCKED) /* it is tried again all the same */
                log_warning("the index cannot be made anew: %s", *d.text ? d.text : store_strerror(e));
        s->old_index = s->old_index && e != 0;
}

static void *server_recover(void *arg) {
        Server *s = arg;
        Diag d = {};
        unsigned n = 0;
        int e;

        /* A release callback of what is left runs in a thread that lives as long as it does. */
        e = recover_all(s->store, NULL, s->spawner, &n, &d);
        if (n > 0)
                log_note("%u region%s of a supervisor that died %s recovered", n, n == 1 ? "" : "s",
                         n == 1 ? "was" : "were");
        if (e != 0)
                log_warning("what a dead supervisor left is not recovered yet: %s",
                            *d.text ? d.text : store_strerror(e));
        server_renew(s);
        if (s->groups)
                cgroup_pool_trim(s->groups, clock_mono_usec() - MIN(LOOK_AFTER_USEC, clock_mono_usec()));
        atomic_store(&s->recovered, true);
        return NULL;
}

static int on_look_after(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;

        if (s->recovering && atomic_load(&s->recovered)) {
                pthread_join(s->recoverer, NULL);
                s->recovering = false;
        }
        server_check(s);
        if (!s->recovering && !s->stopping) {
                atomic_store(&s->recovered, false);
                s->recovering = pthread_create(&s->recoverer, NULL, server_recover, s) == 0;
        }
        sd_event_source_set_time_relative(source, LOOK_AFTER_USEC);
        sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

static int on_last(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;

        if (s->n_threads > 0)
                log_error(
                        "%zu invocations cannot be ended: their regions end with this process, and the next start records that",
                        s->n_threads);
        return sd_event_exit(s->event, s->n_threads > 0);
}

void server_check(Server *s) {
        if (s->stopping || spawner_works(s->spawner))
                return;
        log_error("a zygote has died: a process that has confined itself cannot make another one");
        s->failed = true;
        server_stop(s, "no more regions can be started");
}

static void server_after(Server *s, uint64_t usec, sd_event_time_handler_t fn) {
        s->drain = sd_event_source_disable_unref(s->drain);
        if (sd_event_add_time_relative(s->event, &s->drain, CLOCK_MONOTONIC, usec, 0, fn, s) < 0)
                sd_event_exit(s->event, 1);
}

static int on_drained(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;

        s->hurry = true;
        log_note("%u invocations are cancelled", s->n_running + s->n_queued);
        jobs_cancel_all(s, SIGTERM);
        server_after(s, LAST_USEC, on_last);
        server_may_end(s);
        return 0;
}

/* Connections that nobody accepted would be closed with the listener, with whatever they hold. */
static void refuse_waiting(Server *s, int listener) {
        int fd;

        shutdown(listener, SHUT_RD);
        while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
                server_refuse(s, fd, true, SERVE_E_STOPPING, "lethe serve ends and takes nothing new");
}

static void unlisten(Server *s) {
        s->listening = sd_event_source_disable_unref(s->listening);
        if (s->socket_path && s->listener >= 0) /* else another process has it, too */
                refuse_waiting(s, s->listener);
        closep(&s->listener);
        if (s->socket_path)
                unlink(s->socket_path);
        free(TAKE_PTR(s->socket_path));
}

void server_stop(Server *s, const char *why) {
        if (s->stopping) {
                if (!s->hurry && s->n_running + s->n_queued > 0)
                        on_drained(NULL, 0, s);
                return;
        }
        s->stopping = true;
        log_note("ends: %s; %u run, %u wait", why, s->n_running, s->n_queued);
        sd_notify(false, "STOPPING=1");
        unlisten(s);
        server_after(s, s->options.drain_usec, on_drained);
        server_may_end(s);
}

static bool all_told(const Server *s) {
        if (s->unread)
                return false;
        for (const Client *c = s->clients; c; c = c->next)
                if (c->out.bytes.n > c->out.sent)
                        return false;
        return true;
}

void server_may_end(Server *s) {
        if (!s->stopping || s->n_threads > 0 || s->n_queued > 0)
                return;
        if (all_told(s))
                sd_event_exit(s->event, 0);
        else if (!s->delivering) {
                s->delivering = true;
                server_after(s, DELIVER_USEC, on_last);
        }
}

int server_look_after(Server *s) {
        return sd_event_add_time_relative(s->event, &s->look_after, CLOCK_MONOTONIC, LOOK_AFTER_USEC, 0, on_look_after,
                                          s);
}

void server_close(Server *s) {
        while (s->clients)
                client_free(s->clients);
        unlisten(s);
        s->own_listening = sd_event_source_disable_unref(s->own_listening);
        closep(&s->own_listener);
        s->mounting = sd_event_source_disable_unref(s->mounting);
        closep(&s->mounts);
        if (s->own_path)
                unlink(s->own_path);
        if (s->recovering)
                pthread_join(s->recoverer, NULL);
        session_state_deinit(&s->working);
}
