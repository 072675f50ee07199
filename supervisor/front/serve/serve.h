/* Runs: lethe-serve. Types and functions shared by its files.
 *
 * A single thread, the front, has the event loop: sockets, signals, timers. Each invocation has a thread of its own
 * for the way from its grant to its record, exactly as in `lethe run` (invoke/run.h). So a slow disk, a large teardown
 * or an unread pipe delays no other invocation. The front never waits, except in the loop.
 *
 *   Client   a connection; front only
 *   Peer     the process behind connections, or the user, when not the daemon's own; front only. Fairness holds
 *            between peers
 *   Job      a `run` request; front only, but while RUNNING: `regions` under its lock, all else is the thread's */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "base/util.h"
#include "dispatch/dispatch.h"
#include "prefork/pool.h"
#include "invoke/run.h"
#include "manifest/skill-kept.h"
#include "base/line.h"
#include "schema/serve.h"
#include "store/store.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>

typedef struct Server Server;
typedef struct Client Client;
typedef struct Peer Peer;
typedef struct Job Job;
typedef struct Session Session;
typedef struct Waker Waker;
typedef struct Schedule Schedule; /* objects.h */

/* Output for the answer: the first SERVE_CAPTURE_MAX bytes, as long as the account of all clients has room. */
typedef struct Capture {
        RegionSink sink;        /* first */
        Buf text;
        size_t charged;
        bool cut;
        Server *server;         /* NULL: not captured */
        Peer *peer;
} Capture;

/* A policy, kept for invocations that still use it after a reload. */
typedef struct SharedPolicy {
        atomic_uint users;
        Policy *policy;
        unsigned turn;          /* how often the policy was read again before */
} SharedPolicy;

/* A run that goes on without its client. The thread's, but `input` after the start, which is the front's. */
typedef struct Detached {
        struct DetachedSink {
                RegionSink sink; /* first */
                struct Detached *of;
                int kind;        /* OutputKind */
        } out, err;
        struct OutputWriter *writer; /* NULL: before the region, and after its end */
        int input;                   /* the far end of the region's standard input, or -1 */
        bool started, removes;
        char *said;                  /* messages until the start, as plain text; NULL: none */
        RegionId region;             /* "": none yet */
        int error;                   /* of the writer's begin, -errno */
} Detached;

typedef enum JobOp { JOB_RUN, JOB_SESSION_OPEN, JOB_SESSION_CARRY, JOB_SESSION_CLOSE, JOB_OBJECT } JobOp;
typedef enum JobState { JOB_QUEUED, JOB_RUNNING, JOB_OVER } JobState;

/* A standard stream over the client's connection: the front's end of a socket pair; the job has the opposite end. */
typedef struct Flow {
        Job *job;
        size_t stream;
        sd_event_source *source;
        int fd;                 /* -1: not used, or at its end */
        bool waits;             /* the client has enough to read */
} Flow;

struct Job {
        TAILQ_ENTRY(Job) queued; /* in the queue of its peer */
        LIST_ENTRY(Job) unread, flowing; /* in the lists of the server and of flow_client */
        Job *next;              /* in the list of done jobs */
        Server *server;
        Client *client;         /* borrowed; NULL: the client went away */
        Peer *peer;             /* referenced */
        JobState state;
        JobOp op;
        Session *session;       /* the thread's, referenced: the run is the present turn; or NULL */
        DispatchTurn in_session; /* the thread's, like the values */
        json_t *carry_values, *observed; /* owned */
        struct CognitionProposal *proposal; /* owned, or NULL */
        json_t *id;             /* of the request, owned */
        json_t *params;         /* owned; checked by job_check() */
        Detached *detached;     /* owned; NULL: the run ends with its client */
        Job *next_started;
        json_t *object;         /* owned: of JOB_OBJECT, the execution that has begun; else NULL */
        bool settled;           /* the thread's: the execution has an outcome */
        pthread_t thread;       /* the front's, while running */
        RunOptions *options;    /* the thread's own, borrowed, while running */
        int streams[SERVE_STREAMS];
        Capture captures[SERVE_STREAMS]; /* of output for the answer; the thread's */
        size_t charged;         /* of the account: for the request, and by the thread for the answer */
        bool shared[SERVE_STREAMS];   /* /dev/null: the server's own, or no input */
        bool streamed[SERVE_STREAMS]; /* over the connection */
        Flow flows[SERVE_STREAMS];    /* the front's, like the six members below */
        Client *flow_client;    /* borrowed: the client whose list has the job */
        Buf input;              /* received and not yet taken */
        json_t *input_id;       /* of the request with input, owned; NULL: no request waits */
        bool input_ends;
        bool ready, told, thread_over; /* an answer exists; the answer was sent; the thread is done with the job */
        bool starting;          /* the thread's: has a place for starting jobs */
        unsigned n_fds;         /* at most, while running */
        int cancel;             /* eventfd: there is an order */
        atomic_bool unwanted;   /* all proposals must be dropped */

        pthread_mutex_t lock;   /* for the members below */
        SharedPolicy *policy; /* owned: the policy of the last judgement; NULL: not judged yet */
        unsigned turn;        /* of the policy that admitted the job */
        bool judging;         /* under judgement by `policy`, without any resource allocated */
        RegionId *regions; /* all its regions, the first region first */
        size_t n_regions;
        Buf progress;         /* lines for the client, not yet sent */
        char compressor[REGION_ID_MAX]; /* the last region that compressed for the turn, or "" */
        /* the first order not yet taken, as a signalfd would give it; signal 0: no order */
        struct signalfd_siginfo order;

        json_t *receipt;        /* the thread's, until put into the answer */
        json_t *result;         /* the thread's, then the front's: of the answer, NULL: out of memory */
        bool answered;          /* the thread's: the front was given the answer ahead of the thread's end */
        Job *next_answered;
        int error;              /* SERVE_E_*, or 0 */
        Diag why;
};

#define STARTS_AT_ONCE 16
#define JOB_FDS 16      /* while running, without its streams */
#define JOB_FDS_MOST 23
#define SERVE_HELD_FDS_MAX 64 /* of all clients together */

#define CLIENT_FD_SETS 4
/* Descriptors received with the byte of number `at`: they belong to the line around. */
typedef struct FdSet {
        uint64_t at;
        int fds[SERVE_STREAMS];
        size_t n;
} FdSet;

struct Client {
        LIST_ENTRY(Client) all; /* in the server's list */
        Server *server;
        Peer *peer;             /* referenced */
        int fd;
        sd_event_source *source, *again;
        LineReader in;
        LineQueue out;
        bool closing;           /* the last answers are still sent, then the connection is closed */
        bool more;              /* whole lines are left */
        bool broken;            /* the client cannot be written to */
        json_t *reload_id;      /* of an unfinished `reload`, owned; NULL: no reload */
        unsigned n_bad, n_jobs;
        size_t charged;         /* of the account, for unread answers */
        uint64_t last_usec;     /* time of its last bytes */
        FdSet sets[CLIENT_FD_SETS]; /* passed with lines not yet taken, the oldest first */
        size_t n_sets;
        uint64_t n_fed;         /* bytes received in all */
        LIST_HEAD(, Job) flowing; /* jobs with streams over the connection */
        bool at_end;            /* end of its input */
};

struct Peer {
        LIST_ENTRY(Peer) all;
        TAILQ_ENTRY(Peer) ring;
        pid_t pid;              /* of the first connection, for another user */
        uid_t uid;
        bool foreign;           /* another user, allowed by the policy: all processes of the user are a single peer */
        uint64_t shared;        /* under share_lock */
        unsigned users, n_clients, n_queued;
        atomic_uint n_running, n_subs; /* jobs; and regions started by these */
        bool waiting;           /* in the ring of peers with queued jobs */
        TAILQ_HEAD(JobQueue, Job) jobs; /* queued */
};

typedef struct ServeOptions {
        const char *store, *anchor, *policy, *socket;
        uint64_t max_running, max_queued, max_clients, drain_usec;
        uint64_t max_fds;       /* descriptors for all running jobs */
        uint64_t max_objects;   /* executions of objects at once */
        bool replace, reload;
        bool private_;          /* hosts sessions for those who found no daemon: no socket but that in the store */
} ServeOptions;

/* Calls from connections, streams and jobs into files above them; main.c has the table. */
typedef struct ServerHooks {
        void (*call_method)(Client *c, const char *line, size_t n);
        void (*resume_output)(Client *c); /* after output was sent to the client */
        void (*output_sent)(Job *j);      /* all output of the job; may free j */
        void (*cancel_jobs)(Client *c, int signo);
        void (*check)(Server *s);
        void (*may_end)(Server *s);
} ServerHooks;

typedef struct SessionState {
        json_t *values; /* number of the scope, as text -> value */
} SessionState;

struct Server {
        const ServerHooks *hooks;
        ServeOptions options;
        sd_event *event;
        Store *store;
        Pool *pool;
        char *store_path;       /* resolved */
        SharedPolicy *policy;   /* in force; the front's, read by threads under the lock */
        sd_event_source *settling; /* grants of an earlier policy are left */
        bool forgets;       /* only templates */
        Spawner *spawner;
        CgroupPool *groups; /* NULL: unavailable */
        TemplateGroups template_groups;
        SkillsKept *skills; /* or NULL */
        int null;           /* /dev/null, for clients that pass it as their output */
        pid_t discarder;
        int discard;        /* socket to the process `discarder` */
        bool discard_is_full;
        /* own_listener: in the store's run/, for a client that looks for the supervisor of a region */
        int listener, own_listener;
        sd_event_source *listening, *own_listening, *done_source, *drain, *accept_again, *look_after, *mounting;
        int mounts;             /* /proc/self/mountinfo */
        char *socket_path;      /* unlinked at the end; NULL: the path of another owner */
        char *own_path;
        bool stopping, hurry, delivering, failed;
        uint64_t started_usec;

        LIST_HEAD(, Client) clients;
        unsigned n_clients;
        LIST_HEAD(, Peer) peers;
        TAILQ_HEAD(, Peer) ring; /* peers with queued jobs */
        unsigned n_running, n_queued;
        uint64_t fds_of_running;
        uint64_t n_served, n_refused;
        uint64_t fds_of_queued; /* open for queued jobs */
        size_t held_fds;        /* descriptors of unfinished requests */
        uint64_t held;          /* bytes of memory for unfinished requests */
        SessionState working;
        pthread_mutex_t sessions_lock, adopt_lock;
        pthread_cond_t sessions_changed;
        LIST_HEAD(, Session) sessions;
        Waker *waker;           /* NULL: objects are not woken here */
        Schedule *schedule; /* schedule.c; NULL: nothing is done by schedule here */
        pthread_t keeper;       /* ends idle sessions */
        bool keeping, sessions_stop;
        pthread_mutex_t answer_lock; /* for making an answer */
        pthread_mutex_t share_lock;  /* for the two members below, and Peer.shared */
        uint64_t shared, shared_foreign;

        pthread_mutex_t lock;   /* for `done`, `answered`, `started`, `running` */
        Job *done, *answered, *started;
        LIST_HEAD(, Job) unread; /* the front's: threads done, answers not yet read */
        Job **running;          /* jobs with a thread */
        _Atomic size_t n_threads; /* written by the front, read by all */
        atomic_uint n_subs;     /* regions started by jobs */
        int done_fd;
        int ends_fd; /* readable while a signal for the end is pending */
        sem_t starts;           /* places for starting jobs: more would only slow each other down */
        pthread_t recoverer;
        bool recovering;
        atomic_bool recovered;
        bool old_index; /* the recoverer's */
};

/* client.c */
int client_new(Server *s, int fd, const struct ucred *cred); /* takes fd over, closes fd on failure */
/* Sends a finished line with its newline. A client that does not read is dropped. */
void client_send_line(Client *c, const char *line, size_t n);
/* progress.c: of RunOptions, in the thread of the run; and the front's part. */
void progress_tell(void *userdata, const json_t *params);
void progress_send(Job *j);
void client_error(Client *c, const json_t *id_or_null, int code, const char *fmt, ...) _printf_(4, 5);
void client_result(Client *c, const json_t *id_or_null, json_t *result);
const char *client_error_word(int code); /* of schema/serve.md, for SERVE_E_* */
/* Counts a malformed request; too many end the connection. */
void client_bad(Client *c);
/* Cancels the client's jobs. */
void client_free(Client *c);
/* The descriptors of the line taken last, if any: the caller owns them. */
FdSet client_take_fds(Client *c);
void fd_set_close(FdSet *f);
/* No further answers; the client is freed after its last answer was read. */
void client_finish(Client *c);

/* method.c: a request of a client; takes the client's descriptors when needed. */
void method_call(Client *c, const char *line, size_t n);

/* other-user.c */
bool peer_is(const Peer *p, const struct ucred *cred);
bool peer_is_foreign(const struct ucred *cred); /* neither root nor the daemon's own user */
/* Whether the uid identifies a user: all users not mapped into a user namespace have the same uid there. */
bool peer_is_known(const struct ucred *cred);
Peer *peer_use(Server *s, const struct ucred *cred); /* or NULL */
void peer_drop(Server *s, Peer *p);

/* Requests of another user. Each returns 0 or SERVE_E_NOT_ALLOWED with a message. */
int other_user_may_call(const Client *c, const char *method, Diag *reterr);
int other_user_may_run(const Client *c, const json_t *params, Diag *reterr);
/* Judges a request allowed before by another policy. */
int other_user_still_may(const Policy *policy, uid_t uid, const json_t *params, Diag *reterr);
/* Whether c may know of the job, and end the job. */
bool other_user_may_see(const Client *c, const Job *j);

/* share.c: the account of memory held for clients. share_take: false: no room. From any thread. */
bool share_take(Server *s, Peer *p, size_t n);
void share_give(Server *s, Peer *p, size_t n);
size_t share_of_json(const json_t *v);
void capture_init(Capture *c, Server *s, Peer *p);
void capture_deinit(Capture *c);

/* session-state.c */
void session_state_deinit(SessionState *w);
/* value NULL: clears the value. Returns 0, SERVE_E_INVALID_PARAMS with a message, -errno. */
int session_state_set(SessionState *w, Store *s, const char *scope, json_t *value, Diag *reterr);
/* *ret is borrowed; NULL: not set. */
int session_state_get(SessionState *w, Store *s, const char *scope, json_t **ret, Diag *reterr);

/* session.c, session-turn.c, session-end.c; session-open.c has the methods */
int sessions_start(Server *s); /* 0 or -errno */
void sessions_end(Server *s);  /* no job runs: sessions end, but for those that the next host resumes */
size_t session_count(Server *s);
/* By the job's thread. Waits for the turns before. Returns 0, SERVE_E_* with a message, -ECANCELED, -errno. */
int session_turn_begin(Job *j, Diag *reterr);
/* Of a session with cognition: x_t from the turn's arguments, and the advisor's proposal, before the turn's region is
 * recorded (C-41). False: refused, r is set. */
struct Refusal;
bool session_observe(Job *j, const RunOptions *o, struct Refusal *r);
void session_turn_over(Job *j); /* before the answer: what was carried is there for the next turn */
const char *session_target(const Session *x);
bool session_is_of(const Session *x, const char *digest);
struct SkillRequest;
/* open, carry, close. Returns as session_turn_begin(), with j->result. */
int session_job(Job *j, struct SkillRequest *a, Diag *reterr);

/* flow.c */
extern const char *const stream_names[SERVE_STREAMS];
size_t stream_number(const json_t *name); /* SERVE_STREAMS: not the name of a stream */
int flow_open(Job *j); /* its `streamed` streams; 0 or -errno */
bool flow_is_open(const Job *j); /* some output is not told yet */
void flow_close(Job *j);
void flow_resume(Client *c); /* after output was sent to the client */
/* data: base64. Returns 1 when id is answered later, 0 with *ret_open, SERVE_E_* with a message. */
int flow_input(Job *j, const json_t *id, const char *data, bool end, bool *ret_open, Diag *reterr);

/* discard.c: before a second thread exists, and before any secret is read. Returns 0 or -errno with a message. */
int server_start_discarder(Server *s, Diag *reterr);
void server_end_discarder(Server *s);
void discard_connection(Server *s, int fd); /* of another user; takes fd over */

/* job-new.c */
int job_new(Client *c, const json_t *id, json_t *params, Job **ret, int *ret_error, Diag *reterr);
SharedPolicy *shared_policy_new(Policy *p, unsigned turn); /* takes p; NULL: out of memory, p is freed */
void shared_policy_drop(SharedPolicy *p);
/* The job of an execution that perform_begin() began, without a client; NULL: out of memory or descriptors. */
Job *job_of_object(Server *s, json_t *begun);
/* The thread begins, or ends, judging the job by the policy in force. */
void job_judging(void *job, bool on);
unsigned job_queued_fds(const Job *j); /* held while queued: its streams, and the descriptors of its messages */
void job_close_streams(Job *j);
void job_free(Job *j);

/* detach.c, by the job's thread but for the last three */
int detach_new(Job *j); /* with its stream of input; 0 or -errno */
void detach_begun(Job *j, const char *region);
void detach_started(void *job); /* RunOptions.started */
void detach_log_line(void *job, const char *line, size_t n);
/* The region is at its end. True: the program ran, and the client is told so, or was. */
bool detach_over(Job *j);
void detach_tell(Job *j);
/* The answer of a run that goes on. New reference. */
json_t *detach_result(const Job *j); /* the client has its answer, and the job no client any more */
void detach_free(Job *j);
/* The method. Returns 0 or SERVE_E_* with a message. */
int detach_attach(Client *c, const json_t *id, const char *region, Diag *reterr);

/* job.c: the queue, and the order of starts. */
void jobs_judge_queued(Server *s); /* refuses queued jobs not allowed by the policy in force */
/* When full, the peer with the most queued jobs loses the last to a peer below its fair share. Returns 0,
 * SERVE_E_BUSY. */
int job_make_room(Server *s, const Peer *asks, unsigned n_fds, Diag *reterr);
void job_submit(Job *j);
void job_forget(Job *j); /* the client gets no answer any more */
void job_cancel(Job *j, int signo);
/* Cancels by SIGTERM, and drops all proposals. */
void job_discard(Job *j);
/* Handler of done_fd. */
int jobs_on_done(sd_event_source *source, int fd, uint32_t revents, void *userdata);
void job_told(Job *j); /* after all its output was sent: the answer may follow; may free j */
void jobs_cancel_all(Server *s, int signo);
void jobs_cancel_of(Client *c, int signo);
Job *job_find(Client *c, const json_t *id);
Job *job_of_region(Server *s, const char *region);

/* For RunOptions.place, by the job's thread. */
bool job_place(void *job, bool on);

/* job-run.c: the work of the thread. */
int job_check(JobOp op, const json_t *params, Diag *reterr); /* 0 or SERVE_E_* */
void job_run(Job *j, int no_folder); /* no_folder: errno, when the thread has no working folder of its own */

/* job-thread.c: after job_run() the job is in the list `done`, done_fd is readable, and its thread ends at once. Returns
 * 0 or -errno. */
int job_thread_start(Job *j);
/* Overwrites remains of returned functions right below the caller's stack. */
void job_wipe_near(void);

/* objects.c. objects_watch(): before server_confine(); objects_start(): after. Return 0 or -errno. */
int objects_watch(Server *s, Diag *reterr);
int objects_start(Server *s);
void objects_policy_changed(Server *s);
void objects_recover(Server *s); /* executions whose supervisor died; after recover_all() */
void objects_stop(Server *s); /* no cycle begins any more; executions go on */
void objects_end(Server *s);  /* waits for the waker's thread */
void objects_free(Server *s);
/* objects-run.c */
/* An execution is over. begun: of perform_begin(), for an execution without outcome: the waker settles it; or NULL. */
void objects_place_free(Server *s, json_t *begun);
unsigned objects_running(const Server *s); /* executions begun and not over */
SharedPolicy *objects_policy_use(Server *s); /* the policy in force; from any thread */

/* schedule.c. schedule_start(): after server_confine(); 0 or -errno. */
int schedule_start(Server *s);
void schedule_policy_changed(Server *s);
void schedule_stop(Server *s); /* begins nothing more, and cancels the region of a routine */
void schedule_end(Server *s);  /* waits for the thread */
void schedule_free(Server *s);

/* confine.c: after all is made that needs the given-up rights. Returns 0 or -errno with a message. */
int server_confine(Diag *reterr);

/* reload.c: 0 or SERVE_E_POLICY. A reload_id is answered when an earlier policy only has jobs that ran before. */
int server_reload(Server *s, Diag *reterr);
/* `lethe serve --reload`: asks the daemon at the socket. Returns the exit code. */
int reload_ask(const char *socket);

/* listen.c */
int listen_open(Server *s, Diag *reterr); /* both sockets, without events */
int listen_set_mode(const Server *s, const Policy *p, Diag *reterr); /* of the socket; 0 or -errno with a message */

/* server.c */
int server_listen(Server *s, Diag *reterr);
int server_watch_mounts(Server *s, Diag *reterr); /* before server_confine(); 0 or -errno with a message */
void server_stop(Server *s, const char *why);
/* Gives the listening socket to the daemon behind the client, with the answer (taken), and ends. Returns 0 or
 * -errno. */
int server_hand_over(Server *s, Client *c, json_t *answer);
/* Ends the daemon when its work cannot continue. */
void server_check(Server *s);
/* Ends the loop when no work is left. */
void server_may_end(Server *s);
/* Dead supervisors of the store are looked for now and then. Returns 0 or -errno. */
int server_look_after(Server *s);
void server_close(Server *s);
