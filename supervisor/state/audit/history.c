#include "audit/history.h"
#include "audit/map.h"
#include "base/clock.h"
#include "belief/region-events.h"
#include "engine/engine.h"
#include "ledger/proof.h"
#include "record/rows.h"
#include "store/hooks.h"

#include <errno.h>
#include <string.h>

static void history_free_facts(RegionFacts *f) {
        if (!f)
                return;
        free(f->skill);
        free(f->digest);
        free(f->tier);
        free(f->asked);
        free(f->scope);
        json_decref(f->beyond);
        json_decref(f->session);
        json_decref(f->turn);
        json_decref(f->trace);
        free(f->outcome);
        free(f->reason);
        json_decref(f->by);
        json_decref(f->teardown);
        json_decref(f->usage);
        free(f);
}

void history_deinit(History *h) {
        for (size_t i = 0; i < h->n; i++)
                history_free_facts(h->regions[i]);
        free(h->regions);
        objects_facts_deinit(&h->objects);
        *h = (History){0};
}

int history_unfold(Txn *t, uint64_t seq, json_t *o) {
        _cleanup_json_ json_t *fields = NULL;
        char hex[HASH_HEX_MAX];
        Bytes body, nonce;
        int r;

        if (strcmp(json_str(o, "fields"), "body") != 0)
                return 0;
        r = body_get(t, seq, &nonce, &body);
        if (r == 0) {
                hash_hex(nonce.p, nonce.n + body.n, hex); /* one row: the payload follows its nonce */
                if (strcmp(hex, json_str(json_object_get(o, "body"), "sha256")) != 0)
                        return -EUCLEAN;
                r = json_parse(body.p, body.n, body.n, JSON_DEPTH_DEFAULT, &fields, NULL);
        }
        if (r == -ENOENT) /* erased: the entry alone is left */
                return 0;
        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        return json_object_update_missing(o, fields) < 0 ? -ENOMEM : 0;
}

static int history_take_allocated(RegionFacts *f, const json_t *o) {
        const json_t *grant = json_object_get(o, "grant"), *skill = json_object_get(o, "skill");
        const char *scope = json_str(grant, "key_scope");

        f->skill = strdup(json_str(skill, "name"));
        f->digest = strdup(json_str(skill, "digest"));
        f->tier = strdup(json_str(o, "tier"));
        f->asked = strdup(json_str(grant, "discipline"));
        f->scope = strdup(*scope ? scope : "invocation");
        f->exit_code = -1;
        snprintf(f->parent, sizeof(f->parent), "%s", json_str(o, "parent"));
        snprintf(f->name, sizeof(f->name), "%s", json_str(grant, "name"));
        f->session = json_incref(json_object_get(o, "session"));
        f->turn = json_incref(json_object_get(o, "turn"));
        f->trace = json_incref(json_object_get(grant, "trace"));
        f->beyond = json_incref(json_object_get(grant, "beyond_parent"));
        f->outcome = strdup("");
        f->reason = strdup("");
        if (json_get_u64(json_object_get(grant, "cancel_bound_usec"), &f->bound_usec) < 0)
                f->bound_usec = 0;
        f->by = json_incref(json_object_get(o, "by"));
        return f->skill && f->digest && f->tier && f->asked && f->scope && f->outcome && f->reason ? 0 : -ENOMEM;
}

static int history_take_ended(RegionFacts *f, const json_t *o) {
        char *outcome = strdup(json_str(o, "outcome")), *reason = strdup(json_str(o, "reason"));

        free(f->outcome);
        free(f->reason);
        f->outcome = outcome;
        f->reason = reason;
        if (json_is_integer(json_object_get(o, "exit_code")))
                f->exit_code = (int)json_integer_value(json_object_get(o, "exit_code"));
        f->signal = (int)json_integer_value(json_object_get(o, "signal"));
        f->hook_end = f->n_released == 0;
        return outcome && reason ? 0 : -ENOMEM;
}

bool history_wanted(const HistoryQuery *q, const RegionFacts *f) {
        return (!q->region || strcmp(q->region, f->id) == 0) && (!q->skill || strcmp(q->skill, f->skill) == 0) &&
               (!q->scope || strcmp(q->scope, f->scope) == 0) && f->allocated_usec >= q->since_usec &&
               (q->until_usec == 0 || f->allocated_usec < q->until_usec);
}

typedef struct HistoryFold {
        Txn *t;
        History *h;
        Map alive;
        const HistoryQuery *q;
} HistoryFold;

static int history_add_region(HistoryFold *fold, const json_t *o, uint64_t seq, uint64_t usec) {
        const HistoryQuery *q = fold->q;
        History *h = fold->h;
        RegionFacts *f = calloc(1, sizeof(*f)), **p;
        const char *id = json_str(o, "region");
        int r;

        if (!f)
                return -ENOMEM;
        snprintf(f->id, sizeof(f->id), "%s", id);
        f->allocated = seq;
        f->allocated_usec = usec;
        r = history_take_allocated(f, o);
        h->knows_skill |= r == 0 && q->skill && strcmp(q->skill, f->skill) == 0;
        if (r < 0 || !history_wanted(q, f) || map_get(&fold->alive, id)) {
                history_free_facts(f);
                return r;
        }
        if (!GROW(h->regions, h->n)) {
                history_free_facts(f);
                return -ENOMEM;
        }
        h->regions[h->n++] = f;
        p = map_add(&fold->alive, id, sizeof(*p));
        if (!p)
                return -ENOMEM;
        *p = f;
        return 0;
}

/* Takes one event of a wanted region. */
static int history_take_event(RegionFacts *f, const char *type, const json_t *o, uint64_t seq, uint64_t usec) {
        if (strcmp(type, "region.released") == 0) {
                if (f->n_released++ > 0)
                        return 0;
                f->released = seq;
                f->released_usec = usec;
                f->teardown = json_incref(json_object_get(o, "teardown"));
                f->bound_usec = f->bound_usec ? MAX(f->bound_usec, json_number(f->teardown, "bound_usec")) : 0;
                f->usage = json_incref(json_object_get(o, "usage"));
        } else if (strcmp(type, "region.recovered") == 0)
                f->recovered = seq;
        else if (strcmp(type, "region.bound_passed") == 0)
                f->passed = true;
        else if (strcmp(type, "region.faulted") == 0)
                f->faulted = true;
        else if (strcmp(type, "invocation.ended") == 0) {
                f->ended = seq;
                f->ended_usec = usec;
                return history_take_ended(f, o);
        }
        return 0;
}

/* Types about a region's life or a skill, and about objects if asked for. Other entries are skipped unparsed. */
static bool history_concerns(Bytes e, bool objects) {
        static const char of_object[] = "\"type\":\"object.entry\"";
        static const char *const types[] = {"\"type\":\"region.allocated\"", "\"type\":\"region.released\"",
                                            "\"type\":\"region.recovered\"", "\"type\":\"region.bound_passed\"",
                                            "\"type\":\"invocation.ended\"", "\"type\":\"skill.registered\"",
                                            "\"type\":\"region.faulted\"",   "\"type\":\"region.refused\""};

        for (size_t i = 0; i < ARRAY_SIZE(types); i++)
                if (memmem(e.p, e.n, types[i], strlen(types[i])))
                        return true;
        return objects && memmem(e.p, e.n, of_object, strlen(of_object));
}

static int history_fold_entry(void *arg, uint64_t seq, Bytes e) {
        HistoryFold *fold = arg;
        const HistoryQuery *q = fold->q;
        _cleanup_json_ json_t *o = NULL;
        History *h = fold->h;
        RegionFacts **f;
        const char *type;
        uint64_t usec;
        int r;

        if (seq > 0 && seq + 1 < h->entries && !history_concerns(e, q->objects))
                return 0;
        r = json_row_parse(e, LEDGER_ENTRY_MAX, &o);
        if (r < 0)
                return r;
        type = json_str(o, "type");
        if (clock_parse(json_str(o, "time"), &usec) < 0)
                return -EUCLEAN;
        if (seq == 0)
                h->first_usec = usec;
        h->last_usec = usec;
        r = history_unfold(fold->t, seq, o);
        if (r < 0)
                return r;
        if (strcmp(type, "region.allocated") == 0)
                return history_add_region(fold, o, seq, usec);
        if (strcmp(type, "object.entry") == 0)
                return q->objects ? objects_facts_take(&h->objects, seq, usec, o) : 0;
        h->refused |=
                strcmp(type, "region.refused") == 0 && q->region && strcmp(q->region, json_str(o, "region")) == 0;
        if (strcmp(type, "skill.registered") == 0) {
                h->knows_skill |= q->skill && strcmp(q->skill, json_str(json_object_get(o, "skill"), "name")) == 0;
                return 0;
        }
        f = map_get(&fold->alive, json_str(o, "region"));
        return f ? history_take_event(*f, type, o, seq, usec) : 0;
}

static int history_check_root(Txn *t, const MerkleEdge *edge, char ret[static HASH_HEX_MAX], Diag *reterr) {
        MerkleHash root;
        Checkpoint c;
        Bytes note;
        int r = ledger_checkpoint(t, &note);

        if (r < 0)
                return r;
        merkle_edge_root(edge, &root);
        hex_encode(root.b, HASH_BYTES, ret);
        if (note_open(note.p, note.n, store_public_key(txn_store(t)), &c, reterr) != 0)
                return HISTORY_E_BROKEN;
        if (c.size != edge->size || memcmp(&c.root, &root, sizeof(root)) != 0)
                return diag(reterr, HISTORY_E_BROKEN,
                            "the ledger's entries are not the entries of the signed checkpoint; `lethe audit` tells "
                            "more");
        return 0;
}

int history_is_there_now(Txn *t, const char *id, bool *ret) {
        _cleanup_txn_ Txn *now = NULL;
        RegionRow row = {0};
        int r = store_begin(txn_store(t), false, &now, NULL);

        if (r != 0)
                return r < 0 ? r : -EIO;
        r = engine_region_get(now, id, &row);
        region_row_deinit(&row);
        *ret = r == 0;
        return r < 0 ? r : 0;
}

/* Marks regions without an end and without a supervisor. */
static int history_find_orphans(Txn *t, History *h) {
        for (size_t i = 0; i < h->n; i++) {
                RegionFacts *f = h->regions[i];
                RegionRow row = {0};
                bool there = true;
                int r;

                if (f->ended > 0)
                        continue;
                r = engine_region_get(t, f->id, &row);
                if (r == 0 && store_lock_is_free(txn_store(t), row.supervisor_lock)) {
                        r = history_is_there_now(t, f->id, &there);
                        f->orphan = there;
                } else if (r == ENGINE_E_NO_REGION)
                        f->orphan = true; /* alive in the ledger, absent from the table */
                region_row_deinit(&row);
                if (r < 0)
                        return r;
        }
        return 0;
}

int history_each(Txn *t, uint64_t n, int (*fn)(void *arg, uint64_t seq, Bytes entry), void *arg,
                 char ret[static HASH_HEX_MAX], Diag *reterr) {
        _cleanup_walk_ LedgerWalk w = {0};
        MerkleEdge edge = {0};
        int r = ledger_walk(t, 0, &w);

        hash_many();
        for (uint64_t i = 0; r == 0 && i < n; i++) {
                MerkleHash leaf;
                uint64_t seq;
                Bytes entry;

                r = ledger_next(&w, &seq, &entry);
                if (r < 0)
                        break;
                merkle_leaf(entry.p, entry.n, &leaf);
                r = merkle_append(&edge, &leaf, NULL, NULL) ?: fn(arg, seq, entry);
        }
        return r == 0 ? history_check_root(t, &edge, ret, reterr) : r;
}

/* Proves one entry by its path to the root of the checkpoint, then folds the entry. */
static int history_read_one(HistoryFold *f, uint64_t seq, Bytes e, Diag *reterr) {
        int r = proof_entry(f->t, seq, e, reterr);

        return r > 0 ? HISTORY_E_BROKEN : r < 0 ? r : history_fold_entry(f, seq, e);
}

/* Compares the edge of the tree with the checkpoint, then folds the ledger's first entry and the region's entries. */
static int history_read_region(HistoryFold *f, Diag *reterr) {
        _cleanup_region_events_ RegionEvents w = REGION_EVENTS_NULL;
        LedgerTree tree;
        Bytes e;
        int r = ledger_tree_read(f->t, &tree)
                ?: history_check_root(f->t, &tree.edge, f->h->root, reterr)
                ?: ledger_get(f->t, 0, &e)
                ?: history_read_one(f, 0, e, reterr);

        if (r != 0)
                return r;
        r = region_events(f->t, f->q->region, &w);
        if (r != 0)
                return r == REGION_EVENTS_E_NONE ? 0 : r;
        while (r == 0) {
                _cleanup_json_ json_t *o = NULL;
                uint64_t seq;

                r = region_events_next(&w, &seq, &e, &o) ?: history_read_one(f, seq, e, reterr);
        }
        return r == -ENOENT ? 0 : r;
}

int history_result(int r, Diag *reterr) {
        if (r == -ENOENT || r == -EUCLEAN)
                return diag(reterr, HISTORY_E_BROKEN, "the ledger's entries cannot be read; `lethe audit` tells more");
        return r;
}

int history_read(Txn *t, const HistoryQuery *q, History *ret, Diag *reterr) {
        _cleanup_history_ History h = {0};
        HistoryFold f = {.t = t, .h = &h, .q = q};
        int r;

        h.query = *q;
        snprintf(h.origin, sizeof(h.origin), "%s", store_origin(txn_store(t)));
        r = ledger_state(t, &h.entries, NULL);
        if (r == 0)
                r = q->region ? history_read_region(&f, reterr)
                              : history_each(t, h.entries, history_fold_entry, &f, h.root, reterr);
        map_deinit(&f.alive);
        if (r == 0)
                r = history_find_orphans(t, &h);
        if (r != 0)
                return history_result(r, reterr);
        *ret = h;
        h = (History){0};
        return 0;
}
