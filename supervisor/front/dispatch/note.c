/* Runs: supervisor. note.add and canon.read. A note goes into working memory of this region's own run, whose id is the
 * region's, or the session's for a turn (G-1, G-2, G-75); reads see current shared belief, only rows (G-51). Only promotion writes shared state (G-8). */
#include "dispatch/memory-target.h"

#include "base/clock.h"
#include "belief/belief.h"
#include "engine/note.h"
#include "engine/past.h"
#include "engine/scope.h"
#include "region/region-key.h"

#include <errno.h>
#include <string.h>

/* The skill, or "exec" for a program; "skill" for a skill whose name is not valid as an agent's name. */
static const char *note_agent(const Grant *g) {
        return !g->skill_dir ? "exec" : scope_name_valid(g->skill_name) ? g->skill_name : "skill";
}

const char *dispatch_run(const Dispatch *d) {
        return d->turn ? d->turn->session : d->region;
}

/* The run of a session lasts over its turns: only the first turn that adds a note begins the run. */
static int note_run_need(Dispatch *d, Txn *t, Diag *reterr) {
        const char *run = dispatch_run(d);
        NoteRun found;
        uint64_t scope;
        int r = d->turn ? engine_run_get(t, run, &found, reterr) : ENGINE_E_NO_RECORD;

        if (r == ENGINE_E_NO_RECORD)
                return engine_run_begin(t, NULL, d->region, run, note_agent(d->grant), d->grant->notes, &found, reterr);
        r = r ?: scope_find(t, d->grant->notes, &scope, reterr);
        return r == 0 && found.scope != scope
                       ? diag(reterr, ENGINE_E_NO_RECORD, "run %s belongs to another scope than %s", run, d->grant->notes)
                       : r;
}

/* A single transaction: the first note creates its run. A refusal leaves no note and no run. */
static int note_add(Dispatch *d, NoteRole role, const char *text, size_t n, uint64_t *ret_number, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_keys_ const KeySet *keys = NULL;
        const char *run = dispatch_run(d);
        int r = store_begin(d->store, true, &t, reterr);

        if (r != 0)
                return RPC_E_INTERNAL;
        if (d->notes == 0)
                r = note_run_need(d, t, reterr);
        if (r == 0) {
                keys = region_keys_hold();
                r = strcmp(run, d->region) == 0
                            ? engine_note_add(t, run, role, text, n, keys, ret_number, reterr)
                            : engine_note_add_by(t, run, d->region, role, text, n, keys, ret_number, reterr);
                region_keys_let_go(&keys);
        }
        if (r < 0)
                return diag(reterr, RPC_E_INTERNAL, "note: %s", store_strerror(r));
        if (r > 0)
                return (int)rpc_of_engine((EngineCode)r);
        return store_commit(TAKE_PTR(t), reterr) == 0 ? RPC_OK : RPC_E_INTERNAL;
}

int dispatch_do_note_add(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *text, *role = "agent";
        NoteRole is = NOTE_AGENT;
        size_t n, n_role = 5;
        uint64_t number;
        int r;

        if (json_take(params, "{s:s%, s?:s%}", "text", &text, &n, "role", &role, &n_role) < 0)
                return dispatch_bad_params(params, "{text: string, role?: \"agent\" or \"tool_result\"}", reterr);
        if (strlen(role) != n_role || !(is = note_role_from_name(role)))
                return diag(reterr, RPC_E_INVALID_PARAMS, "role is to be \"agent\" or \"tool_result\"");
        if (n == 0 || memchr(text, 0, n))
                return diag(reterr, RPC_E_INVALID_PARAMS, "text is to be a text that is not empty and has no NUL");
        if (!d->grant->notes)
                return diag(reterr, RPC_E_NOT_GRANTED,
                            "this region may keep no notes: the manifest must say \"notes\"");
        if (n > NOTE_TEXT_MAX)
                return diag(reterr, RPC_E_TOO_LARGE, "a note of %zu bytes: at most %d are allowed", n, NOTE_TEXT_MAX);
        if (d->note_requests >= NOTE_REQUESTS_MAX)
                return diag(reterr, RPC_E_TOO_MANY,
                            "%d notes of one invocation are the most, the refused ones with them", NOTE_REQUESTS_MAX);
        d->note_requests++;
        r = note_add(d, is, text, n, &number, reterr);
        if (r != 0)
                return r;
        d->notes++;
        return dispatch_answer_held(d, json_pack("{s:o}", "note", json_u64(number)), ret_result);
}

/* Reads the parameters, as far as possible without the store. */
static int canon_take_params(json_t *params, BeliefAsk *ret, const char **ret_id, const char **ret_at, Diag *reterr) {
        const char *bucket = NULL, *id = NULL, *state = NULL, *after = NULL;
        json_t *limit = NULL;
        int r;

        *ret_at = NULL;
        if (json_take(params, "{s?:s, s?:s, s?:s, s?:s, s?:o, s?:s}", "bucket", &bucket, "id", &id, "state", &state,
                      "after", &after, "limit", &limit, "at", ret_at) < 0)
                return dispatch_bad_params(params, "{bucket?: string, id?: string, state?: string, after?: string, "
                                           "limit?: integer, at?: string}", reterr);
        *ret = (BeliefAsk){.bytes = BELIEF_ROWS_BYTES, .after = after, .upto = PAST_NOW};
        r = dispatch_take_limit(limit, BELIEF_ROWS_STANDARD, BELIEF_ROWS_MAX, &ret->limit, reterr);
        if (r != 0)
                return r;
        if (bucket && kind_class(ret->bucket = kind_from_name(bucket)) != CLASS_CANON)
                return diag(reterr, RPC_E_INVALID_PARAMS,
                            "bucket is to be plan, constraints, issues, decisions, results, task_state or learnings");
        if (state && !(ret->state = record_state_from_name(state)))
                return diag(reterr, RPC_E_INVALID_PARAMS,
                            "state is to be open, resolved, active, invalidated or superseded");
        if (id && (!bucket || state || after || limit))
                return diag(reterr, RPC_E_INVALID_PARAMS, "id goes with bucket and at, and with nothing else");
        *ret_id = id;
        return 0;
}

static int canon_look(Dispatch *d, Txn *t, const BeliefAsk *ask, const char *id, json_t **ret_rows,
                      char next[static BELIEF_PLACE_MAX], Diag *reterr) {
        json_t *row = NULL;
        uint64_t scope;
        int r = scope_find(t, d->grant->canon, &scope, reterr);

        if (r == ENGINE_E_NO_SCOPE && strcmp(d->grant->canon, SCOPE_DEFAULT) == 0) { /* no write was committed yet */
                if (id)
                        return diag(reterr, ENGINE_E_NO_RECORD, "there is no shared belief yet");
                *ret_rows = json_array();
                return *ret_rows ? 0 : -ENOMEM;
        }
        if (r != 0)
                return r;
        if (!id)
                return belief_page(t, scope, ask, ret_rows, next, reterr);
        r = belief_get_at(t, scope, ask->bucket, id, ask->upto, &row, reterr);
        if (r == 0 && !(*ret_rows = json_pack("[o]", row)))
                r = -ENOMEM;
        return r;
}

int dispatch_do_canon_read(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        _cleanup_json_ json_t *rows = NULL;
        _cleanup_txn_ Txn *t = NULL;
        char next[BELIEF_PLACE_MAX] = "";
        const char *id = NULL, *at;
        BeliefAsk ask;
        int r = canon_take_params(params, &ask, &id, &at, reterr);

        if (r != 0)
                return r;
        if (!d->grant->canon)
                return diag(reterr, RPC_E_NOT_GRANTED,
                            "this region may not read shared belief: the manifest must say \"canon\"");
        if (d->belief_reads >= BELIEF_READS_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%d reads of shared belief are the most of one invocation",
                            BELIEF_READS_MAX);
        d->belief_reads++;
        r = store_begin(d->store, false, &t, reterr);
        if (r != 0)
                return RPC_E_INTERNAL;
        r = (at ? past_moment(t, at, clock_real_usec(), &ask.upto, reterr) : 0)
                    ?: canon_look(d, t, &ask, id, &rows, next, reterr);
        if (r == ENGINE_E_BAD_NAME)
                return diag(reterr, RPC_E_INVALID_PARAMS, "after is to be what \"next\" of an answer said");
        if (r != 0)
                return r > 0 ? (int)rpc_of_engine((EngineCode)r)
                             : diag(reterr, RPC_E_INTERNAL, "shared belief: %s", store_strerror(r));
        d->belief_rows += json_array_size(rows);
        r = dispatch_keep_disputes(d, d->grant->canon, rows)
                        ?: dispatch_read_rows(d, &d->belief, d->grant->canon, NULL, NULL, rows);
        if (r < 0)
                return r;
        return dispatch_answer(json_pack("{s:O, s:s*}", "rows", rows, "next", *next ? next : NULL), ret_result);
}
