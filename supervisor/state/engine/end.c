#include "engine/engine.h"

#include "engine/fold-slot.h"
#include "engine/quorum.h"
#include "engine/lineage.h"
#include "engine/note.h"
#include "engine/region-row.h"
#include "record/rows.h"
#include "engine/session.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <string.h>

/* The region's first proposal from `seq` on. -ENOENT: no proposal. */
static int end_next_held(Txn *t, const char *region, uint64_t seq, const char *name_or_null, HeldRow *ret) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t from[HELD_KEY_BYTES];
        HeldRow h;
        Bytes k, v;
        int r;

        held_key(region, seq, from);
        r = cursor_open_within(t, TABLE_HELD, BYTES(from, sizeof(from)), REGION_ID_LEN, &c);
        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                r = held_row_decode(k, v, &h);
                if (r == 0 && (!name_or_null || strcmp(h.name, name_or_null) == 0)) {
                        *ret = h;
                        return 0;
                }
        }
        return r;
}

/* Writes, gathers or discards a held proposal. *ret_full: the slot has enough proposals for a verdict. */
static int end_settle(Txn *t, const HeldRow *h, bool keep, const char *reason, bool *ret_full) {
        _cleanup_json_ json_t *proposed = NULL;
        json_t *fields;
        SlotRow row;
        int r;

        *ret_full = false;
        r = event_get(t, h->seq, &proposed) ?: slot_row_get(t, h->name, &row);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        if (row.arbitrated && keep) {
                HeldRow newer;

                r = end_next_held(t, h->region, h->seq + 1, h->name, &newer);
                return r < 0 && r != -ENOENT ? r : quorum_take(t, h, &row, r == 0, ret_full);
        }
        fields = json_pack("{s:s, s:o, s:o, s:s*}", "slot", h->name, "version", json_u64(h->version), "proposed",
                           json_u64(h->seq), "reason", keep ? NULL : reason);
        r = fold_slot_append(t,
                             &(Event){.type = keep ? "slot.written" : "slot.discarded", .region = h->region,
                                      .fields = fields, .commitment = keep ? json_object_get(proposed, "body") : NULL},
                             NULL);
        /* A discarded value leaves the store together with the event of the discard; the proposal's entry keeps the
         * hash (I-71). */
        return r < 0 || keep ? r : body_del(t, h->seq);
}

/* Settles all of a region's proposals, in order. full: gets the names of slots with enough proposals. */
static int end_settle_all(Txn *t, const char *region, bool keep, const char *reason, json_t *full) {
        for (;;) {
                bool is_full;
                HeldRow h;
                int r = end_next_held(t, region, 0, NULL, &h) ?: end_settle(t, &h, keep, reason, &is_full);

                if (r < 0)
                        return r == -ENOENT ? 0 : r;
                if (is_full && json_array_append_new(full, json_string(h.name)) < 0)
                        return -ENOMEM;
        }
}

/* The verdicts caused by this end: after the invocation, and no events of the region. */
static int end_decide_all(Txn *t, const json_t *full) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(full); i++)
                r = quorum_decide(t, json_text(json_array_get(full, i)), NULL, NULL, NULL, NULL);
        return r > 0 ? -EUCLEAN : r;
}

/* Working state of a region that broke a budget is dropped like the proposals (I-24). Of a run of several regions only
 * this region's notes go (G-75): the end of a session's own region, however it comes, drops no turn's notes. */
static int end_drop_notes(Txn *t, const json_t *row, const char *region) {
        const char *run = json_text(json_object_get(row, "turn_of"));
        const bool of_session = json_object_get(row, "session") && !json_object_get(row, "discard_asked");
        uint64_t dropped;
        int r = of_session ? 0
                : run      ? engine_notes_drop(t, run, region, &dropped)
                           : engine_run_end(t, NULL, region, region, true, &dropped, NULL);

        return r == ENGINE_E_NO_RECORD ? 0 : r;
}

static bool end_is_success(const json_t *ended) {
        const json_t *code = json_object_get(ended, "exit_code");

        return json_text_is(json_object_get(ended, "outcome"), "exited") && json_is_integer(code) &&
               json_integer_value(code) == 0;
}

/* Of an execution: the object, the trace, and whether its changes were kept (O-38). */
static int end_note_execution(const json_t *row, bool keep, json_t *ended) {
        static const char *const members[] = {"object", "trace", "below"};

        if (!json_object_get(row, "object"))
                return 0;
        return JSON_ROW_KEEP(ended, row, members) < 0 || json_object_set_new(ended, "kept", json_boolean(keep)) < 0
                       ? -ENOMEM
                       : 0;
}

static int end_region(Txn *t, const json_t *row, const RegionEnd *e, json_t *recovered, uint64_t *ret_released,
                         uint64_t *ret_ended) {
        const char *outcome = json_text(json_object_get(e->ended, "outcome"));
        _cleanup_json_ json_t *released = lineage_released(row, e->released), *full = json_array(),
                              *ended = json_copied(e->ended);
        const char *why = e->keep ? NULL : e->why;
        char broke[REGION_BROKE_MAX];
        bool keep = e->keep;
        int r = released && full && ended ? region_broke_above(t, row, broke) : -ENOMEM;

        /* the engine's own check: a second try of an execution must find none of the changes of the first (O-38) */
        if (r == 0 && keep && json_object_get(row, "object") && !end_is_success(e->ended)) {
                keep = false;
                why = "not_success";
        }
        /* an operator asked for the discard, or a region above broke its budget (I-98) */
        if (r == 0 && keep && *broke) {
                keep = false;
                why = broke;
        }
        if (r == 0 && why && json_object_set_new(ended, "discarded", json_string(why)) < 0)
                r = -ENOMEM;
        if (r == 0)
                r = end_note_execution(row, keep, ended);
        if (r == 0)
                r = end_settle_all(t, e->region, keep, why ?: outcome, full);
        if (r == 0 && !keep)
                r = end_drop_notes(t, row, e->region);
        if (r == 0)
                r = session_region_over(t, e->region, row);
        if (r == 0)
                r = event_append(
                        t, &(Event){.type = "region.released", .region = e->region, .fields = TAKE_PTR(released)},
                        ret_released);
        if (r == 0 && recovered)
                r = event_append(
                        t, &(Event){.type = "region.recovered", .region = e->region, .fields = json_incref(recovered)},
                        NULL);
        return r ?: fold_slot_append(
                            t, &(Event){.type = "invocation.ended", .region = e->region, .fields = TAKE_PTR(ended)},
                            ret_ended)
                        ?: region_json_del(t, e->region)
                        ?: end_decide_all(t, full)
                        ?: ledger_want_anchor(t);
}

int engine_region_end(Txn *t, const RegionEnd *e, uint64_t *ret_released, uint64_t *ret_ended, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;

        return region_json_need(t, e->region, &row, reterr) ?: end_region(t, row, e, NULL, ret_released, ret_ended);
}

int engine_region_discards(Txn *t, const char *region, char ret[static ENGINE_DISCARDS_MAX]) {
        _cleanup_json_ json_t *row = NULL;

        return region_json_get(t, region, &row) ?: region_broke_above(t, row, ret);
}

int engine_region_discard(Txn *t, const char *region, const char *who, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        json_t *fields;
        int r = region_json_need(t, region, &row, reterr);

        if (r != 0 || json_object_get(row, "discard_asked"))
                return r;
        if (json_object_set_new(row, "discard_asked", json_string(who)) < 0)
                return -ENOMEM;
        fields = json_pack("{s:s}", "who", who);
        return event_append(t, &(Event){.type = "region.discard_asked", .region = region, .fields = fields}, NULL)
                ?: region_json_put(t, region, row, false);
}

int engine_region_recover(Txn *t, const char *region, const json_t *evidence, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL, *ended = NULL, *recovered = NULL;
        const char *left, *broke;
        bool success;
        int r = region_json_need(t, region, &row, reterr);

        if (r != 0) /* ENGINE_E_NO_REGION: another process was faster and has finished the region */
                return r;
        left = json_text(json_object_get(row, "left"));
        broke = json_text(json_object_get(row, "faulted"));
        success = json_text_is(json_object_get(row, "commit"), "success") || json_object_get(row, "object");
        ended = json_pack("{s:s, s:s}", "outcome", left && broke ? broke : "cancelled", "reason",
                          left ? "left_behind" : "supervisor_died");
        recovered = json_pack("{s:O, s:O, s:O?}", "supervisor", json_object_get(row, "supervisor"), "allocated",
                              json_object_get(row, "allocated"), "pid", json_object_get(row, "pid"));
        if (!ended || !recovered)
                return -ENOMEM;
        /* The proposals were acknowledged, and so are kept. Exceptions: a recorded breach, or "commit" success: no
         * process saw the exit code. */
        return end_region(t, row,
                   &(RegionEnd){.region = region, .keep = !broke && !success, .why = broke ? NULL : "not_success",
                                .released = evidence, .ended = ended}, recovered, NULL, NULL);
}
