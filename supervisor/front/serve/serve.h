/* Runs: lethe-serve. What its files share.
 *
 * One thread, the front, has the event loop: sockets, signals, timers. Each invocation has a thread to itself that runs
 * it from its grant to its record exactly as `lethe run` does alone (invoke/run.h), so that a slow disk, a large
 * teardown or a pipe that nobody reads holds up nobody else's. The front never waits, but for the loop.
 *
 *   Client   one connection                    front only
 *   Peer     the process behind connections, or the user, when it is not the daemon's own    front only; what is fair
 *            is fair between peers
 *   Job      one `run` request                 front, but while RUNNING: `regions` under its lock, the rest is its
 *            thread's
 * */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "base/util.h"
#include "prefork/pool.h"
#include "invoke/run.h"
#include "manifest/skill-kept.h"
#include "base/line.h"
#include "schema/serve.h"
#include "serve/session-state.h"
#include "store/store.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>

typedef struct Server Server;
typedef struct Client Client;
typedef struct Peer Peer;
typedef struct Job Job;
typedef struct JobThread JobThread;

/* A policy that invocations still use after another one was read. */
/* Output that goes into the answer: the first SERVE_CAPTURE_MAX bytes, as long as the account of all has room. */
typedef struct Capture {
        RegionSink sink;        /* first */
        Buf text;
        size_t charged;
        bool cut;
        Server *server;         /* NULL: not captured */
        Peer *peer;
} Capture;

typedef struct SharedPolicy {
        atomic_uint users;
        Policy *policy;
        unsigned turn;          /* how often it had been read again before */
} SharedPolicy;

SharedPolicy *shared_policy_new(Policy *p, unsigned turn); /* takes it; NULL: out of memory, and it is freed */
SharedPolicy *shared_policy_use(SharedPolicy *p);
void shared_policy_drop(SharedPolicy *p);

typedef enum JobState { JOB_QUEUED, JOB_RUNNING, JOB_OVER } JobState;

/* A standard stream that goes over its client's connection: the front's end of a socket pair, of which the job's stream
 * is the other one. */
typedef struct Flow {
        Job *job;
        size_t stream;
        sd_event_source *source;
        int fd;                 /* -1: none, or at its end */
        bool waits;             /* its client has enough to read */
} Flow;

struct Job {
        Job *next;              /* in its peer's queue, or in the list of what is done */
        Server *server;
        Client *client;         /* borrowed; NULL: it went away */
        Peer *peer;             /* referenced */
        JobState state;
        json_t *id;             /* of the request, owned */
        json_t *params;         /* owned; checked by job_check() */
        RunOptions *options;    /* the thread's own, borrowed, while it runs */
        int streams[SERVE_STREAMS];
        Capture captures[SERVE_STREAMS]; /* of output that goes into the answer; the thread's */
        size_t charged;         /* of the account, for its request; and by the thread, for its answer */
        bool shared[SERVE_STREAMS];   /* /dev/null: the server's own, or for input none at all */
        bool streamed[SERVE_STREAMS]; /* over the connection */
        Flow flows[SERVE_STREAMS];    /* the front's, as are the six that follow */
        Client *flow_client;    /* borrowed: in whose list it is */
        Job *next_flowing;
        Buf input;              /* that came and was not taken yet */
        json_t *input_id;       /* of the request with it, owned; NULL: none waits */
        bool input_ends;
        bool ready, told, thread_over; /* there is an answer; it was sent; its thread is done with it */
        bool starting;          /* its thread's: it has one of the places for those that start */
        unsigned n_fds;         /* at most, while it runs */
        int cancel;             /* eventfd: there is an order */
        atomic_bool unwanted;   /* nothing of it is to be kept */

        pthread_mutex_t lock;   /* of what follows */
        SharedPolicy *policy; /* owned: by which it was judged last; NULL: not yet */
        unsigned turn;        /* of the policy by which it was admitted */
        bool judging;         /* it is being judged by it, and nothing is allocated yet */
        RegionId *regions; /* that it had, its first one first */
        size_t n_regions;
        /* the first that was not taken yet, as a signalfd would give it; of signal 0: none */
        struct signalfd_siginfo order;

        json_t *receipt;        /* the thread's, until it is in the answer */
        json_t *result;         /* the thread's, then the front's: of the answer, NULL: out of memory */
        bool answered;          /* the thread's: the front was given the answer ahead of the thread's end */
        Job *next_answered;
        int error;              /* SERVE_E_*, or 0 */
        Diag why;
};

#define STARTS_AT_ONCE 16
#define JOB_FDS 16      /* while it runs, without what its streams take */
#define JOB_FDS_MOST 23
#define SERVE_HELD_FDS_MAX 64 /* of all clients together */

#define CLIENT_FD_SETS 4
/* Descriptors that came with the byte of that number: they belong to the line that it is in. */
typedef struct FdSet {
        uint64_t at;
        int fds[SERVE_STREAMS];
        size_t n;
} FdSet;

struct Client {
        Client *next, **link;   /* in the server's list */
        Server *server;
        Peer *peer;             /* referenced */
        int fd;
        sd_event_source *source, *again;
        LineReader in;
        LineQueue out;
        bool closing;           /* what it was answered is still to be sent, then it is closed */
        bool more;              /* whole lines are left that were not taken yet */
        bool broken;            /* nothing can be sent to it */
        json_t *reload_id;      /* of a `reload` that is not done, owned; NULL: none */
        unsigned n_bad, n_jobs;
        size_t charged;         /* of the account, for what it has to read */
        uint64_t last_usec;     /* when it last said something */
        FdSet sets[CLIENT_FD_SETS]; /* came with lines that are not taken yet, the first one first */
        size_t n_sets;
        uint64_t n_fed;         /* bytes that ever came */
        Job *flowing;           /* its runs with streams over it */
        bool at_end;            /* it says nothing more */
};

struct Peer {
        Peer *next, *next_waiting;
        pid_t pid;              /* of the first, when it is another user's */
        uid_t uid;
        bool foreign;           /* another user, whom the policy lets ask: all processes of that user are one */
        uint64_t shared;        /* under share_lock */
        unsigned users, n_clients, n_queued;
        atomic_uint n_running, n_subs; /* jobs; and regions that these have started */
        bool waiting;           /* in the ring of those that have something queued */
        Job *first, *last;      /* queued */
};

typedef struct ServeOptions {
        const char *store, *anchor, *policy, *socket;
        uint64_t max_running, max_queued, max_clients, drain_usec;
        uint64_t max_fds;       /* descriptors of all that run */
        bool replace, reload;
} ServeOptions;

struct Server {
        ServeOptions options;
        sd_event *event;
        Store *store;
        Pool *pool;
        char *store_path;       /* resolved */
        SharedPolicy *policy;   /* in force; the front's, and its threads' under the lock */
        sd_event_source *settling; /* of an earlier one something is left */
        bool forgets;       /* nothing but templates */
        Spawner *spawner;
        CgroupPool *groups; /* NULL: none to be had */
        TemplateGroups template_groups;
        SkillsKept *skills; /* or NULL */
        int null;           /* /dev/null, for those who passed it as their output */
        pid_t discarder;
        int discard;        /* to it */
        bool discard_is_full;
        /* own_listener: in the store's run/, for who looks for the supervisor of a region */
        int listener, own_listener;
        sd_event_source *listening, *own_listening, *done_source, *drain, *accept_again, *look_after, *mounting;
        int mounts;             /* /proc/self/mountinfo */
        char *socket_path;      /* to be unlinked at the end; NULL: it is somebody else's */
        char *own_path;
        bool stopping, hurry, delivering, failed;
        uint64_t started_usec;

        Client *clients;
        unsigned n_clients;
        Peer *peers;
        Peer *ring_first, *ring_last;
        unsigned n_running, n_queued;
        uint64_t fds_of_running;
        uint64_t n_served, n_refused;
        uint64_t fds_of_queued; /* open for those that wait */
        size_t held_fds;        /* descriptors that came with requests that are not whole yet, or not taken */
        uint64_t held;          /* bytes of memory for requests that are not whole yet */
        SessionState working;
        pthread_mutex_t share_lock, answer_lock; /* of the three that follow, and those of peers; of making an answer */
        uint64_t shared, shared_foreign;

        pthread_mutex_t lock;   /* of `done`, `answered`, `running`, and the threads that wait or are over */
        Job *done, *answered;
        Job *unread;            /* the front's: their threads are done, and their clients have yet to read */
        JobThread *idle, *over;
        unsigned n_idle;
        unsigned n_alive;       /* the front's: threads that are not joined */
        bool ends;              /* none is to wait for another job */
        pthread_cond_t thread_over;
        Job **running;          /* those that have a thread */
        _Atomic size_t n_threads; /* the front's; others read it */
        size_t room;
        atomic_uint n_subs;     /* regions that jobs have started */
        int done_fd;
        int ends_fd; /* readable while a signal that ends us waits to be taken */
        sem_t starts;           /* places for those that start: many at once would only be in each other's way */
        pthread_t recoverer;
        bool recovering;
        atomic_bool recovered;
        bool old_index; /* the recoverer's */
};

/* client.c */
int client_new(Server *s, int fd, const struct ucred *cred); /* takes fd, closes it when it fails */
/* One line to it. A client that does not read what it is told is dropped. Takes o; NULL: out of memory. */
void client_send(Client *c, json_t *o);
void client_send_line(Client *c, const char *line,
                      size_t n); /* the same of a line that is made already, with its newline */
void client_error(Client *c, const json_t *id_or_null, int code, const char *fmt, ...) _printf_(4, 5);
void client_result(Client *c, const json_t *id_or_null, json_t *result);
/* It sent what is no request; too many of these end it. */
void client_bad(Client *c);
/* Its jobs are cancelled. */
void client_free(Client *c);
/* Those that came with the line that was taken last, or none: they are the caller's. */
FdSet client_take_fds(Client *c);
void fd_set_close(FdSet *f);
/* It gets no more, and is gone once it took what is there. */
void client_finish(Client *c);

/* peer.c */
bool peer_is(const Peer *p, const struct ucred *cred);
bool peer_is_foreign(const struct ucred *cred); /* neither root nor the daemon's own user */
/* Whether the uid says who it is: all users whom a user namespace does not map look alike in it. */
bool peer_is_known(const struct ucred *cred);
Peer *peer_use(Server *s, const struct ucred *cred); /* or NULL */
void peer_drop(Server *s, Peer *p);

/* method.c: one request of a client; takes the client's descriptors when it wants them. */
void method_call(Client *c, const char *line, size_t n);
const char *serve_error_word(int code);

/* foreign.c: what another user may ask. Each returns 0 or SERVE_E_NOT_ALLOWED with a message. */
int other_user_may_call(const Client *c, const char *method, Diag *reterr);
int other_user_may_run(const Client *c, const json_t *params, Diag *reterr);
/* The same of a request that was allowed, by another policy. */
int other_user_still_may(const Policy *policy, uid_t uid, const json_t *params, Diag *reterr);
/* Whether c may know of it, and end it. */
bool other_user_may_see(const Client *c, const Job *j);

/* stream.c: whether fd may be that stream (0 to 2) of a run. Nothing is asked of the file system that it lies on.
 * *ret_null: it is /dev/null. Returns 0 or SERVE_E_STREAMS with a message. */
int stream_check(int fd, size_t stream, bool *ret_null, Diag *reterr);

/* share.c: the account of what is held for clients. share_take: false: there is no room. From any thread. */
bool share_take(Server *s, Peer *p, size_t n);
void share_give(Server *s, Peer *p, size_t n);
size_t share_of_json(const json_t *v);
void capture_init(Capture *c, Server *s, Peer *p);
void capture_deinit(Capture *c);

/* flow.c */
int flow_open(Job *j); /* its `streamed` ones; 0 or -errno */
bool flow_is_open(const Job *j); /* some output is not told yet */
void flow_close(Job *j);
void flow_resume(Client *c); /* something that waited for it was sent */
/* data: base64. Returns 1 when id is answered later, 0 with what to answer, SERVE_E_* with a message. */
int flow_input(Job *j, const json_t *id, const char *data, bool end, bool *ret_open, Diag *reterr);

/* discard.c: before there is a second thread, and before anything secret is read. Returns 0 or -errno with a
 * message. */
int server_start_discarder(Server *s, Diag *reterr);
void server_end_discarder(Server *s);
void discard_connection(Server *s, int fd); /* of another user; takes fd */

/* job-new.c */
int job_new(Client *c, const json_t *id, json_t *params, Job **ret, int *ret_error, Diag *reterr);
unsigned job_queued_fds(const Job *j); /* that it holds while it waits: its streams, and what it is told by */
void job_close_streams(Job *j);
void job_free(Job *j);

/* job.c: the queue, and who is next. */
void jobs_judge_queued(Server *s); /* those that the policy in force does not allow are refused */
/* When the queue is full, whoever has the most in it gives way to who has less than a fair share. Returns 0, or
 * SERVE_E_BUSY. */
int job_make_room(Server *s, const Peer *asks, unsigned n_fds, Diag *reterr);
void job_submit(Job *j);
void job_cancel(Job *j, int signo);
/* The same by SIGTERM, and nothing that it proposed is kept. */
void job_discard(Job *j);
void jobs_start(Server *s);
/* Handler of done_fd. */
int jobs_on_done(sd_event_source *source, int fd, uint32_t revents, void *userdata);
void job_told(Job *j); /* all its output was told: its answer may follow; may free it */
void jobs_cancel_all(Server *s, int signo);
void jobs_cancel_of(Client *c, int signo);
Job *job_find(Client *c, const json_t *id);
Job *job_of_region(Server *s, const char *region);

/* Of its thread, for RunOptions.place. */
bool job_place(void *job, bool on);

/* job-run.c: what its thread does. */
int job_check(Client *c, const json_t *params, Diag *reterr); /* 0 or SERVE_E_* */
void job_run(Job *j, int no_folder); /* no_folder: errno, when the thread could not have a working folder of its own */

/* job-thread.c: once job_run() is through it is among those that are done, and done_fd says so. Returns 0 or -errno. */
int job_thread_start(Job *j);
void job_threads_reap(Server *s);
/* Overwrites what functions that have returned left right below the caller's stack. */
void job_wipe_near(void);
/* No job runs any more. */
void job_threads_end(Server *s);

/* mounts.c: before server_confine(). Returns 0 or -errno with a message. */
int server_watch_mounts(Server *s, Diag *reterr);

/* confine.c: once all is there that it could not make any more. Returns 0 or -errno with a message. */
int server_confine(Diag *reterr);

/* reload.c: 0 or SERVE_E_POLICY. Clients with a reload_id are answered when nothing runs by an earlier policy but what
 * ran already. */
int server_reload(Server *s, Diag *reterr);
/* With the policy in force, or no more. */
void job_judging(void *job, bool on);
/* `lethe serve --reload`: asks the daemon at this socket. Returns the exit code. */
int reload_ask(const char *socket);

/* server.c */
int server_set_mode(const Server *s, const Policy *p, Diag *reterr); /* of the socket; 0 or -errno with a message */
int server_listen(Server *s, Diag *reterr);
void server_stop(Server *s, const char *why);
/* Gives the listening socket to the daemon behind the client, with this answer, and ends. Takes answer. Returns 0 or
 * -errno. */
int server_hand_over(Server *s, Client *c, json_t *answer);
/* Ends it when it can do its work no more. */
void server_check(Server *s);
/* The loop ends when nothing is left to be waited for. */
void server_may_end(Server *s);
/* Dead supervisors of the store are looked for now and then. Returns 0 or -errno. */
int server_look_after(Server *s);
void server_close(Server *s);
