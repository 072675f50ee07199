#include "engine/past.h"

#include "base/clock.h"
#include "base/size.h"
#include "engine/known-names.h"
#include "engine/project.h"
#include "ledger/ledger.h"
#include "record/event.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int past_moment(Txn *t, const char *text, uint64_t now_usec, uint64_t *ret_seq, Diag *reterr) {
        uint64_t size, last, usec, n = 0;
        int r = ledger_state(t, &size, &last);

        if (r < 0)
                return r;
        if (*text && strspn(text, "0123456789") == strlen(text)) {
                if (count_parse(text, ret_seq) < 0 || *ret_seq >= size)
                        return diag(reterr, ENGINE_E_BAD_QUERY, "at: there is no event %s: the newest is %" PRIu64,
                                    DIAG_QUOTED(text), size - 1);
                return 0;
        }
        if (clock_parse_moment(text, now_usec, &usec) < 0)
                return diag(reterr, ENGINE_E_BAD_QUERY,
                            "at: \"%s\" is neither the number of an event nor a time such as 2026-11-21T10:29 or 7d",
                            DIAG_QUOTED(text));
        if (usec > MAX(now_usec, last)) {
                char now[CLOCK_TEXT_MAX];

                return diag(reterr, ENGINE_E_BAD_QUERY, "at: \"%s\" is in the future: the time is %s",
                            DIAG_QUOTED(text), clock_format(now_usec, now));
        }
        r = event_since(t, size, usec + 1, &n);
        if (r == 0 && n == 0)
                return diag(reterr, ENGINE_E_BAD_QUERY, "at: \"%s\" is before the first event", DIAG_QUOTED(text));
        *ret_seq = n - 1;
        return r;
}

/* Of a record of the memory service only the first entry has members for the row, its type; of a row of governed memory
 * each entry. Only reference memory depends on bodies. So a region's question about a record with many versions costs
 * little. */
static int past_step(Txn *t, uint64_t seq, Op op, Record *rec) {
        _cleanup_json_ json_t *entry = NULL, *body = NULL;
        int r;

        if (kind_class(rec->key.kind) != CLASS_CANON && rec->state != RECORD_NONE)
                return project_fold_record(rec, seq, op, NULL, NULL);
        r = event_get(t, seq, &entry);
        if (r == 0 && refmem_remembers(rec->key.kind))
                r = record_body(t, seq, &body);
        if (r < 0 && r != -ENOENT)
                return r;
        return entry ? project_fold_record(rec, seq, op, entry, body) : -EUCLEAN;
}

int past_record(Txn *t, const RecordKey *k, uint64_t upto, Record *ret) {
        _cleanup_change_walk_ ChangeWalk w = {0};
        _cleanup_record_ Record rec = {.key = *k};
        uint64_t seq;
        Op op;
        int r;

        if (upto == PAST_NOW)
                return record_get(t, k, ret);
        r = change_walk(t, k, &w);
        while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0 && seq <= upto) {
                if (op == OP_DELETE) {
                        record_deinit(&rec);
                        rec.key = *k;
                } else
                        r = past_step(t, seq, op, &rec);
        }
        if (r < 0 && r != -ENOENT)
                return r;
        if (rec.state == RECORD_NONE)
                return -ENOENT;
        *ret = rec;
        rec = RECORD_NULL;
        return 0;
}

int past_version(Txn *t, const RecordKey *k, uint64_t version, uint64_t *ret_seq, uint64_t *ret_newest) {
        _cleanup_change_walk_ ChangeWalk w = {0};
        uint64_t seq, n = 0, found = 0;
        Op op;
        int r = change_walk(t, k, &w);

        while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0) {
                n = op == OP_DELETE ? 0 : n + 1;
                if (n == 0)
                        found = 0;
                else if (n == version)
                        found = seq;
        }
        if (r != -ENOENT)
                return r;
        *ret_newest = n;
        *ret_seq = found;
        return found ? 0 : -ENOENT;
}

int past_walk(Txn *t, uint64_t scope, Kind kind, uint64_t upto, PastWalk *ret) {
        *ret = (PastWalk){.txn = t, .upto = upto, .last = {.scope = scope, .kind = kind}, .look = SIZE_MAX};
        return upto == PAST_NOW ? record_walk(t, scope, kind, &ret->now) : 0;
}

int past_walk_after(Txn *t, const RecordKey *k, uint64_t upto, PastWalk *ret) {
        *ret = (PastWalk){.txn = t, .upto = upto, .last = *k, .look = SIZE_MAX};
        return upto == PAST_NOW ? record_walk_after(t, k, &ret->now) : 0;
}

int past_walk_next(PastWalk *w, Record *ret) {
        int r;

        if (w->upto == PAST_NOW)
                return record_walk_next(&w->now, ret);
        do {
                if (w->look == 0) {
                        w->cut = true;
                        return -ENOENT;
                }
                r = change_next_record(w->txn, &w->last);
                if (r < 0)
                        return r;
                w->look -= w->look != SIZE_MAX;
                record_deinit(ret);
                r = past_record(w->txn, &w->last, w->upto, ret);
        } while (r == -ENOENT); /* made later, or deleted before */
        if (r == -EUCLEAN)
                ret->key = w->last;
        return r;
}

void past_walk_deinit(PastWalk *w) {
        if (w->now.cursor)
                record_walk_deinit(&w->now);
}
