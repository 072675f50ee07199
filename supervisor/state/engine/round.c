#include "engine/round.h"

#include "base/clock.h"
#include "engine/fold-slot.h"
#include "engine/quorum.h"
#include "engine/slot.h"
#include "ledger/ledger.h"
#include "record/event.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define ROUND_BYTES (8 + 8 + 1)

int round_get(Txn *t, const char *slot, Round *ret) {
        const uint8_t *p;
        Bytes v;
        int r = table_get(t, TABLE_ROUND, BYTES_STR(slot), &v);

        *ret = (Round){0};
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        p = v.p;
        if (v.n != ROUND_BYTES || p[16] > 1)
                return -EUCLEAN;
        *ret = (Round){.asked = be64_get(p), .until_usec = be64_get(p + 8), .open = p[16]};
        return 0;
}

int round_put(Txn *t, const char *slot, const Round *round) {
        uint8_t v[ROUND_BYTES];

        be64_put(v, round->asked);
        be64_put(v + 8, round->until_usec);
        v[16] = round->open;
        return table_put(t, TABLE_ROUND, BYTES_STR(slot), BYTES(v, sizeof(v)));
}

int round_is_over(Txn *t, const Round *round) {
        uint64_t size, last;
        int r = ledger_state(t, &size, &last);

        return r < 0 ? r : round->until_usec > 0 && MAX(clock_real_usec(), last) > round->until_usec;
}

int round_may(Txn *t, const char *slot, uint64_t allocated, Diag *reterr) {
        Round round;
        int over, r = round_get(t, slot, &round);

        if (r < 0 || round.asked == 0)
                return r;
        if (!round.open)
                return diag(reterr, ENGINE_E_RULE, "slot %s: no question is open: its last round is closed", slot);
        if (allocated < round.asked)
                return diag(reterr, ENGINE_E_RULE,
                            "slot %s: the open round was asked at seq %" PRIu64 ", after the region began: a region "
                            "answers questions that were open at its begin", slot, round.asked);
        over = round_is_over(t, &round);
        return over <= 0 ? over : diag(reterr, ENGINE_E_RULE, "slot %s: the round's deadline is over", slot);
}

int round_refuses(Txn *t, const char *slot, uint64_t proposed, const char **ret) {
        Round round;
        int over, r = round_get(t, slot, &round);

        *ret = NULL;
        if (r < 0 || round.asked == 0)
                return r;
        over = round_is_over(t, &round);
        if (over < 0)
                return over;
        *ret = !round.open || proposed < round.asked ? "other_round" : over ? ROUND_TOO_LATE : NULL;
        return 0;
}

static bool round_question_valid(const char *s) {
        size_t n = strlen(s);

        return n > 0 && n <= ROUND_QUESTION_MAX &&
               strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

int engine_slot_ask(Txn *t, const char *who, const char *name, const char *question, uint64_t until_usec,
                    uint64_t *ret_seq, Diag *reterr) {
        char until[CLOCK_TEXT_MAX];
        json_t *fields;
        SlotRow row;
        int r;

        if (!slot_name_valid(name))
                return slot_bad_name(name, reterr);
        if (!round_question_valid(question))
                return diag(reterr, ENGINE_E_BAD_NAME,
                            "\"%s\" is not a question's id: 1 to %d of a-z A-Z 0-9 . _ -", DIAG_QUOTED(question),
                            ROUND_QUESTION_MAX);
        r = slot_row_get(t, name, &row);
        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_UNDEFINED, "slot %s is not defined", name);
        if (r == 0 && !row.arbitrated)
                return diag(reterr, ENGINE_E_RULE, "slot %s has no rule of arbitration: no question is asked", name);
        r = r ?: quorum_close(t, name, who);
        if (r < 0)
                return r;
        fields = json_pack("{s:s, s:s, s:s*}", "slot", name, "question", question, "until",
                           until_usec ? clock_format(until_usec, until) : NULL);
        r = fold_slot_append(t, &(Event){.type = "slot.asked", .who = who, .fields = fields}, ret_seq);
        return r ?: ledger_want_anchor(t);
}

int round_show(Txn *t, const char *slot, json_t **ret) {
        static const char *const members[] = {"question", "time", "until"};
        _cleanup_json_ json_t *entry = NULL, *o = NULL;
        Round round;
        int over, r = round_get(t, slot, &round);

        *ret = NULL;
        if (r < 0 || round.asked == 0)
                return r;
        over = round_is_over(t, &round);
        r = over < 0 ? over : event_get(t, round.asked, &entry);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        o = json_pack("{s:o, s:b, s:b}", "seq", json_u64(round.asked), "open", (int)round.open, "over", over);
        if (!o || JSON_ROW_KEEP(o, entry, members) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}
