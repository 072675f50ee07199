/* Runs: tests. A run of an agent in a store of its own, and an interpreter that says what the test wants: notes go through the pipeline as they do for
 * `lethe promote`. */
#pragma once

#include "belief/belief.h"
#include "belief/promote.h"
#include "engine/fold.h"
#include "engine/scope.h"
#include "ledger/ledger.h"
#include "tests/support/store-fixture.h"

#include <errno.h>
#include <string.h>

#define PIPE_WHO "uid:1000"
#define PIPE_NO_CUE "Something about the weather." /* what the built-in interpreter makes nothing of */

typedef struct Pipe {
        StoreFixture f;
        NoteRun run;
        const char *answer; /* of the interpreter; NULL: the built-in one */
        json_t *last;       /* the newest outcome; owned */
        char *told;         /* the newest line that the interpreter got; owned */
        Promoted sum;
        WaitLimits limits; /* of the age of pending items */
} Pipe;

static inline void pipe_deinit(Pipe *p) {
        json_decref(p->last);
        free(p->told);
        store_fixture_deinit(&p->f);
}
#define _cleanup_pipe_ _cleanup_(pipe_deinit)

static inline NoteRun pipe_begin(Pipe *p, const char *agent) {
        Txn *t = store_fixture_begin(&p->f, true);
        NoteRun run;

        cr_assert_eq(engine_run_begin(t, PIPE_WHO, NULL, NULL, agent, NULL, &run, &p->f.d), 0, "%s", p->f.d.text);
        store_fixture_commit(&p->f, t);
        return run;
}

static inline void pipe_init(Pipe *p) {
        *p = (Pipe){.limits = WAIT_LIMITS_DEFAULT};
        store_fixture_init(&p->f, STORE_WRITE);
        p->run = pipe_begin(p, "alice");
}

static inline int pipe_ask(void *user, const char *line, char **ret_line, Diag *reterr) {
        Pipe *p = user;

        (void)reterr;
        free(p->told);
        p->told = strdup(line);
        *ret_line = strdup(p->answer);
        return p->told && *ret_line ? 0 : -ENOMEM;
}

static inline int pipe_heard(void *user, uint64_t note, const json_t *outcome) {
        Pipe *p = user;

        (void)note;
        json_decref(p->last);
        p->last = json_deep_copy(outcome);
        return 0;
}

static inline void pipe_note(Pipe *p, const char *run, NoteRole role, const char *text) {
        Txn *t = store_fixture_begin(&p->f, true);
        uint64_t number;

        cr_assert_eq(engine_note_add(t, run, role, text, strlen(text), NULL, &number, &p->f.d), 0, "%s", p->f.d.text);
        store_fixture_commit(&p->f, t);
}

/* Keys that live in a test. */
static const KeySet *pipe_keys;
static inline const KeySet *pipe_hold(void) {
        return pipe_keys;
}
static inline void pipe_let_go(const KeySet **held) {
        *held = NULL;
}

static inline void pipe_promote(Pipe *p, const char *run, unsigned batch, const KeySet *keys) {
        Advisor advisor = {.name = "test", .ask = pipe_ask, .userdata = p};
        const KeyHold hold = {pipe_hold, pipe_let_go};
        bool of_store;
        int r;

        pipe_keys = keys;
        r = belief_promote(p->f.store, &(Promoting){.run = run, .batch = batch, .advisor = p->answer ? &advisor : NULL,
                                                    .policy = &RESOLVE_POLICY_DEFAULT, .limits = &p->limits,
                                                    .who = PIPE_WHO, .keys = &hold, .told = pipe_heard, .user = p},
                           &p->sum, &of_store, &p->f.d);

        cr_assert_eq(r, 0, "promote: %d %s", r, p->f.d.text);
}

/* One note of the agent, as the request says (NULL: as the built-in interpreter says): what became of it, borrowed. */
static inline const json_t *pipe_say(Pipe *p, const char *note, const char *request) {
        p->answer = request;
        pipe_note(p, p->run.id, NOTE_AGENT, note);
        pipe_promote(p, p->run.id, 1, NULL);
        return p->last;
}

static inline const char *pipe_word(const json_t *o, const char *member) {
        const char *s = json_string_value(json_object_get(o, member));

        return s ? s : "";
}

#define pipe_expect(o_, outcome_, code_)                                                                                                    \
        cr_expect(strcmp(pipe_word(o_, "outcome"), outcome_) == 0 && strcmp(pipe_word(o_, "code"), code_) == 0, "%s %s: %s, wanted %s %s", \
                  pipe_word(o_, "outcome"), pipe_word(o_, "code"), pipe_word(o_, "message"), outcome_, code_)

static inline uint64_t pipe_scope(Txn *t) {
        uint64_t scope;

        cr_assert_eq(scope_get(t, SCOPE_DEFAULT, &scope), 0);
        return scope;
}

/* A row as people read it; NULL: there is none. New reference. */
static inline json_t *pipe_row(Pipe *p, const char *bucket, const char *id) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        json_t *row = NULL;
        Diag d;

        return belief_get(t, pipe_scope(t), kind_from_name(bucket), id, &row, &d) == 0 ? row : NULL;
}

/* The newest change of a row. New reference. */
static inline json_t *pipe_change(Pipe *p, const char *bucket, const char *id) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        _cleanup_json_ json_t *list = NULL;
        Diag d;

        cr_assert_eq(belief_history(t, pipe_scope(t), kind_from_name(bucket), id, &list, &d), 0, "%s", d.text);
        return json_incref(json_array_get(list, json_array_size(list) - 1));
}

static inline uint64_t pipe_rows(Pipe *p, Table table) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        uint64_t n;

        cr_assert_eq(table_rows(t, table, &n), 0);
        return n;
}

static inline Wait pipe_wait(Pipe *p, uint64_t id) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        Wait w;

        cr_assert_eq(wait_get(t, id, &w), 0, "pending %lu", id);
        return w;
}

/* The tables are the fold of the ledger. */
static inline void pipe_holds(Pipe *p) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        FoldResult fold;
        Diag d;

        cr_assert_eq(engine_fold_compare(t, &fold, &d), 0, "%s", d.text);
        cr_expect_null(fold.how, "table %s, key %s: %s", table_name(fold.table), fold.key, fold.how);
}
