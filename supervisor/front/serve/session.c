/* Runs: lethe-serve. Sessions that this daemon hosts: their sections in locked memory, the order of their turns, their
 * end (I-84..I-86). A turn is a job like any other: job-run.c asks session_turn_begin() before and
 * session_turn_over() behind. The front only looks; jobs and the keeper's thread work. */
#include "serve/serve.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/lock.h"
#include "base/path-lookup.h"
#include "base/log.h"
#include "engine/session.h"
#include "invoke/receipt.h"
#include "recover/recover.h"
#include "region/region-carry.h"
#include "request/resolve-request.h"
#include "scrub/evidence.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

struct Session {
        LIST_ENTRY(Session) all;
        char id[REGION_ID_MAX];
        uid_t uid;
        char *target, *skill, *digest; /* owned */
        json_t *sections;       /* owned; not changed */
        Carry *carry;           /* of the job that has the turn */
        uint64_t idle_usec, deadline; /* CLOCK_MONOTONIC; of the list's lock */
        int free_fd;            /* semaphore: readable when no turn, carry or end is under way */
        unsigned users, waiting; /* of the list's lock, like the two below */
        Job *turn;              /* borrowed: to be cancelled by a close */
        bool over;
        bool resumes, resumed;
        Discipline discipline;
        unsigned passes;
};

static void session_unref(Server *s, Session *x) {
        bool last;

        pthread_mutex_lock(&s->sessions_lock);
        last = --x->users == 0;
        pthread_mutex_unlock(&s->sessions_lock);
        if (!last)
                return;
        carry_free(x->carry);
        closep(&x->free_fd);
        json_decref(x->sections);
        free(x->target);
        free(x->skill);
        free(x->digest);
        free(x);
}

/* A reference, or NULL. */
static Session *session_find(Server *s, const char *id) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->sessions_lock);
        Session *x;

        LIST_FOREACH(x, &s->sessions, all)
                if (strcmp(x->id, id) == 0) {
                        x->users++;
                        return x;
                }
        return NULL;
}

size_t session_count(Server *s) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->sessions_lock);
        size_t n = 0;
        Session *x;

        LIST_FOREACH(x, &s->sessions, all)
                n++;
        return n;
}

/* In the list, with a reference of the list. */
static void session_enlist(Server *s, Session *x) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->sessions_lock);

        x->users++;
        x->deadline = clock_mono_usec() + x->idle_usec;
        LIST_INSERT_HEAD(&s->sessions, x, all);
        pthread_cond_signal(&s->sessions_changed);
}

static Session *session_new(const json_t *sections, Diag *reterr, int *ret_e) {
        Session *x = calloc(1, sizeof(*x));

        if (!x || (x->users = 1, x->free_fd = eventfd(1, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)) < 0) {
                free(x);
                *ret_e = x ? -errno : -ENOMEM;
                return NULL;
        }
        *ret_e = carry_new(sections, &x->carry, reterr);
        if (*ret_e != 0) {
                closep(&x->free_fd);
                free(x);
                return NULL;
        }
        x->sections = json_incref((json_t *)sections);
        return x;
}

/* Waits for the session's present turn. Returns 0, SERVE_E_*, or -ECANCELED for an order to the job. */
static int session_enter(Server *s, Session *x, int cancel, Diag *reterr) {
        eventfd_t n;
        int r = -EAGAIN;

        pthread_mutex_lock(&s->sessions_lock);
        if (x->waiting >= SESSION_WAITING_MAX)
                r = diag(reterr, SERVE_E_BUSY, "%u wait for the turn of session %s: ask again later", x->waiting, x->id);
        else
                x->waiting++;
        pthread_mutex_unlock(&s->sessions_lock);
        if (r > 0)
                return r;
        while (r == -EAGAIN) {
                struct pollfd p[] = {{.fd = x->free_fd, .events = POLLIN}, {.fd = cancel, .events = POLLIN}};

                if (poll(p, cancel >= 0 ? 2 : 1, -1) < 0 && errno != EINTR)
                        r = -errno;
                else if (cancel >= 0 && p[1].revents)
                        r = -ECANCELED;
                else if (p[0].revents && eventfd_read(x->free_fd, &n) == 0)
                        r = 0;
        }
        pthread_mutex_lock(&s->sessions_lock);
        x->waiting--;
        if (r == 0 && x->over) {
                eventfd_write(x->free_fd, 1); /* for the next that waits */
                r = diag(reterr, SERVE_E_NO_SESSION, "session %s has ended", x->id);
        }
        if (r == 0)
                x->deadline = UINT64_MAX;
        pthread_mutex_unlock(&s->sessions_lock);
        return r;
}

static void session_leave(Server *s, Session *x) {
        pthread_mutex_lock(&s->sessions_lock);
        x->turn = NULL;
        x->deadline = clock_mono_usec() + x->idle_usec;
        pthread_cond_signal(&s->sessions_changed);
        pthread_mutex_unlock(&s->sessions_lock);
        eventfd_write(x->free_fd, 1);
}

/* Turns were refused or ended by the state of the store: the words of the engine. */
static int session_code(int e, Diag *reterr) {
        if (e >= 0 && *reterr->text)
                return e == ENGINE_E_NO_REGION ? SERVE_E_NO_SESSION : e == 0 ? 0 : SERVE_E_BUSY;
        return e == 0 ? 0 : diag(reterr, SERVE_E_INTERNAL, "%s", e < 0 ? store_strerror(e) : "refused");
}

static int session_adopt_row(Server *s, const char *id, const RegionRow *row, Session **ret, Diag *reterr) {
        const json_t *o = session_of_row(row);
        _cleanup_json_ json_t *values = NULL;
        _cleanup_txn_ Txn *t = NULL;
        const char *name;
        json_t *item;
        uint64_t uid = 0;
        Session *x;
        int e = 0;

        x = session_new(json_object_get(o, "sections"), reterr, &e);
        if (!x)
                return e;
        snprintf(x->id, sizeof(x->id), "%s", id);
        json_get_u64(json_object_get(o, "uid"), &uid);
        json_get_u64(json_object_get(o, "idle_usec"), &x->idle_usec);
        x->uid = (uid_t)uid;
        x->resumes = x->resumed = true;
        x->target = strdup(json_text(json_object_get(o, "target")) ?: "");
        x->skill = strdup(json_text(json_object_get(json_object_get(row->detail, "skill"), "name")) ?: "");
        x->digest = strdup(json_text(json_object_get(json_object_get(row->detail, "skill"), "digest")) ?: "");
        x->passes = 1;
        e = store_begin(s->store, true, &t, reterr)
                        ?: engine_session_values(t, id, &values, reterr)
                        ?: engine_session_adopt(t, id, reterr);
        json_object_foreach(values, name, item) {
                e = e ?: carry_put(x->carry, name, json_object_get(item, "value"),
                                   (uint64_t)json_integer_value(json_object_get(item, "version")), reterr);
        }
        if (e == 0)
                e = store_commit(TAKE_PTR(t), reterr);
        if (e != 0) {
                session_unref(s, x);
                return e;
        }
        session_enlist(s, x);
        *ret = x;
        return 0;
}

/* A session whose host died, and which says "resume": the first that asks makes this daemon its host. */
static int session_adopt(Server *s, const char *id, Session **ret, Diag *reterr) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->adopt_lock);
        _cleanup_(region_row_deinit) RegionRow row = {};
        _cleanup_txn_ Txn *t = NULL;
        int e;

        *ret = session_find(s, id);
        if (*ret)
                return 0;
        e = recover_all(s->store, NULL, s->spawner, true, reterr)
                        ?: store_begin(s->store, false, &t, reterr)
                        ?: engine_region_get(t, id, &row);
        store_abort(TAKE_PTR(t));
        if (e == ENGINE_E_NO_REGION || (e == 0 && !session_of_row(&row)))
                return diag(reterr, SERVE_E_NO_SESSION, "there is no open session %s", DIAG_QUOTED(id));
        if (e == 0 && (!session_resumes(session_of_row(&row)) || !store_lock_is_free(s->store, row.supervisor_lock)))
                return diag(reterr, SERVE_E_NO_SESSION, "session %s is hosted by process %llu", id,
                            (unsigned long long)row.supervisor_pid);
        return session_code(e ?: session_adopt_row(s, id, &row, ret, reterr), reterr);
}

/* The session of the request, for its user alone. Returns 0 or SERVE_E_*. */
static int session_of(Job *j, Session **ret, Diag *reterr) {
        const char *id = json_text(json_object_get(j->params, "session")),
                   *key = json_text(json_object_get(j->params, "key"));
        Session *x = region_id_valid(id) ? session_find(j->server, id) : NULL;
        int e = x ? 0 : session_adopt(j->server, id, &x, reterr);

        if (e != 0)
                return e;
        if (j->peer->foreign &&
            (x->uid != j->peer->uid || !policy_client(j->policy->policy, j->peer->uid, x->skill)))
                e = diag(reterr, SERVE_E_NO_SESSION, "there is no open session %s", id); /* others' are not told */
        else if (key && !carry_key_is(x->carry, key))
                e = diag(reterr, SERVE_E_NOT_ALLOWED, "session %s: the key is not the session's", id);
        if (e != 0) {
                session_unref(j->server, x);
                return e;
        }
        *ret = x;
        return 0;
}

int session_turn_begin(Job *j, Diag *reterr) {
        Session *x;
        int e = session_of(j, &x, reterr);

        if (e != 0)
                return e;
        e = session_enter(j->server, x, j->cancel, reterr);
        if (e == 0 && !(j->carry_values = carry_values(x->carry))) {
                session_leave(j->server, x);
                e = -ENOMEM;
        }
        if (e != 0) {
                session_unref(j->server, x);
                return e;
        }
        pthread_mutex_lock(&j->server->sessions_lock);
        x->turn = j;
        pthread_mutex_unlock(&j->server->sessions_lock);
        j->session = x;
        j->in_session = (DispatchTurn){.session = x->id, .sections = x->sections, .values = j->carry_values};
        return 0;
}

const char *session_target(const Session *x) {
        return x->target;
}

bool session_is_of(const Session *x, const char *digest) {
        return strcmp(x->digest, digest ?: "") == 0;
}

void session_turn_over(Job *j) {
        Session *x = TAKE_PTR(j->session);
        const char *name;
        json_t *item;
        Diag d = {};

        if (!x)
                return;
        json_object_foreach(j->in_session.carried, name, item) {
                if (carry_put(x->carry, name, json_object_get(item, "value"),
                              (uint64_t)json_integer_value(json_object_get(item, "version")), &d) != 0)
                        log_error("session %s: section %s: %s", x->id, name, d.text);
        }
        json_decref(j->in_session.carried);
        json_decref(j->carry_values);
        j->in_session.carried = j->carry_values = NULL;
        session_leave(j->server, x);
        session_unref(j->server, x);
}

static int session_record_open(Server *s, const Grant *g, const Session *x, Diag *reterr) {
        _cleanup_json_ json_t *grant = grant_to_json(g), *by = json_pack("{s:s, s:o, s:o*}", "version", LETHE_VERSION,
                                                                         "uid", json_u64(getuid()), "client_uid",
                                                                         g->client ? json_u64(g->client) : NULL);
        _cleanup_txn_ Txn *t = NULL;
        SessionStart start = {
                .region = {.region = x->id, .skill_name = g->skill_name, .skill_digest = g->skill_digest,
                           .tier = "session", .start = "cold", .grant = grant, .lineage = lineage_name(g->lineage),
                           .by = by, .supervisor_pid = (uint64_t)getpid(), .max_regions = g->max_regions},
                .said = g->session, .uid = x->uid, .target = x->target};

        if (!grant || !by)
                return -ENOMEM;
        return store_begin(s->store, true, &t, reterr)
                       ?: engine_session_open(t, &start, reterr)
                       ?: store_commit(TAKE_PTR(t), reterr);
}

static json_t *session_without_sections(void) {
        return json_pack("{s:{}, s:I, s:I, s:s}", "sections", "idle_usec", (json_int_t)SESSION_IDLE_STANDARD_USEC,
                         "turns", (json_int_t)SESSION_TURNS_MOST, "on_crash", "end");
}

static int session_open(Job *j, SkillRequest *a, Diag *reterr) {
        _cleanup_grant_ Grant g = {};
        char key[KEY_TEXT_BYTES + 1];
        Server *s = j->server;
        Refusal refusal = {};
        Session *x;
        int e;

        if (!resolve_request(a, s->store, j->policy->policy, true, &g, &refusal))
                return diag(reterr, lookup_was_remote() ? SERVE_E_REMOTE : SERVE_E_REFUSED, "%s", refusal.why.text);
        if (!g.session && !(g.session = session_without_sections()))
                return -ENOMEM;
        x = session_new(json_object_get(g.session, "sections"), reterr, &e);
        if (!x)
                return e > 0 ? SERVE_E_REFUSED : e;
        x->uid = j->peer->foreign ? j->peer->uid : geteuid();
        x->target = skill_name_valid(a->skill) && !strchr(a->skill, '/') ? strdup(a->skill) : strdup(g.skill_folder);
        x->skill = strdup(g.skill_name);
        x->digest = strdup(g.skill_digest);
        x->idle_usec = (uint64_t)json_integer_value(json_object_get(g.session, "idle_usec"));
        x->resumes = json_text_is(json_object_get(g.session, "on_crash"), "resume");
        x->discipline = g.discipline == DISCIPLINE_NONE ? DISCIPLINE_ZERO : g.discipline;
        x->passes = MAX(g.passes, 1U);
        e = !x->target || !x->skill || !x->digest ? -ENOMEM : region_id_new(clock_real_usec(), x->id);
        e = e ?: session_record_open(s, &g, x, reterr);
        if (e == 0) {
                session_enlist(s, x);
                carry_hand_over(x->carry, key);
                j->result = json_pack("{s:s, s:s}", "session", x->id, "key", key);
                explicit_bzero(key, sizeof(key));
        }
        session_unref(s, x);
        return e > 0 ? SERVE_E_REFUSED : e;
}

/* The end of a session that the caller has entered: recorded after all of its turns and after the overwriting. */
static int session_end(Server *s, Session *x, const char *reason, const char *who, Diag *reterr) {
        const uint64_t began = clock_mono_usec();
        _cleanup_json_ json_t *evidence = NULL;
        _cleanup_txn_ Txn *t = NULL;
        TeardownEvidence said;
        VaultWiped wiped;
        bool listed;
        int e;

        carry_wipe(x->carry, x->passes, &wiped);
        evidence_of_session(x->discipline, x->passes, &wiped, x->resumed, &said);
        said.usec = clock_mono_usec() - began;
        said.bound_usec = CANCEL_BOUND_STANDARD_USEC;
        evidence = receipt_teardown(&said, NULL);
        e = !evidence ? -ENOMEM
                      : store_begin(s->store, true, &t, reterr)
                                ?: engine_session_end(t, x->id, reason, who, evidence, reterr)
                                ?: store_commit(TAKE_PTR(t), reterr);
        pthread_mutex_lock(&s->sessions_lock);
        listed = !x->over;
        x->over = true;
        if (listed)
                LIST_REMOVE(x, all);
        pthread_mutex_unlock(&s->sessions_lock);
        eventfd_write(x->free_fd, 1);
        if (listed)
                session_unref(s, x);
        eventfd_write(s->done_fd, 1); /* a private daemon may end */
        return session_code(e, reterr);
}

static int session_close(Job *j, Diag *reterr) {
        Server *s = j->server;
        char who[32];
        Session *x;
        int e = session_of(j, &x, reterr);

        if (e != 0)
                return e;
        pthread_mutex_lock(&s->sessions_lock);
        if (x->turn)
                job_discard(x->turn); /* its thread leaves the session under this lock before the job goes */
        pthread_mutex_unlock(&s->sessions_lock);
        e = session_enter(s, x, j->cancel, reterr);
        snprintf(who, sizeof(who), "uid:%u", (unsigned)j->peer->uid);
        if (e == 0)
                e = session_end(s, x, "closed", who, reterr);
        if (e == 0)
                j->result = json_pack("{s:s}", "session", x->id);
        session_unref(s, x);
        return e;
}

/* The operator's read or write of a section, between two turns. */
static int session_carry_entered(Job *j, Session *x, const char *section, const json_t *value, Diag *reterr) {
        _cleanup_json_ json_t *values = NULL;
        _cleanup_txn_ Txn *t = NULL;
        uint64_t version;
        const json_t *has;
        char who[32];
        int e;

        if (!json_object_get(x->sections, section))
                return diag(reterr, SERVE_E_INVALID_PARAMS, "section %s: the skill's \"session\" does not declare it",
                            DIAG_QUOTED(section));
        if (!value) {
                values = carry_values(x->carry);
                has = json_object_get(values, section);
                j->result = json_pack("{s:O?, s:O?}", "value", json_object_get(has, "value"), "version",
                                      json_object_get(has, "version"));
                return values ? 0 : -ENOMEM;
        }
        e = carry_check(x->sections, section, value, reterr);
        if (e != 0)
                return e > 0 ? SERVE_E_INVALID_PARAMS : e;
        snprintf(who, sizeof(who), "uid:%u", (unsigned)j->peer->uid);
        e = store_begin(j->server->store, true, &t, reterr)
                        ?: engine_session_carry(t, &(SessionCarry){.session = x->id, .who = who, .section = section,
                                                                   .value = value}, &version, reterr)
                        ?: store_commit(TAKE_PTR(t), reterr);
        if (e != 0)
                return session_code(e, reterr);
        e = carry_put(x->carry, section, value, version, reterr);
        j->result = json_pack("{s:I}", "version", (json_int_t)version);
        return e > 0 ? SERVE_E_INVALID_PARAMS : e;
}

static int session_carry(Job *j, Diag *reterr) {
        Session *x;
        int e = session_of(j, &x, reterr);

        if (e != 0)
                return e;
        e = session_enter(j->server, x, j->cancel, reterr);
        if (e == 0) {
                e = session_carry_entered(j, x, json_text(json_object_get(j->params, "section")),
                                          json_object_get(j->params, "value"), reterr);
                session_leave(j->server, x);
        }
        session_unref(j->server, x);
        return e;
}

int session_job(Job *j, SkillRequest *a, Diag *reterr) {
        switch (j->op) {
        case JOB_SESSION_OPEN:
                return session_open(j, a, reterr);
        case JOB_SESSION_CARRY:
                return session_carry(j, reterr);
        case JOB_SESSION_CLOSE:
                return session_close(j, reterr);
        case JOB_RUN:
        default:
                return -EINVAL;
        }
}

/* The first session that is idle for too long, with a reference; else NULL and the time of the next one. */
static Session *session_idle_locked(Server *s, uint64_t now, uint64_t *ret_next) {
        Session *x;

        *ret_next = UINT64_MAX;
        LIST_FOREACH(x, &s->sessions, all) {
                if (x->deadline <= now && x->waiting == 0) {
                        x->users++;
                        return x;
                }
                *ret_next = MIN(*ret_next, x->deadline);
        }
        return NULL;
}

static void session_end_idle(Server *s, Session *x) {
        eventfd_t n;
        Diag d = {};

        if (eventfd_read(x->free_fd, &n) == 0 && session_end(s, x, "idle", NULL, &d) != 0)
                log_warning("session %s: %s", x->id, d.text);
        session_unref(s, x);
}

static void *session_keep(void *arg) {
        Server *s = arg;

        pthread_mutex_lock(&s->sessions_lock);
        while (!s->sessions_stop) {
                uint64_t now = clock_mono_usec(), next;
                Session *x = session_idle_locked(s, now, &next);
                struct timespec until;

                if (x) {
                        pthread_mutex_unlock(&s->sessions_lock);
                        session_end_idle(s, x);
                        pthread_mutex_lock(&s->sessions_lock);
                        continue;
                }
                if (next == UINT64_MAX) {
                        pthread_cond_wait(&s->sessions_changed, &s->sessions_lock);
                        continue;
                }
                until = (struct timespec){.tv_sec = (time_t)(next / 1000000), .tv_nsec = (long)(next % 1000000 * 1000)};
                pthread_cond_timedwait(&s->sessions_changed, &s->sessions_lock, &until);
        }
        pthread_mutex_unlock(&s->sessions_lock);
        log_end_thread();
        return NULL;
}

int sessions_start(Server *s) {
        pthread_condattr_t a;
        int e;

        pthread_mutex_init(&s->sessions_lock, NULL);
        pthread_mutex_init(&s->adopt_lock, NULL);
        pthread_condattr_init(&a);
        pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
        pthread_cond_init(&s->sessions_changed, &a);
        pthread_condattr_destroy(&a);
        e = pthread_create(&s->keeper, NULL, session_keep, s);
        s->keeping = e == 0;
        return -e;
}

void sessions_end(Server *s) {
        Session *x;

        if (!s->keeping)
                return;
        pthread_mutex_lock(&s->sessions_lock);
        s->sessions_stop = true;
        pthread_cond_signal(&s->sessions_changed);
        pthread_mutex_unlock(&s->sessions_lock);
        pthread_join(s->keeper, NULL);
        s->keeping = false;
        while ((x = LIST_FIRST(&s->sessions))) {
                Diag d = {};

                if (!x->resumes && session_end(s, x, "daemon_stopped", NULL, &d) == 0)
                        continue;
                if (*d.text)
                        log_warning("session %s: %s", x->id, d.text);
                if (LIST_FIRST(&s->sessions) == x) { /* goes on with the next host */
                        LIST_REMOVE(x, all);
                        session_unref(s, x);
                }
        }
}
