/* Runs: lethe-serve, the thread of a job. A session begins: grant, record, memory (I-84). */
#include "serve/session.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/path-lookup.h"
#include "engine/session.h"
#include "invoke/compressor.h"
#include "request/registry.h"
#include "request/resolve-request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* CCS_0 of the loop around the skill (C-3). compressor: of compressor_check(), or NULL. */
static int session_begin_cognition(Txn *t, const Grant *g, const Session *x, const json_t *compressor, Diag *reterr) {
        const json_t *said = json_object_get(g->session, "cognition");
        const char *role = json_text(json_object_get(said, "role"));
        _cleanup_json_ json_t *made = NULL;
        char who[32];
        int e;

        if (!said)
                return 0;
        snprintf(who, sizeof(who), "uid:%u", (unsigned)x->uid);
        e = cognition_begin(t, &(CognitionBegin){.who = who, .role = role, .n_role = role ? strlen(role) : 0,
                                                 .k = (size_t)json_integer_value(json_object_get(said, "k")),
                                                 .compressor = compressor, .of = x->id}, &made, reterr);
        if (e > 0)
                diag_prefix(reterr, "the role of lethe.json#/session/cognition");
        return e;
}

static json_t *session_cognition_row(const Session *x, const json_t *compressor) {
        return *x->cognition ? json_pack("{s:s, s:O*, s:o*}", "ccs", x->cognition, "compressor",
                                         json_object_get(compressor, "skill"), "erase", x->erases ? json_true() : NULL)
                             : NULL;
}

static int session_record_open(Server *s, const Grant *g, const Session *x, const json_t *compressor, uint64_t most,
                               Diag *reterr) {
        _cleanup_json_ json_t *cognition = session_cognition_row(x, compressor);
        _cleanup_json_ json_t *grant = grant_to_json(g), *by = json_pack("{s:s, s:o, s:o*}", "version", LETHE_VERSION,
                                                                         "uid", json_u64(getuid()), "client_uid",
                                                                         g->client ? json_u64(g->client) : NULL);
        char discipline[DISCIPLINE_TEXT_MAX];
        _cleanup_txn_ Txn *t = NULL;
        SessionStart start = {
                .region = {.region = x->id, .skill_name = g->skill_name, .skill_digest = g->skill_digest,
                           .tier = "session", .start = "cold", .grant = grant, .lineage = lineage_name(g->lineage),
                           .by = by, .supervisor_pid = (uint64_t)getpid(), .max_regions = g->max_regions},
                .said = g->session, .uid = x->uid, .target = x->target, .max_sessions = most,
                .cognition = cognition, .discipline = x->discipline == DISCIPLINE_ZERO ? NULL
                                                               : discipline_format(x->discipline, x->passes, discipline)};

        if (!grant || !by)
                return -ENOMEM;
        return store_begin(s->store, true, &t, reterr)
                       ?: engine_session_open(t, &start, reterr)
                       ?: session_begin_cognition(t, g, x, compressor, reterr)
                       ?: store_commit(TAKE_PTR(t), reterr);
}

/* "session" of the grant, complete: with the idle time that the policy allows, and for a skill without the field. */
static int session_say(Grant *g) {
        json_t *said = g->session ? json_copied(g->session)
                                  : json_pack("{s:{}, s:I, s:s}", "sections", "turns", (json_int_t)SESSION_TURNS_MOST,
                                              "on_crash", "end");

        if (json_object_set_new(said, "idle_usec", json_integer((json_int_t)g->session_idle_usec)) < 0) {
                json_decref(said);
                return -ENOMEM;
        }
        json_decref(g->session);
        g->session = said;
        return 0;
}

/* The compressor that the manifest names can be had. *ret: new reference; NULL: built in. */
static int session_find_compressor(Job *j, const Grant *g, json_t **ret, Diag *reterr) {
        const char *skill = json_text(json_object_get(json_object_get(g->session, "cognition"), "compressor"));
        Advise advise = {.store = j->server->store, .policy = j->policy->policy, .spawner = j->server->spawner,
                         .signals = -1, .ask.request.client = j->peer->foreign ? j->peer->uid : 0};
        int e = skill ? compressor_check(&advise, skill, NULL, ret, reterr) : 0;

        if (e > 0)
                diag_prefix(reterr, "the compressor %s of lethe.json#/session/cognition", skill);
        return e;
}

/* A folder is remembered by its path: its name alone would mean another folder in another working folder. */
static bool session_is_registered(const Job *j, const SkillRequest *a, const Grant *g) {
        return a->registered || (!strchr(a->skill, '/') && registry_has(j->server->store, a->skill, g->skill_digest, false));
}

static int session_open(Job *j, SkillRequest *a, Diag *reterr) {
        _cleanup_json_ json_t *compressor = NULL;
        _cleanup_grant_ Grant g = {};
        char key[KEY_TEXT_BYTES + 1];
        Server *s = j->server;
        Refusal refusal = {};
        Session *x;
        int e;

        if (!resolve_request(a, s->store, j->policy->policy, true, &g, &refusal))
                return diag(reterr, lookup_was_remote() ? SERVE_E_REMOTE : SERVE_E_REFUSED, "%s", refusal.why.text);
        e = session_say(&g) ?: session_find_compressor(j, &g, &compressor, reterr);
        if (e != 0)
                return e > 0 ? SERVE_E_REFUSED : e;
        x = session_new(json_object_get(g.session, "sections"), reterr, &e);
        if (!x)
                return e > 0 ? SERVE_E_REFUSED : e;
        x->uid = j->peer->foreign ? j->peer->uid : geteuid();
        x->target = strdup(session_is_registered(j, a, &g) ? a->skill : g.skill_folder);
        x->skill = strdup(g.skill_name);
        x->digest = strdup(g.skill_digest);
        x->idle_usec = (uint64_t)json_integer_value(json_object_get(g.session, "idle_usec"));
        x->resumes = json_text_is(json_object_get(g.session, "on_crash"), "resume");
        x->discipline = g.discipline == DISCIPLINE_NONE ? DISCIPLINE_ZERO : g.discipline;
        x->passes = MAX(g.passes, 1U);
        e = !x->target || !x->skill || !x->digest ? -ENOMEM : region_id_new(clock_real_usec(), x->id);
        e = e ?: carry_hand_over(x->carry, key);
        x->erases = json_is_true(json_object_get(json_object_get(g.session, "cognition"), "erase"));
        if (json_object_get(g.session, "cognition"))
                snprintf(x->cognition, sizeof(x->cognition), "ccs-%s", x->id);
        x->advised = compressor;
        e = e ?: session_record_open(s, &g, x, compressor, j->policy->policy->max_sessions, reterr);
        if (e == 0) {
                session_enlist(s, x);
                j->result = json_pack("{s:s, s:s}", "session", x->id, "key", key);
        }
        explicit_bzero(key, sizeof(key));
        session_unref(s, x);
        return e > 0 ? SERVE_E_REFUSED : e;
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
        case JOB_OBJECT:
        default:
                return -EINVAL;
        }
}
