/* Runs: lethe-serve. The start of the daemon, from its command line to its loop. `lethe serve` executes this program:
 * so `lethe`, which starts for a single invocation, does not load an event loop and its library. */
#include "serve/serve.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "base/path-lookup.h"
#include "base/size.h"
#include "prefork/groups.h"
#include "request/paths.h"
#include "request/secrets.h"
#include "request/rate.h"
#include "invoke/record.h"
#include "recover/recover.h"
#include "engine/fold.h"
#include "ledger/anchor.h"
#include "policy/secret.h"
#include "region/region-cgroup-home.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#define EXIT_OURS 125
#define EXIT_USAGE 2
#define RUNNING_STANDARD 1024
#define QUEUED_STANDARD 1024
#define CLIENTS_STANDARD 4096
#define DRAIN_STANDARD_USEC 30000000
#define OBJECTS_STANDARD 4
#define FDS_OF_QUEUED (SERVE_STREAMS + 1)
/* Descriptors of the daemon, of guards and groups between two regions, of starting regions, of unfinished requests. */
#define FDS_LEAST 384 /* a zygote's own stand from ZYGOTE_FD_OWN on */
#define FDS_SPARE (640 + STARTS_AT_ONCE * 40 + SERVE_HELD_FDS_MAX)

static const char help[] =
        "Usage: lethe serve [OPTIONS]\n\n"
        "Runs invocations requested at a socket; 'lethe run' uses the daemon that serves its store.\n\n"
        "  --store DIR           the store (default: $LETHE_STORE, else the XDG state folder)\n"
        "  --anchor FILE         the checkpoint copy that the store must not be behind\n"
        "  --policy FILE         the operator's policy\n"
        "  --socket PATH         the place of the socket (default: $LETHE_SOCKET, root: /run/lethe/socket,\n"
        "                        else $XDG_RUNTIME_DIR/lethe/socket)\n"
        "  --max-running N       invocations at once (default: 1024)\n"
        "  --max-queued N        waiting invocations; more are refused (default: 1024)\n"
        "  --max-clients N       connections (default: 4096)\n"
        "  --max-objects N       executions of objects at once (default: 4)\n"
        "  --drain TIME          how long SIGTERM waits for running invocations (default: 30s)\n"
        "  --reload              have the daemon that answers there read its policy again; ends when nothing\n"
        "                        is left of earlier grants but invocations that ran already\n"
        "  --replace             take the place of the daemon that answers there, which ends as by SIGTERM\n"
        "  -h, --help            this text\n\n"
        "SIGTERM ends the daemon, a second SIGTERM at once; SIGHUP reads the policy again.\n";

static int main_wrong(const char *fmt, ...) _printf_(1, 2);
static int main_wrong(const char *fmt, ...) {
        va_list ap;

        fputs("lethe serve: ", stderr);
        va_start(ap, fmt);
        vfprintf(stderr, fmt, ap);
        va_end(ap);
        fputs("\n'lethe serve --help' shows how it is used\n", stderr);
        return EXIT_USAGE;
}

static int main_fail(const char *fmt, ...) _printf_(1, 2);
static int main_fail(const char *fmt, ...) {
        char text[sizeof(((Diag *)NULL)->text)];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        log_error("serve: %s", text);
        return EXIT_OURS;
}

/* Returns -1 when the command line is complete, else the exit code. */
static int main_parse(int argc, char **argv, ServeOptions *o) {
        enum { DRAIN = 256, OTHERS };
        const struct {
                const char *name;
                const char **text;
                bool *flag;
                uint64_t *number, most;
        } others[] = {{"store", .text = &o->store},
                      {"anchor", .text = &o->anchor},
                      {"policy", .text = &o->policy},
                      {"socket", .text = &o->socket},
                      {"replace", .flag = &o->replace},
                      {"reload", .flag = &o->reload},
                      {"private", .flag = &o->private_},
                      {"max-running", .number = &o->max_running, .most = 100000},
                      {"max-queued", .number = &o->max_queued, .most = 1000000},
                      {"max-clients", .number = &o->max_clients, .most = 100000},
                      {"max-objects", .number = &o->max_objects, .most = 100000}};
        struct option options[ARRAY_SIZE(others) + 3] = {{"drain", required_argument, NULL, DRAIN},
                                                         {"help", no_argument, NULL, 'h'}};
        int c;

        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                options[i + 2] = (struct option){others[i].name, others[i].flag ? no_argument : required_argument, NULL,
                                                 OTHERS + (int)i};
        opterr = 0;
        while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
                const size_t i = (size_t)(c - OTHERS);

                if (c == 'h')
                        return fputs(help, stdout) == EOF || fflush(stdout) == EOF;
                if (c < DRAIN)
                        return main_wrong("%s is not one of its options, or lacks its value", argv[optind - 1]);
                if (c == DRAIN && duration_parse(optarg, &o->drain_usec) != 0)
                        return main_wrong("--drain \"%.40s\": must be a time such as 500ms, 30s or 2m", optarg);
                if (c == DRAIN)
                        continue;
                if (others[i].text)
                        *others[i].text = optarg;
                else if (others[i].flag)
                        *others[i].flag = true;
                else if (count_parse(optarg, others[i].number) < 0 || *others[i].number < 1 ||
                         *others[i].number > others[i].most)
                        return main_wrong("--%s \"%.40s\": must be a number from 1 to %" PRIu64, others[i].name, optarg,
                                          others[i].most);
        }
        return optind < argc ? main_wrong("'%s' is one argument too many", argv[optind]) : -1;
}

/* Standard error may be the journal, which reads priorities (JOURNAL_STREAM: systemd.exec(5)). */
static void main_find_journal(void) {
        const char *said = getenv("JOURNAL_STREAM");
        unsigned long long dev, ino;
        struct stat st;

        if (said && sscanf(said, "%llu:%llu", &dev, &ino) == 2 && fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev &&
            st.st_ino == ino)
                log_with_priority();
}

/* Raises the limit of descriptors as far as the system allows (root may raise further), and lowers the load to fit.
 * false: too few for any run, with a message. */
static bool main_raise_fds(ServeOptions *o) {
        rlim_t wanted = o->max_running * JOB_FDS_MOST + o->max_queued * FDS_OF_QUEUED + o->max_clients + FDS_SPARE;
        struct rlimit l;
        uint64_t others;

        o->max_fds = UINT64_MAX;
        if (getrlimit(RLIMIT_NOFILE, &l) < 0)
                return true;
        if (l.rlim_max < wanted && setrlimit(RLIMIT_NOFILE, &(struct rlimit){wanted, wanted}) == 0)
                return true;
        if (l.rlim_max < FDS_LEAST) {
                log_error("%llu descriptors (RLIMIT_NOFILE) are too few: lethe serve needs %d; fix: ulimit -n, or "
                          "LimitNOFILE of the unit", (unsigned long long)l.rlim_max, FDS_LEAST);
                return false;
        }
        l.rlim_cur = l.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= wanted)
                return true;
        o->max_clients = MIN(o->max_clients, MAX((uint64_t)l.rlim_cur / 32, (uint64_t)8));
        others = o->max_clients + FDS_SPARE;
        o->max_fds = l.rlim_cur > others + 2 * JOB_FDS_MOST ? (uint64_t)l.rlim_cur - others : 2 * JOB_FDS_MOST;
        o->max_running = MIN(o->max_running, o->max_fds / JOB_FDS);
        log_note("at most %" PRIu64 " invocations at once, and %" PRIu64
                 " connections: descriptors (RLIMIT_NOFILE) allow no more",
                 o->max_running, o->max_clients);
        return true;
}

/* Requests handled before left pieces on this stack: paths, and request bytes in registers that the dynamic linker
 * saved (I-70). */
static int main_after_event(sd_event_source *source, void *userdata) {
        (void)source;
        (void)userdata;
        job_wipe_near();
        return 0;
}

static int main_on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Server *s = userdata;
        Diag d = {};

        if (si->ssi_signo == SIGHUP)
                server_reload(s, &d);
        else {
                store_hurry();
                server_stop(s, strsignal((int)si->ssi_signo));
        }
        return 0;
}

static int main_prepare(Server *s, Diag *d) {
        static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
        sigset_t set, ends;
        int e;

        sigemptyset(&set);
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                sigaddset(&set, signals[i]);
        ends = set;
        sigdelset(&ends, SIGHUP);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
            (s->ends_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK)) < 0 ||
            (s->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0 ||
            (s->null = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0)
                return -errno;
        /* this thread waits for a writer elsewhere only until the daemon must end; the event loop takes the signal */
        store_stop_at(s->ends_fd);
        e = sd_event_default(&s->event);
        for (size_t i = 0; e >= 0 && i < ARRAY_SIZE(signals); i++)
                e = sd_event_add_signal(s->event, NULL, signals[i], main_on_signal, s);
        if (e >= 0)
                e = sd_event_add_io(s->event, &s->done_source, s->done_fd, 1 /* EPOLLIN */, jobs_on_done, s);
        if (e >= 0)
                e = sd_event_add_post(s->event, NULL, main_after_event, s);
        return e < 0 ? e : 0;
}

/* A daemon starts once and lives long: all pages are checked, also of a large unchanged store. */
static int main_check_pages(Store *s, Diag *d) {
        int e = -EAGAIN;

        for (int again = 0; e == -EAGAIN && again < 20; again++) {
                _cleanup_txn_ Txn *t = NULL;

                e = store_begin(s, false, &t, d) ?: store_check_pages(t, d);
        }
        return e == -EAGAIN ? 0 : e; /* processes wrote all the time: each checked its own pages */
}

/* The daemon still executes programs here. A command that fails refuses the regions that need its secret, and no others. */
static void main_keep_secrets(const Policy *p) {
        Diag d = {};
        int e = secret_keep(p, &d);

        if (e != 0)
                log_warning("%s", *d.text ? d.text : strerror(e < 0 ? -e : EINVAL));
        secret_no_commands();
}

static int main_open_store(Server *s, Diag *d) {
        _cleanup_free_ char *said = path_of_store(s->options.store, d), *path = said ? io_absolute(said) : NULL;
        Policy *p = NULL;
        int e;

        if (!path)
                return *d->text ? -EINVAL : -ENOMEM;
        if (s->options.anchor)
                anchor_set_path(s->options.anchor);
        e = policy_load(s->options.policy, &p, d);
        if (e == 0 && !(s->policy = shared_policy_new(p, 0)))
                e = -ENOMEM;
        if (e == 0)
                main_keep_secrets(s->policy->policy);
        if (e == 0)
                e = store_open(path, STORE_SUPERVISE, &s->store, d) ?: main_check_pages(s->store, d);
        if (e == 0 && (e = engine_index_renew(s->store, d)) == STORE_E_LOCKED) {
                log_warning("%s; the daemon tries again while serving", d->text);
                s->old_index = true;
                e = 0;
        }
        if (e == 0)
                store_keep_ahead(s->store, RECORD_KEEP_AHEAD);
        if (e == 0 && !(s->store_path = realpath(path, NULL)))
                e = -errno;
        if (e == 0)
                /* kept for the daemon's whole life: no other thread is at work yet */
                rate_get(s->store_path, true, &(WipeRate){});
        if (e == 0)
                e = recover_all(s->store, s->policy->policy, NULL, false, d);
        return e;
}

static int main_serve(Server *s, Diag *d) {
        const char *fix = "", *why = home_settle(&fix); /* before any child process is in the way */
        int e = server_start_discarder(s, d);

        if (why)
                log_note("no control group for regions: %s; fix: %s", why, fix);
        if (e == 0)
                e = main_prepare(s, d)
                                ?: main_open_store(s, d)
                                ?: server_watch_mounts(s, d)
                                ?: spawner_new(&s->spawner, d);
        if (e == 0) {
                s->groups = groups_open(s->store);
                if (s->groups) {
                        groups_of_templates(s->groups, &s->template_groups);
                        spawner_group_templates(s->spawner, &s->template_groups);
                }
                s->skills = skills_kept_new();
                e = pool_new(s->store, s->spawner, s->groups, s->policy->policy, &s->pool, d);
        }
        if (e == 0)
                e = sessions_start(s);
        if (e == 0)
                e = server_listen(s, d)
                                ?: server_look_after(s)
                                ?: objects_watch(s, d)
                                ?: server_confine(d)
                                ?: objects_start(s)
                                ?: schedule_start(s);
        if (e != 0)
                return e;
        s->started_usec = clock_mono_usec();
        sd_notifyf(false, "READY=1\nSTATUS=serves %s", s->store_path);
        log_note("serves %s at %s", s->store_path, s->options.socket);
        return sd_event_loop(s->event);
}

int main(int argc, char **argv) {
        static const ServerHooks hooks = {
                .call_method = method_call,
                .resume_output = flow_resume,
                .output_sent = job_told,
                .cancel_jobs = jobs_cancel_of,
                .check = server_check,
                .may_end = server_may_end,
        };
        Server s = {
                .options = {.max_running = RUNNING_STANDARD,
                            .max_queued = QUEUED_STANDARD,
                            .max_clients = CLIENTS_STANDARD,
                            .max_objects = OBJECTS_STANDARD,
                            .drain_usec = DRAIN_STANDARD_USEC},
                .hooks = &hooks,
                .listener = -1,
                .own_listener = -1,
                .done_fd = -1,
                .ends_fd = -1,
                .mounts = -1,
                .null = -1,
                .discard = -1,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .share_lock = PTHREAD_MUTEX_INITIALIZER,
                .answer_lock = PTHREAD_MUTEX_INITIALIZER,
                .ring = TAILQ_HEAD_INITIALIZER(s.ring),
        };
        _cleanup_free_ char *socket = NULL;
        Diag d = {};
        int e;

        json_wipe_freed();
        hash_many();
        json_object_seed(0);
        store_set_command("lethe-serve");
        sem_init(&s.starts, 0, STARTS_AT_ONCE);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGTTIN, SIG_IGN);
        signal(SIGTTOU, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN);
        e = main_parse(argc, argv, &s.options);
        if (e >= 0)
                return e;
        main_find_journal();
        lookup_read_local_alone(true);
        if (!s.options.reload && !main_raise_fds(&s.options))
                return EXIT_OURS;
        socket = path_of_socket(s.options.socket, &d);
        if (!socket)
                return *d.text ? main_wrong("%s", d.text) : main_fail("%s", strerror(ENOMEM));
        if (s.options.reload)
                return reload_ask(socket);
        s.options.socket = socket;
        secrets_set_socket(socket);
        store_set_fault_exit(EXIT_OURS, EXIT_OURS);
        e = main_serve(&s, &d);
        schedule_stop(&s);
        objects_end(&s);
        schedule_end(&s);
        server_close(&s);
        server_end_discarder(&s);
        if (s.n_threads == 0 && s.store)
                sessions_end(&s);
        if (e != 0 && s.n_threads == 0)
                main_fail("%s", *d.text ? d.text : strerror(e < 0 ? -e : EIO));
        if (s.n_threads > 0)
                _exit(EXIT_OURS); /* running threads still use the memory to be freed */
        objects_free(&s);
        schedule_free(&s);
        pool_free(s.pool);
        spawner_free(s.spawner);
        groups_close(s.store, s.groups);
        skills_kept_free(s.skills);
        shared_policy_drop(s.policy);
        store_free(s.store);
        free(s.store_path);
        free(s.own_path);
        free(s.running);
        closep(&s.ends_fd);
        closep(&s.null);
        sd_event_unref(s.event);
        return e == 0 && !s.failed ? 0 : EXIT_OURS;
}
