/* Runs: lethe-serve. The life of the daemon: accepting, recovery, the end. */
#include "serve/serve.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mounts.h"
#include "recover/recover.h"
#include "engine/fold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-daemon.h>

#define ACCEPT_AT_ONCE 16
#define OWN_CLIENTS 16           /* connections beyond the most, of the daemon's own user and root */
#define ACCEPT_AGAIN_USEC 100000 /* after the system had no free descriptor */
#define PRIVATE_FD 3 /* of --private: its first connection */
#define LOOK_AFTER_USEC 10000000 /* how often dead supervisors of the same store are looked for */
#define LAST_USEC 15000000       /* for the teardown of cancelled jobs */
#define DELIVER_USEC 2000000     /* for the last answers to be taken */

/* Makes room for a client: the peer with the most connections, if not the newcomer's, loses an idle connection. */
static bool server_make_room(Server *s, const struct ucred *cred) {
        Client *oldest = NULL, *c;
        Peer *most = NULL, *p;

        if (s->n_clients < s->options.max_clients)
                return true;
        LIST_FOREACH(p, &s->peers, all)
                if (!most || p->n_clients > most->n_clients)
                        most = p;
        if (!most || peer_is(most, cred))
                return false;
        LIST_FOREACH(c, &s->clients, all)
                if (c->peer == most && c->n_jobs == 0 && (!oldest || c->last_usec < oldest->last_usec))
                        oldest = c;
        if (oldest)
                client_free(oldest);
        /* Other users may fill their places, but must not lock out the daemon's own user or root, who can end such
         * clients. */
        return oldest ||
               (most->foreign && !peer_is_foreign(cred) && s->n_clients < s->options.max_clients + OWN_CLIENTS);
}

static void server_refuse(Server *s, int fd, bool foreign, int code, const char *why) {
        char line[512];
        int n = snprintf(
                line, sizeof(line),
                "{\"error\":{\"code\":%d,\"data\":{\"code\":\"%s\"},\"message\":\"%s\"},\"id\":null,\"jsonrpc\":\"2.0\"}\n",
                -code, client_error_word(code), why);

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
                server_refuse(s, fd, true, SERVE_E_NOT_ALLOWED, "the kernel does not name your user");
        else if (peer_is_foreign(&cred) && !policy_client(s->policy->policy, cred.uid, NULL))
                server_refuse(s, fd, true, SERVE_E_NOT_ALLOWED,
                              "this daemon serves its own user and root, and users named by its policy");
        else if (peer_is_foreign(&cred) && s->discard_is_full)
                server_refuse(s, fd, true, SERVE_E_BUSY,
                              "connections of other users cannot be closed any more: only the daemon's own user and "
                              "root are served");
        else if (!server_make_room(s, &cred))
                server_refuse(s, fd, peer_is_foreign(&cred), SERVE_E_BUSY, "too many connections");
        else if (client_new(s, fd, &cred) < 0)
                log_warning("a client cannot be served: %s", strerror(ENOMEM));
}

/* The first connection of a private daemon: of the `lethe session` that made the daemon. */
static void server_admit_first(Server *s) {
        if (fcntl(PRIVATE_FD, F_SETFD, FD_CLOEXEC) == 0 && io_set_nonblock(PRIVATE_FD) == 0)
                server_admit(s, PRIVATE_FD);
}

static int server_on_accept_again(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;

        s->accept_again = sd_event_source_disable_unref(s->accept_again);
        if (s->listening)
                sd_event_source_set_enabled(s->listening, SD_EVENT_ON);
        if (s->own_listening)
                sd_event_source_set_enabled(s->own_listening, SD_EVENT_ON);
        return 0;
}

static int server_on_connect(sd_event_source *source, int listener, uint32_t revents, void *userdata) {
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
                        continue; /* the client came and went */
                /* Without a pause the event would fire again at once. */
                sd_event_source_set_enabled(source, SD_EVENT_OFF);
                if (!s->accept_again)
                        sd_event_add_time_relative(s->event, &s->accept_again, CLOCK_MONOTONIC, ACCEPT_AGAIN_USEC, 0,
                                                   server_on_accept_again, s);
                break;
        }
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
        free(TAKE_PTR(s->socket_path)); /* the name now belongs to the other daemon */
        server_stop(s, "another daemon takes its place");
        return 0;
}

int server_listen(Server *s, Diag *reterr) {
        int e = listen_open(s, reterr);

        if (e < 0)
                return e;
        if (s->listener >= 0)
                e = sd_event_add_io(s->event, &s->listening, s->listener, EPOLLIN, server_on_connect, s);
        if (e >= 0 && s->options.private_)
                server_admit_first(s);
        if (e >= 0)
                e = sd_event_add_io(s->event, &s->own_listening, s->own_listener, EPOLLIN, server_on_connect, s);
        return e < 0 ? e : 0;
}

/* Another process had the store open at the start, so an index of an older format stayed unchanged. */
static void server_renew(Server *s) {
        Diag d = {};
        int e = s->old_index ? engine_index_renew(s->store, &d) : STORE_E_LOCKED;

        if (e == 0)
                log_note("the index of %s is made anew", s->store_path);
        else if (e != STORE_E_LOCKED) /* tried again in spite of the error */
                log_warning("the index cannot be made anew: %s", *d.text ? d.text : store_strerror(e));
        s->old_index = s->old_index && e != 0;
}

static void *server_recover(void *arg) {
        Server *s = arg;
        Diag d = {};
        int e;

        /* Release callbacks of recovered regions are started by this thread, which lives until the callbacks end. */
        e = recover_all(s->store, NULL, s->spawner, false, &d);
        if (e != 0)
                log_warning("regions of a dead supervisor are not recovered yet: %s",
                            *d.text ? d.text : store_strerror(e));
        if (e == 0)
                objects_recover(s);
        server_renew(s);
        if (s->groups)
                cgroup_pool_trim(s->groups, clock_mono_usec() - MIN(LOOK_AFTER_USEC, clock_mono_usec()));
        atomic_store(&s->recovered, true);
        return NULL;
}

static int server_on_look_after(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;

        if (s->recovering && atomic_load(&s->recovered)) {
                pthread_join(s->recoverer, NULL);
                s->recovering = false;
        }
        server_check(s);
        server_may_end(s);
        /* nobody can ask for the sessions of a deleted store */
        if (s->options.private_ && !s->stopping && access(s->options.store, F_OK) < 0 && errno == ENOENT)
                server_stop(s, "its store is gone");
        if (!s->recovering && !s->stopping) {
                atomic_store(&s->recovered, false);
                s->recovering = pthread_create(&s->recoverer, NULL, server_recover, s) == 0;
        }
        sd_event_source_set_time_relative(source, LOOK_AFTER_USEC);
        sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

static int server_on_last(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;

        if (s->n_threads > 0)
                log_error("%zu invocations cannot be ended: their regions end with this process, and the next start "
                          "records that", s->n_threads);
        return sd_event_exit(s->event, s->n_threads > 0);
}

void server_check(Server *s) {
        if (s->stopping || spawner_works(s->spawner))
                return;
        log_error("a zygote and the spare zygote have died: a confined process cannot make further zygotes");
        s->failed = true;
        server_stop(s, "no more regions can be started");
}

static void server_after(Server *s, uint64_t usec, sd_event_time_handler_t fn) {
        s->drain = sd_event_source_disable_unref(s->drain);
        if (sd_event_add_time_relative(s->event, &s->drain, CLOCK_MONOTONIC, usec, 0, fn, s) < 0)
                sd_event_exit(s->event, 1);
}

static int server_on_drained(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;

        s->hurry = true;
        log_note("%u invocations are cancelled", s->n_running + s->n_queued);
        jobs_cancel_all(s, SIGTERM);
        server_after(s, LAST_USEC, server_on_last);
        server_may_end(s);
        return 0;
}

/* Unaccepted connections would be closed with the listener, with all that they hold. */
static void server_refuse_waiting(Server *s, int listener) {
        int fd;

        shutdown(listener, SHUT_RD);
        while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
                server_refuse(s, fd, true, SERVE_E_STOPPING, "lethe serve ends and takes no new requests");
}

static void server_unlisten(Server *s) {
        s->listening = sd_event_source_disable_unref(s->listening);
        if (s->socket_path && s->listener >= 0) /* otherwise another process has the socket, too */
                server_refuse_waiting(s, s->listener);
        closep(&s->listener);
        if (s->socket_path)
                unlink(s->socket_path);
        free(TAKE_PTR(s->socket_path));
}

void server_stop(Server *s, const char *why) {
        if (s->stopping) {
                if (!s->hurry && s->n_running + s->n_queued > 0)
                        server_on_drained(NULL, 0, s);
                return;
        }
        s->stopping = true;
        objects_stop(s);
        schedule_stop(s);
        log_note("ends: %s; %u run, %u wait", why, s->n_running, s->n_queued);
        sd_notify(false, "STOPPING=1");
        server_unlisten(s);
        server_after(s, s->options.drain_usec, server_on_drained);
        server_may_end(s);
}

static bool server_all_told(const Server *s) {
        const Client *c;

        if (!LIST_EMPTY(&s->unread))
                return false;
        LIST_FOREACH(c, &s->clients, all)
                if (c->out.bytes.n > c->out.sent)
                        return false;
        return true;
}

/* A private daemon serves until its last client has gone, and the last session has ended. */
static void server_end_private(Server *s) {
        if (s->options.private_ && !s->stopping && s->started_usec > 0 && s->n_clients == 0 && s->n_threads == 0 &&
            s->n_queued == 0 && server_all_told(s) && session_count(s) == 0)
                server_stop(s, "its last client has gone, and the last session has ended");
}

void server_may_end(Server *s) {
        server_end_private(s);
        if (!s->stopping || s->n_threads > 0 || s->n_queued > 0 || objects_running(s) > 0)
                return;
        if (server_all_told(s))
                sd_event_exit(s->event, 0);
        else if (!s->delivering) {
                s->delivering = true;
                server_after(s, DELIVER_USEC, server_on_last);
        }
}

int server_look_after(Server *s) {
        return sd_event_add_time_relative(s->event, &s->look_after, CLOCK_MONOTONIC, LOOK_AFTER_USEC, 0,
                                          server_on_look_after, s);
}

/* Prepared regions, templates and warm interpreters show the host's mounts of the time when they were made; the mark of
 * each names the set of mounts (base/mounts.h). The kernel reports each change of this namespace's mounts
 * (proc_pid_mountinfo(5): POLLPRI), so that the list is not read for each request. */
static int server_on_mounts(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        mounts_changed();
        return 0;
}

int server_watch_mounts(Server *s, Diag *reterr) {
        int e;

        s->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        if (s->mounts < 0)
                return diag(reterr, -errno, "/proc/self/mountinfo: %s", strerror(errno));
        e = sd_event_add_io(s->event, &s->mounting, s->mounts, EPOLLPRI, server_on_mounts, s);
        mounts_changed();
        /* Before any request of the same turn of the loop. */
        return e < 0 ? e : sd_event_source_set_priority(s->mounting, SD_EVENT_PRIORITY_IMPORTANT);
}

void server_close(Server *s) {
        while (!LIST_EMPTY(&s->clients))
                client_free(LIST_FIRST(&s->clients));
        server_unlisten(s);
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
