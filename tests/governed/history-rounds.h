/* Runs: tests. Rounds (G-74) for random histories: questions with and without a deadline, regions that live across them, verdicts; then, by the ledger alone,
 * each value that a verdict wrote is of the round that was open. */
#pragma once

#include "base/clock.h"
#include "engine/round.h"
#include "tests/state/engine/gather-fixture.h"

#define ROUND_SLOT "a"
#define ROUND_REGIONS 4

typedef struct Rounds {
        char regions[ROUND_REGIONS][REGION_ID_MAX]; /* empty: none */
        unsigned asked, refused, discarded, written;
} Rounds;

typedef unsigned RoundsRoll(void *user, unsigned sides);

static inline void rounds_ask(StoreFixture *f, Rounds *x, unsigned kind) {
        Txn *t = store_fixture_begin(f, true);
        uint64_t seq, until = kind == 0 ? 1 : kind == 1 ? clock_real_usec() + 4000 : 0;

        cr_assert_eq(engine_slot_ask(t, "uid:0", ROUND_SLOT, "colour", until, &seq, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
        x->asked++;
}

static inline void rounds_decide(StoreFixture *f) {
        _cleanup_json_ json_t *found = NULL;
        int r = gather_decided(f, ROUND_SLOT, &found);

        cr_assert(r == 0 || r == ENGINE_E_NO_VALUE, "%d: %s", r, f->d.text);
}

/* One step of a region that begins, proposes, or ends; of the operator seldom. */
static inline void rounds_step(StoreFixture *f, Rounds *x, RoundsRoll *roll, void *user) {
        static const char *const colours[] = {"blue", "blue", "blue", "red"};
        char *region = x->regions[roll(user, ROUND_REGIONS)];
        unsigned what = roll(user, 24);

        if (what == 0)
                rounds_ask(f, x, roll(user, 8));
        else if (what == 1)
                rounds_decide(f);
        else if (!*region || what < 9) {
                int r;

                if (!*region)
                        gather_begin(f, &(Begin){0}, region);
                r = gather_propose(f, region, ROUND_SLOT, colours[roll(user, 4)], -1, -1);
                cr_assert(r == 0 || r == ENGINE_E_RULE, "%d: %s", r, f->d.text);
                x->refused += r == ENGINE_E_RULE;
        } else {
                gather_end(f, region, roll(user, 6) > 0);
                *region = '\0';
        }
}

/* Regions do not outlive the history. */
static inline void rounds_end(StoreFixture *f, Rounds *x) {
        for (unsigned i = 0; i < ROUND_REGIONS; i++)
                if (*x->regions[i])
                        gather_end(f, x->regions[i], true);
}

/* What the ledger says of a slot's rounds up to an event. */
typedef struct RoundsLedger {
        json_t *begun;     /* region: seq of region.allocated */
        json_t *proposed;  /* seq: region */
        json_t *gathered;  /* seq of the proposal: time of slot.gathered */
        uint64_t asked, until;
        bool open;
} RoundsLedger;

static inline void rounds_counts(const RoundsLedger *l, uint64_t seq, uint64_t proposal, uint64_t at) {
        char name[24];
        const char *region;
        uint64_t begun = 0;

        snprintf(name, sizeof(name), "%lu", proposal);
        region = json_string_value(json_object_get(l->proposed, name));
        cr_assert(region, "event %lu: proposal %lu is not in the ledger", seq, proposal);
        cr_assert_eq(json_get_u64(json_object_get(l->begun, region), &begun), 0);
        if (l->asked == 0)
                return;
        cr_expect(l->open, "event %lu: the round is closed", seq);
        cr_expect(proposal > l->asked && begun > l->asked, "event %lu: proposal %lu, of a region that began at %lu, is of another round than %lu", seq, proposal,
                  begun, l->asked);
        cr_expect(l->until == 0 || at <= l->until, "event %lu: after the deadline", seq);
}

static inline void rounds_event(RoundsLedger *l, Rounds *x, uint64_t seq, const json_t *e) {
        const char *type = json_str(e, "type"), *text = json_string_value(json_object_get(e, "until"));
        uint64_t proposal = 0, at = 0, round = 0;
        bool counts = json_get_u64(json_object_get(e, "proposed"), &proposal) == 0;
        char name[24];

        snprintf(name, sizeof(name), "%lu", proposal ? proposal : seq);
        cr_assert_eq(clock_parse(json_str(e, "time"), &at), 0);
        if (strcmp(type, "region.allocated") == 0)
                json_object_set_new(l->begun, json_str(e, "region"), json_u64(seq));
        else if (strcmp(type, "slot.proposed") == 0)
                json_object_set_new(l->proposed, name, json_string(json_str(e, "region")));
        else if (strcmp(type, "slot.gathered") == 0) {
                cr_assert(counts);
                rounds_counts(l, seq, proposal, at);
                json_object_set_new(l->gathered, name, json_u64(at));
        } else if (strcmp(type, "slot.written") == 0) {
                cr_assert(counts && json_get_u64(json_object_get(l->gathered, name), &at) == 0, "event %lu: a proposal that was not gathered", seq);
                x->written++;
        } else if (strcmp(type, "slot.discarded") == 0)
                x->discarded++;
        else if (strcmp(type, "slot.arbitrated") == 0) {
                const json_t *p;
                size_t i;

                json_array_foreach(json_object_get(e, "proposals"), i, p) {
                        cr_assert_eq(json_get_u64(json_object_get(p, "seq"), &proposal), 0);
                        snprintf(name, sizeof(name), "%lu", proposal);
                        cr_assert_eq(json_get_u64(json_object_get(l->gathered, name), &at), 0);
                        rounds_counts(l, seq, proposal, at);
                }
                cr_expect(json_get_u64(json_object_get(e, "round"), &round) < 0 ? l->asked == 0 : round == l->asked, "event %lu", seq);
                l->open = false;
        } else if (strcmp(type, "slot.asked") == 0) {
                l->asked = seq;
                l->open = true;
                l->until = 0;
                cr_assert(!text || clock_parse(text, &l->until) == 0);
        }
}

static inline void rounds_hold(Rounds *x, Txn *t) {
        RoundsLedger l = {.begun = json_object(), .proposed = json_object(), .gathered = json_object()};
        uint64_t n, last;

        cr_assert_eq(ledger_state(t, &n, &last), 0);
        for (uint64_t seq = 0; seq < n; seq++) {
                _cleanup_json_ json_t *e = NULL;

                cr_assert_eq(event_get(t, seq, &e), 0);
                rounds_event(&l, x, seq, e);
        }
        json_decref(l.begun);
        json_decref(l.proposed);
        json_decref(l.gathered);
}
