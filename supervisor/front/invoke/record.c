/* Runs: supervisor. */
#include "invoke/record.h"

#include "base/id.h"
#include "cognition/cognition.h"
#include "invoke/receipt.h"
#include "engine/engine.h"
#include "engine/scope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Regions invisible to a reader so far: of batches that are left (store_keep_ahead()), and of the batch under way. */
#define COUNT_SLACK 512
#define EVENT_DENIALS_BYTES 40000 /* an entry of the ledger has at most 65,535 bytes */

static int store_code(int e) {
        return e > 0 ? RECORD_E_STORE : e;
}

static int record_commit(Txn *t, Txn **ret_rest, Diag *reterr) {
        return ret_rest ? store_commit_ahead(t, ret_rest, reterr) : store_commit(t, reterr);
}

/* Living regions of the skill; a session between two turns is none. */
static int check_of_skill(Txn *t, const Grant *g, Diag *reterr) {
        RegionRow *rows = NULL;
        size_t n = 0;
        uint64_t same = 0;
        int e;

        if (g->max_of_skill == 0)
                return 0;
        e = engine_region_list(t, &rows, &n);
        for (size_t i = 0; e == 0 && i < n; i++) {
                const char *name = json_text(json_object_get(json_object_get(rows[i].detail, "skill"), "name"));

                same += name && strcmp(name, g->skill_name) == 0 && !json_object_get(rows[i].detail, "session");
        }
        region_rows_free(rows, n);
        if (e == 0 && same >= g->max_of_skill)
                return diag(reterr, RECORD_E_LIMIT,
                            "%" PRIu64 " regions of skill %s are alive: policy allows %" PRIu64
                            " at once (concurrency)",
                            same, g->skill_name, g->max_of_skill);
        return e;
}

static int check_scope(Txn *t, const char *field, const char *scope, Diag *reterr) {
        uint64_t number;
        /* the first write makes the default scope */
        int e = strcmp(scope, SCOPE_DEFAULT) == 0 ? 0 : scope_get(t, scope, &number);

        return e == -ENOENT
                       ? diag(reterr, RECORD_E_SCOPE,
                              "lethe.json#%s is \"%s\": there is no scope of that name in this store; `lethe scope create %s` makes one",
                              field, scope, scope)
                       : e;
}

/* A missing scope is refused before the skill runs. A callback runs all the same: the scope may have gone
 * meanwhile. */
static int check_scopes(Txn *t, const Region *r, Diag *reterr) {
        const Grant *g = r->grant;
        char field[40];
        int e = 0;

        if (r->callback)
                return 0;
        if (g->notes)
                e = check_scope(t, "/notes/scope", g->notes, reterr);
        if (e == 0 && g->canon)
                e = check_scope(t, "/canon/scope", g->canon, reterr);
        if (e == 0 && g->kernels)
                e = check_scope(t, "/kernels/scope", g->kernels, reterr);
        for (size_t i = 0; e == 0 && i < g->n_memory; i++) {
                snprintf(field, sizeof(field), "/memory/%zu/scope", i);
                e = check_scope(t, field, g->memory[i].scope, reterr);
        }
        return e;
}

static int put_pid(Txn *t, const Region *r) {
        _cleanup_free_ char *cgroup = NULL;
        int e;

        cgroup = region_cgroup_text(&r->cgroup, &e);
        return e < 0 ? e
                     : engine_region_pid(t, r->id, (uint64_t)r->spawned.pid, r->spawned.start_ticks, cgroup,
                                         r->spawned.scratch);
}

/* For the certificate: the tool's version, the user, and the machine, by a hash of its name. */
static json_t *who_runs(const Grant *g) {
        char host[HOST_ID_MAX];

        return json_pack("{s:s?, s:o, s:s, s:o*}", "host", host_id(host), "uid", json_u64(getuid()), "version",
                         LETHE_VERSION, "client_uid", g->client ? json_u64(g->client) : NULL);
}

static json_t *release_names(const Grant *g) {
        json_t *a = json_array();

        for (size_t i = 0; a && i < g->n_releases; i++)
                if (json_array_append_new(a, json_string(g->releases[i].entry)) < 0) {
                        json_decref(a);
                        return NULL;
                }
        return a;
}

static void uncount(_Atomic uint64_t **counted) {
        if (*counted)
                atomic_fetch_sub(*counted, 1);
}

/* "uid:1000" of the client. */
static void record_who(const Region *r, char ret[static 32]) {
        snprintf(ret, 32, "uid:%u", (unsigned)(r->grant->client ? r->grant->client : getuid()));
}

static int record_observe(Txn *t, const Region *r, DispatchTurn *turn, Diag *reterr) {
        char who[32];

        if (!turn || !turn->cognition)
                return 0;
        record_who(r, who);
        return cognition_advised(t, &(CognitionTurnOf){.who = who, .session = turn->cognition, .input = turn->observed,
                                                       .of = turn->session, .proposal = turn->proposal},
                                 &turn->ccs, reterr);
}

/* The region is not recorded, but the refusal of its state is. */
static int record_observe_refused(Store *s, const Region *r, DispatchTurn *turn, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        int e = store_begin(s, true, &t, reterr);

        if (e != 0)
                return store_code(e);
        e = record_observe(t, r, turn, reterr);
        if (e < 0)
                return e;
        if (e > 0) {
                Diag failed;

                e = store_commit(TAKE_PTR(t), &failed);
                if (e != 0)
                        return diag(reterr, store_code(e), "%s", failed.text);
        }
        json_decref(TAKE_PTR(turn->ccs));
        return RECORD_E_COGNITION;
}

int record_start(Store *s, Region *r, DispatchTurn *turn, const RunObject *object, const char *tier, bool with_pid, json_t **ret_copies,
                 json_t **ret_evidence, Txn **ret, Diag *reterr) {
        _cleanup_json_ json_t *grant = grant_to_json(r->grant), *by = who_runs(r->grant);
        _cleanup_json_ json_t *release = release_names(r->grant);
        _cleanup_txn_ Txn *t = NULL;
        bool above = false;
        const RegionStart start = {
                .region = r->id,
                .skill_name = r->grant->skill_name,
                .skill_digest = r->grant->skill_digest,
                .tier = tier,
                .start = r->start,
                .started_ahead = r->begun_ahead ? r->grant->interpreter : NULL,
                .grant = grant,
                .reads = (const char *const *)r->grant->reads,
                .writes = (const char *const *)r->grant->writes,
                .slots = r->grant->slots,
                .lineage = lineage_name(r->grant->lineage),
                .by = by,
                .supervisor_pid = (uint64_t)getpid(),
                .parent = *r->parent ? r->parent : NULL,
                .session = r->session,
                .ret_turn = &r->turn,
                .object = object ? object->object : NULL,
                .trace = object ? object->trace : NULL,
                .callback = r->callback,
                .callback_again = r->callback_again,
                .folder = r->grant->n_releases > 0 ? r->grant->skill_folder : NULL,
                .release = r->grant->n_releases > 0 ? release : NULL,
                .max_regions = r->grant->max_regions,
                .gates = r->grant->gates,
                .ret_discards = &above,
                .ret_evidence = ret_evidence,
        };
        _cleanup_(uncount) _Atomic uint64_t *counted = NULL;
        int e;

        if (!grant || !by || !release)
                return -ENOMEM;
        if (r->proxy.n_publishes > 0)
                json_object_set_new(json_object_get(grant, "network"), "published", region_proxy_published(&r->proxy));
        e = store_begin(s, true, &t, reterr);
        if (e != 0)
                return store_code(e);
        if (r->ahead) { /* in the writer's turn: count and row appear together */
                counted = store_regions_ahead(s);
                atomic_fetch_add(counted, 1);
        }
        e = check_of_skill(t, r->grant, reterr) ?: check_scopes(t, r, reterr);
        if (e != 0)
                return e;
        e = engine_region_start(t, &start, &r->seq_allocated, ret_copies, reterr);
        if (e == ENGINE_E_GATE) {
                Diag failed;

                e = store_commit(TAKE_PTR(t), &failed);
                return e == 0 ? RECORD_E_GATE : diag(reterr, store_code(e), "%s", failed.text);
        }
        if (e > 0)
                return e == ENGINE_E_TOO_MANY ? RECORD_E_LIMIT : RECORD_E_SLOTS;
        r->discards = above || r->owner_failed;
        if (e == 0 && (e = record_observe(t, r, turn, reterr)) > 0) {
                store_abort(TAKE_PTR(t));
                return record_observe_refused(s, r, turn, reterr);
        }
        if (e == 0 && r->given)
                e = dispatch_record_given(t, r->grant, r->id, r->given);
        if (e == 0 && with_pid)
                e = put_pid(t, r);
        if (e != 0)
                return store_code(e);
        counted = NULL;
        *ret = TAKE_PTR(t);
        return 0;
}

int record_started(Store *s, Region *r, Txn *t, Txn **ret_rest, Diag *reterr) {
        int e = record_commit(t, ret_rest, reterr);

        if (e != 0 && r->ahead)
                atomic_fetch_sub(store_regions_ahead(s), 1);
        return store_code(e);
}

/* Far from the limit a reader's count will do; near the limit a writer counts. */
static int count_alive(Store *s, bool turn, uint64_t *ret, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        int e = turn ? store_begin(s, true, &t, reterr) : store_begin_at_once(s, &t, reterr);

        return e == 0 ? engine_region_count(t, ret) : e;
}

/* From here on the region counts against max_regions. */
static void count_it(Store *s, Region *r) {
        if (r->ahead)
                atomic_fetch_sub(store_regions_ahead(s), 1);
        r->ahead = false;
}

int record_taken(Store *s, Region *r, Diag *reterr) {
        uint64_t alive, most = r->grant->max_regions;
        int e;

        count_it(s, r);
        if (most == 0)
                return 0;
        e = count_alive(s, false, &alive, reterr);
        if (e == 0 && alive + COUNT_SLACK > most)
                e = count_alive(s, true, &alive, reterr);
        if (e == 0 && alive > most)
                e = diag(reterr, RECORD_E_LIMIT,
                         "%" PRIu64 " regions are alive in this store: policy allows %" PRIu64 " at once (max_regions)",
                         alive - 1, most);
        else
                e = store_code(e);
        if (e != 0) {
                atomic_fetch_add(store_regions_ahead(s), 1);
                r->ahead = true;
        }
        return e;
}

int record_pid(Store *s, const Region *r, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        int e = store_begin(s, true, &t, reterr) ?: put_pid(t, r) ?: store_commit(TAKE_PTR(t), reterr);

        return store_code(e);
}

/* Takes fields; NULL: out of memory. */
static int record_add(Txn *t, const Region *r, const char *type, json_t *fields) {
        _cleanup_json_ json_t *owned = fields;

        return owned ? engine_event(t, r->id, type, owned, NULL) : -ENOMEM;
}

/* The same in a transaction of its own. */
static int record_event(Store *s, const Region *r, const char *type, json_t *fields, Diag *reterr) {
        _cleanup_json_ json_t *owned = fields;
        _cleanup_txn_ Txn *t = NULL;
        int e = !owned ? -ENOMEM
                       : store_begin(s, true, &t, reterr)
                                 ?: record_add(t, r, type, TAKE_PTR(owned))
                                 ?: store_commit(TAKE_PTR(t), reterr);

        return store_code(e);
}

int record_fault(Store *s, const Region *r, Diag *reterr) {
        _cleanup_json_ json_t *fields = json_pack("{s:s, s:s?, s:s}", "outcome", outcome_name(r->outcome), "resource",
                                                  r->breach.resource, "reason", r->reason);

        if (!fields || receipt_breach(r, fields) < 0)
                return -ENOMEM;
        return record_event(s, r, "region.faulted", TAKE_PTR(fields), reterr);
}

int record_discard(Store *s, const Region *r, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        char who[32];
        int e = store_begin(s, true, &t, reterr);

        record_who(r, who);
        if (e == 0)
                e = engine_region_discard(t, r->id, who, reterr) ?: store_commit(TAKE_PTR(t), reterr);
        return store_code(e);
}

int record_left(Store *s, const Region *r, const TeardownEvidence *evidence, const char *why, Diag *reterr) {
        return record_event(s, r, "region.left",
                            json_pack("{s:s, s:i, s:s, s:o?}", "outcome", outcome_name(r->outcome), "tasks",
                                      (int)r->left, "reason", why, "teardown",
                                      receipt_teardown(evidence, r->callbacks)),
                            reterr);
}

int record_layer_kept(Store *s, const Region *r, const char *digest, size_t paths, Diag *reterr) {
        return record_event(s, r, "layer.kept", json_pack("{s:s, s:o}", "digest", digest, "paths", json_u64(paths)), reterr);
}

int record_layer_dropped(Store *s, const char *region, const char *why, Diag *reterr) {
        _cleanup_json_ json_t *fields = json_pack("{s:s}", "reason", why);
        _cleanup_txn_ Txn *t = NULL;
        int e = fields ? store_begin(s, true, &t, reterr) : -ENOMEM;

        e = e ?: engine_event(t, region, "layer.dropped", fields, NULL);
        return store_code(e ?: store_commit(TAKE_PTR(t), reterr));
}

/* Proposals of the region, or of the callback's owner, count after exit code 0 alone (I-78). A breach has its
 * own record. */
static bool unkept(const Region *r) {
        return !outcome_is_breach(r->outcome) &&
               (r->owner_failed || !outcome_is_kept(r->outcome, r->status, r->grant->commit));
}

/* A turn that did not succeed leaves its session as before, whatever `commit` says (I-86). */
static int record_carry(Txn *t, const Region *r, Dispatch *dispatch, const RegionEnd *end, const char *discards) {
        const bool success = r->outcome == OUTCOME_EXITED && r->status == 0;

        return dispatch_carry_end(dispatch, t, end->keep && success && !*discards,
                                  *discards ? discards : r->outcome == OUTCOME_EXITED ? "not_success" : outcome_name(r->outcome));
}

/* The decision of a turn (C-34, C-35), under the condition of its carried values. */
static int record_decision(Txn *t, const Region *r, Dispatch *dispatch, const RegionEnd *end, const char *discards) {
        char who[32];

        if (!r->io.out.kept || !end->keep || r->outcome != OUTCOME_EXITED || r->status != 0 || *discards)
                return 0;
        record_who(r, who);
        return dispatch_ccs_end(dispatch, t, who, r->io.out.kept, r->io.out.n_kept);
}

/* The outcome of an object's execution. */
static int record_outcome(Txn *t, const Region *r, const RunObject *x, Dispatch *dispatch, const json_t *ended,
                          const char *discards, Diag *reterr) {
        const uint64_t usec = r->ended_usec > r->declared_usec ? r->ended_usec - r->declared_usec : 0;

        return x->ended(x->userdata, t, ended, usec, dispatch ? dispatch_result(dispatch) : NULL, discards, reterr);
}

/* The connections through lethe-proxy, or the requests to routes, the first of them within the bound of an entry. */
static json_t *record_connections(const json_t *all, const char *name, uint64_t n_others) {
        _cleanup_json_ json_t *list = json_array();
        size_t n = 2, i;
        json_t *one;

        json_array_foreach(all, i, one) {
                n += json_dumpb(one, NULL, 0, JSON_COMPACT) + 1;
                if (n > EVENT_DENIALS_BYTES)
                        break;
                if (!list || json_array_append(list, one) < 0)
                        return NULL;
        }
        return json_pack("{s:O, s:o}", name, list, "others", json_u64(json_array_size(all) - json_array_size(list) + n_others));
}

int record_end(Store *s, Region *r, Dispatch *dispatch, const RunObject *object, const TeardownEvidence *evidence,
               Txn **ret_rest, Diag *reterr) {
        _cleanup_json_ json_t *released = NULL, *ended = receipt_ending(r);
        _cleanup_txn_ Txn *t = NULL;
        RegionEnd end = {.region = r->id,
                         .keep = !outcome_is_breach(r->outcome) && !unkept(r),
                         .why = unkept(r) ? "not_success" : NULL};
        char discards[ENGINE_DISCARDS_MAX] = "";
        int e;

        released = json_pack("{s:o?, s:o?, s:o, s:o?, s:o*}", "teardown", receipt_teardown(evidence, r->callbacks), "usage",
                             receipt_usage(r), "denials", json_u64(r->denials.total), "host_user", receipt_user(r), "network",
                             region_proxy_json(&r->proxy));
        if (!released || !ended)
                return -ENOMEM;
        end.released = released;
        end.ended = ended;
        e = store_begin(s, true, &t, reterr);
        if (e == 0)
                count_it(s, r); /* in the turn in which the row goes: a count sees both, or neither */
        if (e == 0 && r->outcome == OUTCOME_CANCELLED)
                e = record_add(t, r, "region.cancelled",
                               json_pack("{s:s, s:o}", "reason", r->reason, "signal",
                                         r->status > 0 ? json_integer(r->status) : json_null()));
        /* A passed bound has an event of its own (I-33). */
        if (e == 0 && evidence->usec > evidence->bound_usec)
                e = record_add(t, r, "region.bound_passed",
                               json_pack("{s:o, s:o, s:o}", "bound_usec", json_u64(evidence->bound_usec), "usec",
                                         json_u64(evidence->usec), "store_wait_usec",
                                         json_u64(evidence->store_wait_usec)));
        if (e == 0 && r->denials.total > 0)
                e = record_add(t, r, "region.denied",
                               json_pack("{s:o?}", "denials", denials_to_json(&r->denials, EVENT_DENIALS_BYTES)));
        if (e == 0 && r->proxy.ends)
                e = record_add(t, r, "region.connected", record_connections(r->proxy.ends, "connections", r->proxy.n_others));
        if (e == 0 && r->proxy.calls)
                e = record_add(t, r, "region.routed", record_connections(r->proxy.calls, "calls", r->proxy.n_other_calls));
        if (e == 0 && dispatch)
                e = dispatch_reads_end(dispatch, t);
        if (e == 0)
                e = engine_region_discards(t, r->id, discards);
        if (object && end.keep && !object->keeps(dispatch ? dispatch_result(dispatch) : NULL)) {
                end.keep = false;
                end.why = "not_success";
        }
        if (e == 0 && dispatch && dispatch_holds_memory(dispatch))
                e = dispatch_memory_end(dispatch, t, end.keep && !*discards,
                                        end.keep && *discards ? discards : end.why ?: outcome_name(r->outcome));
        if (e == 0 && dispatch && r->session)
                e = record_carry(t, r, dispatch, &end, discards) ?: record_decision(t, r, dispatch, &end, discards);
        if (e == 0)
                e = engine_region_end(t, &end, &r->seq_released, &r->seq_ended, reterr);
        if (e == 0 && object)
                e = record_outcome(t, r, object, dispatch, ended, discards, reterr);
        if (e == 0)
                /* memory is visible to others with the answer */
                e = record_commit(TAKE_PTR(t),
                                  r->session || (dispatch && dispatch_holds_memory(dispatch)) ? NULL : ret_rest, reterr);
        if (e == 0 && !outcome_is_breach(r->outcome))
                snprintf(r->discarded, sizeof(r->discarded), "%s", end.why ?: discards);
        return store_code(e);
}
