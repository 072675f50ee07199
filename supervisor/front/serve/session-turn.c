/* Runs: lethe-serve, the thread of a job. A turn of a session, and the operator's carry between two turns (I-48,
 * I-84). */
#include "serve/session.h"

#include "base/log.h"
#include "engine/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int session_turn_begin(Job *j, Diag *reterr) {
        Session *x;
        int e = session_of(j, &x, reterr);

        if (e != 0)
                return e;
        e = session_enter(j->server, x, false, j->cancel, reterr);
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
        if (x->closing > 0)
                job_discard(j); /* the close came between the two locks */
        pthread_mutex_unlock(&j->server->sessions_lock);
        j->session = x;
        j->in_session = (DispatchTurn){.session = x->id, .sections = x->sections, .values = j->carry_values,
                                       .carry = x->carry};
        return 0;
}

/* The record says that the value is carried. A session whose memory cannot follow (no memory at all: room was reserved
 * before the record) would go on from an older value, and ends in place of that. */
static int session_keep_value(Server *s, Session *x, const char *section, const json_t *value, uint64_t version) {
        Diag d = {};
        int e = carry_put(x->carry, section, value, version, &d);

        if (e == 0)
                return 0;
        log_error("session %s ends: section %s: %s", x->id, section, *d.text ? d.text : strerror(-e));
        session_end(s, x, &(SessionOver){.reason = "no_memory"}, &d);
        return e > 0 ? SERVE_E_INTERNAL : e;
}

void session_turn_over(Job *j) {
        Session *x = TAKE_PTR(j->session);
        const char *name;
        json_t *item;

        if (!x)
                return;
        json_object_foreach(j->in_session.carried, name, item) {
                if (session_keep_value(j->server, x, name, json_object_get(item, "value"),
                                       (uint64_t)json_integer_value(json_object_get(item, "version"))) != 0)
                        break;
        }
        json_decref(j->in_session.carried);
        json_decref(j->carry_values);
        json_decref(j->observed);
        json_decref(j->in_session.ccs);
        if (j->proposal)
                cognition_proposal_deinit(j->proposal);
        free(TAKE_PTR(j->proposal));
        j->in_session.carried = j->carry_values = j->observed = NULL;
        j->in_session.ccs = NULL;
        j->in_session.observed = NULL;
        j->in_session.proposal = NULL;
        session_leave(j->server, x);
        session_unref(j->server, x);
}

/* The operator's read or write of a section, between two turns. */
static int session_carry_entered(Job *j, Session *x, const char *section, const json_t *value, Diag *reterr) {
        _cleanup_json_ json_t *values = NULL;
        _cleanup_txn_ Txn *t = NULL;
        uint64_t version;
        const json_t *has;
        char who[32];
        size_t n;
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
        e = carry_check(x->sections, section, value, &n, reterr) ?: carry_reserve(x->carry, section, n, reterr);
        if (e != 0)
                return e == CARRY_E_UNLOCKED ? SERVE_E_REFUSED : e > 0 ? SERVE_E_INVALID_PARAMS : e;
        snprintf(who, sizeof(who), "uid:%u", (unsigned)j->peer->uid);
        e = store_begin(j->server->store, true, &t, reterr)
                        ?: engine_session_carry(t, &(SessionCarry){.session = x->id, .who = who, .section = section,
                                                                   .value = value}, &version, reterr)
                        ?: store_commit(TAKE_PTR(t), reterr);
        if (e != 0)
                return session_code(e, reterr);
        j->result = json_pack("{s:I}", "version", (json_int_t)version);
        return session_keep_value(j->server, x, section, value, version);
}

int session_carry(Job *j, Diag *reterr) {
        Session *x;
        int e = session_of(j, &x, reterr);

        if (e != 0)
                return e;
        e = session_enter(j->server, x, false, j->cancel, reterr);
        if (e == 0) {
                e = session_carry_entered(j, x, json_text(json_object_get(j->params, "section")),
                                          json_object_get(j->params, "value"), reterr);
                session_leave(j->server, x);
        }
        session_unref(j->server, x);
        return e;
}
