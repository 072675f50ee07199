#include "belief/belief.h"

#include "record/event.h"
#include "record/rows.h"
#include "engine/wait.h"
#include "engine/claim.h"
#include "engine/dead-letter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* {"bucket","id","state","version","created","last","agent"?,"payload"?,"aliases"?,"phrases"?,
 * "disputed"?,"disputed_more"?}; created and last are
 * sequences. */
static int belief_row(Txn *t, const Record *rec, bool now, json_t **ret) {
        static const char *const kept[] = {"agent", "aliases", "phrases"};
        _cleanup_json_ json_t *payload = NULL, *o = NULL;
        int r = record_payload(t, rec, &payload);

        if (r < 0 && r != -ENOENT)
                return r;
        o = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:O*}", "bucket", kind_name(rec->key.kind), "id", rec->key.id,
                      "state", record_state_name(rec->state), "version", json_u64(rec->version), "created",
                      json_u64(rec->created), "last", json_u64(rec->last), "payload", payload);
        if (!o || JSON_ROW_KEEP(o, rec->row, kept) < 0 || (!payload && json_put(o, "erased", json_true()) < 0))
                return -ENOMEM;
        r = now ? disputes_put(t, rec, o) : 0;
        if (r == 0)
                *ret = TAKE_PTR(o);
        return r;
}

#define LOOKED_AT_MAX 4096 /* rows read for a part: a rare state in many rows delays no caller */

static int belief_parse_place(const char *place, RecordKey *ret, Diag *reterr) {
        const char *slash = strchr(place, '/');
        char bucket[32];
        Kind kind;

        if (slash) {
                snprintf(bucket, sizeof(bucket), "%.*s", (int)(slash - place), place);
                kind = kind_from_name(bucket);
                if (kind_class(kind) == CLASS_CANON && record_id_valid(kind, slash + 1)) {
                        *ret = record_key_of(ret->scope, kind, slash + 1);
                        return 0;
                }
        }
        return diag(reterr, ENGINE_E_BAD_NAME, "not a place in shared belief");
}

/* A part of a list under construction, and its position. */
typedef struct BeliefPage {
        const BeliefAsk *ask;
        json_t *list;
        size_t bytes, left; /* left: rows that may be read */
        size_t look;        /* of an earlier moment: records that may be looked at */
        RecordKey last;
        bool full;
} BeliefPage;

static int belief_page_add(Txn *t, BeliefPage *p, const Record *rec) {
        _cleanup_json_ json_t *row = NULL;
        size_t n;
        int r;

        if (p->left == 0 || json_array_size(p->list) == p->ask->limit) {
                p->full = true;
                return 0;
        }
        p->left--;
        if (!p->ask->state || rec->state == p->ask->state) {
                r = belief_row(t, rec, p->ask->upto == PAST_NOW, &row);
                if (r < 0)
                        return r;
                n = p->ask->bytes == SIZE_MAX ? 0 : json_dumpb(row, NULL, 0, JSON_COMPACT);
                if (json_array_size(p->list) > 0 && p->bytes + n > p->ask->bytes) {
                        p->full = true;
                        return 0;
                }
                p->bytes += n;
                if (json_array_append(p->list, row) < 0)
                        return -ENOMEM;
        }
        p->last = rec->key;
        return 0;
}

static int belief_gather(Txn *t, uint64_t scope, BeliefPage *p, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        RecordKey after = {.scope = scope};
        const uint64_t upto = p->ask->upto;
        int r = list ? 0 : -ENOMEM;

        p->list = list;
        if (r == 0 && p->ask->after)
                r = belief_parse_place(p->ask->after, &after, reterr);
        for (const Kind *k = kinds; r == 0 && *k && !p->full; k++) {
                _cleanup_past_walk_ PastWalk w = {0};
                _cleanup_record_ Record rec = RECORD_NULL;

                if (kind_class(*k) != CLASS_CANON || (p->ask->bucket && *k != p->ask->bucket) || *k < after.kind)
                        continue;
                r = *k == after.kind ? past_walk_after(t, &after, upto, &w) : past_walk(t, scope, *k, upto, &w);
                w.look = p->look;
                while (r == 0 && !p->full && (r = past_walk_next(&w, &rec)) == 0)
                        r = belief_page_add(t, p, &rec);
                r = r == -ENOENT ? 0 : r;
                p->look = w.look;
                if (r < 0 || p->full || upto == PAST_NOW)
                        continue;
                if (*w.last.id)
                        p->last = w.last;
                p->full = w.cut;
        }
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}

int belief_page(Txn *t, uint64_t scope, const BeliefAsk *ask, json_t **ret, char next[static BELIEF_PLACE_MAX],
                Diag *reterr) {
        BeliefPage p = {.ask = ask, .left = LOOKED_AT_MAX, .look = LOOKED_AT_MAX};
        int r = belief_gather(t, scope, &p, ret, reterr);

        *next = 0;
        if (r == 0 && p.full)
                snprintf(next, BELIEF_PLACE_MAX, "%s/%s", kind_name(p.last.kind), p.last.id);
        return r;
}

int belief_list_at(Txn *t, uint64_t scope, Kind bucket, RecordState state, uint64_t upto, json_t **ret) {
        const BeliefAsk ask = {.bucket = bucket, .state = state, .upto = upto, .limit = SIZE_MAX, .bytes = SIZE_MAX};
        BeliefPage p = {.ask = &ask, .left = SIZE_MAX, .look = SIZE_MAX};

        return belief_gather(t, scope, &p, ret, NULL);
}

static int belief_none(Kind bucket, const char *id, uint64_t upto, Diag *reterr) {
        char then[48] = "";

        if (upto != PAST_NOW)
                snprintf(then, sizeof(then), " as of event %" PRIu64, upto);
        return diag(reterr, ENGINE_E_NO_RECORD, "there is no \"%s\" among the %s of this scope%s", DIAG_QUOTED(id),
                    kind_name(bucket), then);
}

int belief_get_at(Txn *t, uint64_t scope, Kind bucket, const char *id, uint64_t upto, json_t **ret, Diag *reterr) {
        _cleanup_record_ Record rec = RECORD_NULL;
        RecordKey key;
        int r;

        if (!record_id_valid(bucket, id))
                return belief_none(bucket, id, upto, reterr);
        key = record_key_of(scope, bucket, id);
        r = past_record(t, &key, upto, &rec);
        return r == -ENOENT ? belief_none(bucket, id, upto, reterr)
               : r < 0      ? r
                            : belief_row(t, &rec, upto == PAST_NOW, ret);
}

/* op: OP_NONE for an unapplied change, which has no row in the history yet: the event's type names the operation. */
static int belief_change(Txn *t, uint64_t seq, Op op, json_t *list) {
        static const char *const of_entry[] = {
                "time",   "version", "state", "agent",   "run",       "note",
                "who",    "region",  "tau",   "delta",   "pending",   "retention",
                "disputes", "settles",
        };
        static const char *const of_body[] = {"raw_input", "source_ref", "interpreted", "payload", "reason"};
        _cleanup_json_ json_t *entry = NULL, *body = NULL, *o = NULL;
        const char *dot;
        int r = event_get(t, seq, &entry) ?: record_body(t, seq, &body);

        if (r < 0 && r != -ENOENT)
                return r;
        dot = strchr(json_str(entry, "type"), '.');
        if (op == OP_NONE && !dot)
                return -EUCLEAN;
        o = json_pack("{s:o, s:s, s:b}", "seq", json_u64(seq), "operation", op_name(op ? op : op_from_name(dot + 1)),
                      "applied", op != OP_NONE);
        return o && JSON_ROW_KEEP(o, entry, of_entry) == 0 && JSON_ROW_KEEP(o, body, of_body) == 0 &&
                               json_array_append(list, o) == 0
                       ? 0
                       : -ENOMEM;
}

/* Is the row the target of the item, or one of its candidates? */
static bool belief_item_means(const json_t *body, const char *id) {
        const json_t *candidates = json_object_get(body, "candidates");

        for (size_t i = 0; i < json_array_size(candidates); i++)
                if (json_text_is(json_object_get(json_array_get(candidates, i), "id"), id))
                        return true;
        return json_text_is(json_object_get(json_object_get(body, "request"), "target_id"), id);
}

/* An expired item in the place of its event (G-63). */
static int belief_add_expired(Txn *t, const Wait *w, const char *id, json_t *list) {
        static const char *const of_item[] = {"pending", "expired", "reason", "agent", "run"};
        _cleanup_json_ json_t *item = NULL, *o = NULL;
        size_t at = json_array_size(list);
        uint64_t seq;
        int r = wait_show(t, w, &item);

        if (r < 0 || !belief_item_means(item, id))
                return r == -EUCLEAN ? 0 : r;
        o = json_pack("{s:o, s:s, s:b, s:O*, s:O*}", "seq", json_u64(w->last), "operation", op_name(w->op),
                      "applied", 0, "time", json_object_get(json_object_get(item, "expired"), "time"), "raw_input",
                      json_object_get(item, "note"));
        if (!o || JSON_ROW_KEEP(o, item, of_item) < 0)
                return -ENOMEM;
        while (at > 0 && json_get_u64(json_object_get(json_array_get(list, at - 1), "seq"), &seq) == 0 && seq > w->last)
                at--;
        return json_array_insert(list, at, o) < 0 ? -ENOMEM : 0;
}

static int belief_add_all_expired(Txn *t, const RecordKey *key, json_t *list) {
        uint64_t from = 0;
        Wait w = {0};
        int r;

        while ((r = wait_next(t, from, key->scope, WAIT_EXPIRED, &w)) == 0 ||
               (r == -EUCLEAN && w.id >= from && w.id > 0)) {
                from = w.id + 1;
                r = r == 0 && w.kind == key->kind ? belief_add_expired(t, &w, key->id, list) : 0;
                if (r < 0)
                        return r;
        }
        return r == -ENOENT ? 0 : r;
}

int belief_history(Txn *t, uint64_t scope, Kind bucket, const char *id, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        _cleanup_change_walk_ ChangeWalk w = {0};
        uint64_t seq;
        RecordKey key;
        Op op;
        int r;

        if (!record_id_valid(bucket, id))
                return belief_none(bucket, id, PAST_NOW, reterr);
        key = record_key_of(scope, bucket, id);
        r = list ? change_walk(t, &key, &w) : -ENOMEM;
        while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0)
                r = belief_change(t, seq, op, list);
        if (r != -ENOENT)
                return r;
        r = dead_letter_of(t, &key, &seq);
        if (r == 0)
                r = belief_change(t, seq, OP_NONE, list);
        if (r < 0 && r != -ENOENT)
                return r;
        if (json_array_size(list) == 0)
                return belief_none(bucket, id, PAST_NOW, reterr);
        r = belief_add_all_expired(t, &key, list);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}
