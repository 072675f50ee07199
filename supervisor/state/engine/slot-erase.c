#include "engine/slot-erase.h"

#include "base/clock.h"
#include "engine/fold-slot.h"
#include "engine/slot.h"
#include "ledger/ledger.h"
#include "record/event.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Checks name and versions. */
static int slot_erase_check(Txn *t, const SlotErasure *e, uint64_t *ret_from, uint64_t *ret_to, Diag *reterr) {
        SlotRow row;
        int r;

        if (!slot_name_valid(e->name))
                return slot_bad_name(e->name, reterr);
        r = slot_row_get(t, e->name, &row);
        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_UNDEFINED, "slot %s is not defined", e->name);
        if (r < 0)
                return r;
        *ret_from = e->from == SLOT_NEWEST ? row.version : e->from;
        *ret_to = e->to == SLOT_NEWEST ? row.version : e->to;
        if (row.version == 0)
                return diag(reterr, ENGINE_E_NO_VALUE, "slot %s has no value yet", e->name);
        if (*ret_from < 1 || *ret_to > row.version || *ret_from > *ret_to)
                return diag(reterr, ENGINE_E_NO_VALUE,
                            "slot %s has no versions %" PRIu64 " to %" PRIu64 ": it has 1 to %" PRIu64, e->name,
                            *ret_from, *ret_to, row.version);
        return 0;
}

static int slot_erase_values(Txn *t, const char *name, uint64_t from, uint64_t to, uint64_t *ret_n) {
        uint64_t written, body, n = 0;
        int r = 0;

        for (uint64_t v = from; r == 0 && v <= to; v++) {
                r = hist_row_get(t, name, v, &written, &body);
                if (r == 0 && body != 0) {
                        r = body_del(t, body);
                        n++;
                }
        }
        *ret_n = n;
        return r == -ENOENT ? -EUCLEAN : r;
}

int engine_slot_erase(Txn *t, const SlotErasure *e, uint64_t *ret_seq, uint64_t *ret_n, Diag *reterr) {
        _cleanup_json_ json_t *why = e->reason ? json_pack("{s:s}", "reason", e->reason) : NULL;
        uint64_t from = 0, to = 0;
        json_t *fields;
        Diag own;
        int r;

        reterr = reterr ? reterr : &own;
        if (e->reason && !why)
                return -ENOMEM;
        r = slot_erase_check(t, e, &from, &to, reterr) ?: slot_erase_values(t, e->name, from, to, ret_n);
        if (r == 0 && *ret_n == 0)
                r = diag(reterr, ENGINE_E_NO_VALUE, "slot %s: the values of versions %" PRIu64 " to %" PRIu64
                         " are erased already", e->name, from, to);
        if (r > 0)
                return engine_refuse(t, NULL, NULL, e->who, e->name, r, reterr);
        if (r < 0)
                return r;
        fields = json_pack("{s:s, s:o, s:o, s:o, s:s*}", "slot", e->name, "from", json_u64(from), "to", json_u64(to),
                           "erased", json_u64(*ret_n), "retention", e->retention);
        return fold_slot_append(t, &(Event){.type = "slot.erased", .who = e->who, .fields = fields, .json = why},
                                ret_seq)
                ?: ledger_want_anchor(t);
}

int slot_versions_before(Txn *t, const char *name, uint64_t usec, uint64_t most, uint64_t *ret_from,
                         uint64_t *ret_to) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint64_t written, body, time, first = 0, last = 0;
        uint8_t from[HIST_KEY_MAX];
        size_t n = slot_seq_key(name, 0, from);
        Bytes k, v;
        int r = cursor_open_within(t, TABLE_HIST, BYTES(from, n), n - 8, &c);

        while (r == 0 && (!first || last - first + 1 < most) && (r = cursor_next(c, &k, &v)) == 0) {
                _cleanup_json_ json_t *entry = NULL;

                r = k.n == n ? hist_row_decode(v, &written, &body) : -EUCLEAN;
                if (r < 0 || body == 0)
                        continue;
                r = event_get(t, written, &entry);
                if (r == 0 && clock_parse(json_str(entry, "time"), &time) < 0)
                        r = -EUCLEAN;
                if (r == 0 && time >= usec)
                        break;
                last = be64_get((const uint8_t *)k.p + n - 8);
                first = first ? first : last;
        }
        if (r < 0 && r != -ENOENT)
                return r;
        *ret_from = first;
        *ret_to = last;
        return first ? 0 : -ENOENT;
}
