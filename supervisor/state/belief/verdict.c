#include "belief/verdict.h"

#include "belief/slot-view.h"
#include "engine/arbitration.h"
#include "record/event.h"
#include "record/rows.h"

#include <errno.h>

static int unclean(int r) {
        return r == -ENOENT ? -EUCLEAN : r;
}

static int add_gathered(Txn *t, const QuorumRow *row, json_t *list) {
        _cleanup_json_ json_t *e = NULL;
        int r = event_get(t, row->gathered, &e);

        if (r < 0)
                return unclean(r);
        return json_array_append_new(list, json_pack("{s:o, s:s, s:O?, s:O?}", "seq", json_u64(row->seq), "region", row->region, "skill",
                                                     json_object_get(e, "skill"), "time", json_object_get(e, "time"))) < 0
                       ? -ENOMEM
                       : 0;
}

int belief_gathered(Txn *t, const char *name, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = NULL, *defined = NULL;
        QuorumRow rows[ARBITRATION_PROPOSALS_MAX];
        uint64_t version;
        SlotRow slot;
        int n, r = belief_slot_version(t, name, &version, reterr);

        if (r == 0)
                r = slot_row_get(t, name, &slot);
        if (r != 0)
                return r;
        *ret = NULL;
        if (!slot.arbitrated)
                return 0;
        n = gather_rows(t, name, rows, ARRAY_SIZE(rows));
        if (n < 0)
                return n;
        list = json_array();
        r = list ? event_get(t, slot.defined, &defined) : -ENOMEM;
        for (int i = 0; r == 0 && i < n; i++)
                r = add_gathered(t, &rows[i], list);
        if (r == 0 && !(*ret = json_pack("{s:O, s:O}", "rule", json_object_get(defined, "arbitrate"), "gathered", list)))
                r = -ENOMEM;
        return unclean(r);
}

int belief_verdict_after(Txn *t, const char *name, uint64_t seq, json_t **ret) {
        _cleanup_json_ json_t *e = NULL;
        uint64_t at, winner;
        int r = verdict_row_next(t, name, seq, &at, &winner);

        if (r < 0)
                return r;
        r = event_get(t, at, &e);
        if (r == 0 && json_object_set_new(e, "seq", json_u64(at)) < 0)
                r = -ENOMEM;
        if (r < 0)
                return unclean(r);
        *ret = TAKE_PTR(e);
        return 0;
}

int belief_verdict_list(Txn *t, const char *name, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        uint64_t version, seq, winner;
        int r = list ? belief_slot_version(t, name, &version, reterr) : -ENOMEM;

        for (seq = 0; r == 0; seq++) {
                _cleanup_json_ json_t *e = NULL;

                r = verdict_row_next(t, name, seq, &seq, &winner);
                if (r == 0)
                        r = unclean(belief_verdict_after(t, name, seq, &e));
                if (r == 0 && json_array_append(list, e) < 0)
                        r = -ENOMEM;
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}

int belief_verdict_newest(Txn *t, const char *name, json_t **ret, Diag *reterr) {
        uint64_t version, newest = 0, seq, winner;
        int r = belief_slot_version(t, name, &version, reterr);

        for (seq = 0; r == 0; seq++) {
                r = verdict_row_next(t, name, seq, &seq, &winner);
                if (r == 0)
                        newest = seq;
        }
        if (r != -ENOENT)
                return r;
        *ret = json_null();
        return newest ? unclean(belief_verdict_after(t, name, newest, ret)) : 0;
}
