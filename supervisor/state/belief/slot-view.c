#include "belief/slot-view.h"

#include "engine/round.h"
#include "engine/arbitration.h"
#include "record/event.h"
#include "record/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int slot_view_unclean(int r) {
        return r == -ENOENT ? -EUCLEAN : r;
}

static int slot_view_row(Txn *t, const char *name, SlotRow *ret, Diag *reterr) {
        int r;

        if (!slot_name_valid(name))
                return diag(reterr, ENGINE_E_BAD_NAME, "\"%s\" is not a slot's name", DIAG_QUOTED(name));
        r = slot_row_get(t, name, ret);
        return r == -ENOENT ? diag(reterr, ENGINE_E_UNDEFINED, "slot %s is not defined", name) : r;
}

/* The fields of the event that wrote a version. */
static int slot_view_origin(Txn *t, uint64_t version, uint64_t written, json_t **ret, json_t **ret_body) {
        static const char *const keys[] = {"time", "region", "who"};
        _cleanup_json_ json_t *e = NULL, *o = NULL;
        int r = event_get(t, written, &e);

        if (r < 0)
                return slot_view_unclean(r);
        o = json_pack("{s:o, s:o}", "version", json_u64(version), "seq", json_u64(written));
        if (!o || JSON_ROW_KEEP(o, e, keys) < 0)
                return -ENOMEM;
        /* A verdict wrote the value after the end of the region that had proposed the value. */
        if (json_object_get(e, "arbitrated") &&
            (json_object_set(o, "arbitrated", json_object_get(e, "arbitrated")) < 0 ||
             json_object_set(o, "region", json_object_get(e, "from")) < 0))
                return -ENOMEM;
        if (ret_body)
                *ret_body = json_incref(json_object_get(e, "body"));
        *ret = TAKE_PTR(o);
        return 0;
}

int belief_slot_get(Txn *t, const char *name, uint64_t version, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *o = NULL, *value = NULL;
        uint64_t written, body;
        SlotRow row;
        Bytes text;
        int r = slot_view_row(t, name, &row, reterr);

        if (r != 0)
                return r;
        if (row.version == 0)
                return diag(reterr, ENGINE_E_NO_VALUE, "slot %s has no value yet", name);
        r = hist_row_get(t, name, version ? version : row.version, &written, &body);
        if (r == -ENOENT && version)
                return diag(reterr, ENGINE_E_NO_VALUE, "slot %s has no version %" PRIu64 ": it has 1 to %" PRIu64, name,
                            version, row.version);
        if (r == 0 && body == 0)
                return diag(reterr, ENGINE_E_ERASED, "slot %s: the value of version %" PRIu64 " is erased", name,
                            version ? version : row.version);
        if (r == 0)
                r = body_get(t, body, NULL, &text)
                        ?: slot_view_origin(t, version ? version : row.version, written, &o, NULL);
        if (r == 0)
                r = json_row_parse(text, SLOT_VALUE_MAX, &value);
        if (r < 0)
                return slot_view_unclean(r);
        if (json_object_set_new(o, "slot", json_string(name)) < 0 || json_object_set(o, "value", value) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

int belief_slot_version(Txn *t, const char *name, uint64_t *ret, Diag *reterr) {
        SlotRow row;
        int r = slot_view_row(t, name, &row, reterr);

        if (r == 0)
                *ret = row.version;
        return r;
}

static int slot_view_add_rule(Txn *t, Bytes name, uint64_t defined, json_t *o) {
        QuorumRow rows[ARBITRATION_PROPOSALS_MAX];
        char text[SLOT_NAME_MAX + 1] = "";
        _cleanup_json_ json_t *e = NULL;
        int n;

        memcpy(text, name.p, MIN(name.n, sizeof(text) - 1));
        n = gather_rows(t, text, rows, ARRAY_SIZE(rows));
        if (n < 0 || event_get(t, defined, &e) < 0)
                return -EUCLEAN;
        return json_object_set(o, "rule", json_object_get(e, "arbitrate")) |
               json_object_set_new(o, "gathered", json_integer(n));
}

int belief_slot_list(Txn *t, json_t **ret) {
        _cleanup_json_ json_t *list = json_array();
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = list ? cursor_open(t, TABLE_SLOT, BYTES(NULL, 0), &c) : -ENOMEM;

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                SlotRow row;
                json_t *o;

                r = slot_row_decode(v, &row);
                if (r < 0)
                        break;
                o = json_pack("{s:s%, s:o, s:o}", "slot", k.p, k.n, "version", json_u64(row.version), "defined",
                              json_u64(row.defined));
                if (!o || json_array_append_new(list, o) < 0)
                        return -ENOMEM;
                if (row.version && json_object_set_new(o, "seq", json_u64(row.written)) < 0)
                        return -ENOMEM;
                if (row.version && row.body == 0 && json_object_set_new(o, "erased", json_true()) < 0)
                        return -ENOMEM;
                if (row.arbitrated && slot_view_add_rule(t, k, row.defined, o) < 0)
                        return -EUCLEAN;
                if (row.held_version && json_object_set_new(o, "held",
                                                            json_pack("{s:s, s:o}", "region", row.held_by, "version",
                                                                      json_u64(row.held_version))) < 0)
                        return -ENOMEM;
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}

int belief_slot_history(Txn *t, const char *name, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t from[HIST_KEY_MAX];
        SlotRow row;
        Bytes k, v;
        int r = slot_view_row(t, name, &row, reterr);

        if (r != 0)
                return r;
        if (!list)
                return -ENOMEM;
        r = cursor_open(t, TABLE_HIST, BYTES(from, slot_seq_key(name, 0, from)), &c);
        for (uint64_t version = 1; r == 0 && version <= row.version; version++) {
                _cleanup_json_ json_t *o = NULL, *body = NULL;
                uint64_t written, at;

                r = cursor_next(c, &k, &v)
                        ?: hist_row_decode(v, &written, &at)
                        ?: slot_view_origin(t, version, written, &o, &body);
                if (r == 0 && at == 0 && json_object_set_new(o, "erased", json_true()) < 0)
                        r = -ENOMEM;
                if (r == 0 && (json_object_update(o, body) < 0 || json_array_append(list, o) < 0))
                        r = -ENOMEM;
        }
        if (r < 0)
                return slot_view_unclean(r);
        *ret = TAKE_PTR(list);
        return 0;
}

static int slot_view_add_gathered(Txn *t, const QuorumRow *row, json_t *list) {
        _cleanup_json_ json_t *e = NULL;
        int r = event_get(t, row->gathered, &e);

        if (r < 0)
                return slot_view_unclean(r);
        return json_array_append_new(list, json_pack("{s:o, s:s, s:O?, s:O?}", "seq", json_u64(row->seq), "region",
                                                     row->region, "skill", json_object_get(e, "skill"), "time",
                                                     json_object_get(e, "time"))) < 0
                       ? -ENOMEM
                       : 0;
}

int belief_gathered(Txn *t, const char *name, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = NULL, *defined = NULL, *round = NULL;
        QuorumRow rows[ARBITRATION_PROPOSALS_MAX];
        SlotRow slot;
        int n, r = slot_view_row(t, name, &slot, reterr);

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
                r = slot_view_add_gathered(t, &rows[i], list);
        if (r == 0)
                r = round_show(t, name, &round);
        if (r == 0 && !(*ret = json_pack("{s:O, s:O, s:O*}", "rule", json_object_get(defined, "arbitrate"), "gathered",
                                         list, "round", round)))
                r = -ENOMEM;
        return slot_view_unclean(r);
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
                return slot_view_unclean(r);
        *ret = TAKE_PTR(e);
        return 0;
}

int belief_verdict_list(Txn *t, const char *name, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        uint64_t version, seq, winner;
        int r = list ? belief_slot_version(t, name, &version, reterr) : -ENOMEM;

        for (seq = 0; r == 0; seq++) {
                _cleanup_json_ json_t *e = NULL;

                r = verdict_row_next(t, name, seq, &seq, &winner)
                        ?: slot_view_unclean(belief_verdict_after(t, name, seq, &e));
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
        return newest ? slot_view_unclean(belief_verdict_after(t, name, newest, ret)) : 0;
}
