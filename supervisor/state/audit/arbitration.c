#include "audit/fold-state.h"

#include "record/event.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Slots with a rule of arbitration. The newest proposal of each region that ended well is gathered; the proposals are
 * disjoint from each other (I-55). Each verdict is the result of the slot's rule (I-56). */

int arbitration_defined(Audit *a, const char *name, const json_t *rule) {
        FoldedArbitration *f;
        ArbitrationRule parsed;

        if (arbitration_rule_parse(rule, &parsed, NULL) != 0)
                return audit_lacks(a, "slot.defined", "arbitrate, a rule,");
        f = map_add(&a->arbiters, name, sizeof(*f));
        if (!f)
                return -ENOMEM;
        f->rule = parsed;
        return 0;
}

int arbitration_asked(Audit *a, const json_t *o, const char *name) {
        FoldedArbitration *f = map_get(&a->arbiters, name);

        if (!f || !json_object_get(o, "who") || !*json_str(o, "question"))
                return audit_differs(a, "a question for a slot without a rule, or without its id or asker",
                                     "slot.asked", "a rule, question and who");
        if (f->open || f->n > 0)
                return audit_differs(a, "a question while an earlier one is open, or has proposals (G-74)",
                                     "slot.asked", "slot.arbitrated of %s before", name);
        f->asked = a->seq;
        f->open = true;
        snprintf(f->until, sizeof(f->until), "%s", json_object_get(o, "until") ? json_str(o, "until") : "");
        return 0;
}

/* The uppermost region above r that lends its key down to r, or whose callback r is. */
static const FoldedRegion *arbitration_uppermost(const FoldedRegion *r) {
        const FoldedRegion *top = r;

        for (; r->parent; r = r->parent)
                if (r->callback || r->parent->lends_key)
                        top = r->parent;
        return top;
}

/* h: the region's next proposal to be settled. */
int arbitration_gathered(Audit *a, const json_t *o, const char *name, const FoldedRegion *r, const FoldedHeld *h) {
        FoldedArbitration *f = map_get(&a->arbiters, name);
        const char *id = json_str(o, "region"), *tree = json_object_get(o, "tree") ? json_str(o, "tree") : id;
        FoldedQuorum *g;

        if (!f || !*json_str(o, "skill"))
                return audit_differs(a, "a proposal is gathered for a slot without a rule", "no rule, or no skill",
                                     "a rule, and the region's skill");
        if (r->broke)
                return audit_differs(a, "a proposal of a region with a broken budget is gathered (I-24)",
                                     "slot.gathered", "slot.discarded");
        for (const FoldedHeld *later = h + 1; later < r->held + r->n_held; later++)
                if (strcmp(later->slot, name) == 0)
                        return audit_differs(a, "a gathered proposal was replaced by a later one of the same region",
                                             audit_text("the proposal at %" PRIu64, h->seq).s,
                                             "the proposal at %" PRIu64, later->seq);
        if (map_get(&a->regions, tree) != arbitration_uppermost(r))
                return audit_differs(a, "a region is counted alone although its key is shared with others (I-55)", tree,
                                     "the uppermost region with the same key");
        for (size_t i = 0; i < f->n; i++)
                if (strcmp(f->items[i].tree, tree) == 0)
                        return audit_differs(a, "two gathered proposals are of regions that are not disjoint (I-55)",
                                             audit_text("those of %" PRIu64 " and %" PRIu64, f->items[i].seq, h->seq).s,
                                             "one of %s", tree);
        if (f->asked && (!f->open || h->seq < f->asked || r->allocated < f->asked))
                return audit_differs(a, "a proposal of another round is gathered (G-74)",
                                     audit_text("the proposal at %" PRIu64 ", the region at %" PRIu64, h->seq,
                                                r->allocated).s,
                                     "both after the open question, at %" PRIu64, f->asked);
        if (f->n >= f->rule.of)
                return audit_differs(a, "more is gathered than the slot's rule wants", "one more",
                                     "a verdict on %u proposals", f->rule.of);
        g = &f->items[f->n++];
        *g = (FoldedQuorum){.seq = h->seq, .gathered = a->seq, .expect = h->expect, .confidence = h->confidence};
        snprintf(g->region, sizeof(g->region), "%s", id);
        snprintf(g->tree, sizeof(g->tree), "%s", tree);
        snprintf(g->skill, sizeof(g->skill), "%s", json_str(o, "skill"));
        memcpy(g->sha256, h->sha256, sizeof(g->sha256));
        return 0;
}

static bool arbitration_is_over(const Audit *a, const FoldedArbitration *f) {
        return *f->until && strcmp(a->last_time, f->until) > 0;
}

/* Verifies the reason for discarding a proposal of a region that ended well: no winner is dropped. */
int arbitration_discarded(Audit *a, const json_t *o, const char *name, const FoldedRegion *r, const FoldedHeld *h) {
        const FoldedArbitration *f = map_get(&a->arbiters, name);
        const char *reason = json_str(o, "reason");
        bool holds = true;

        if (strcmp(reason, "superseded") == 0) {
                holds = false;
                for (const FoldedHeld *later = h + 1; later < r->held + r->n_held; later++)
                        holds |= strcmp(later->slot, name) == 0;
        } else if (strcmp(reason, "not_disjoint") == 0) {
                holds = false;
                for (size_t i = 0; i < f->n; i++)
                        holds |= map_get(&a->regions, f->items[i].tree) == arbitration_uppermost(r);
        }
        if (strcmp(reason, "other_round") == 0)
                holds = f->asked && (!f->open || h->seq < f->asked);
        else if (strcmp(reason, "too_late") == 0)
                holds = f->open && arbitration_is_over(a, f);
        else if (strcmp(reason, "full") == 0)
                holds = f->rule.kind == ARBITRATION_JUDGE && f->n >= f->rule.of;
        if (holds)
                return 0;
        return audit_differs(a, "a proposal is discarded for a false reason", reason,
                             "slot.gathered of the proposal at %" PRIu64, h->seq);
}

static int arbitration_by_seq(const void *a, const void *b) {
        const FoldedQuorum *x = a, *y = b;

        return (x->seq > y->seq) - (x->seq < y->seq);
}

/* The hash of a proposed value: of the value itself if present, else from the verdict's payload. hashes: the payload's
 * list; NULL: a verdict of an older Lethe, which kept all values. */
static int arbitration_hash(Audit *a, const ArbitrationRule *rule, const FoldedQuorum *g, const json_t *hashes,
                            size_t i, uint8_t ret[static HASH_BYTES]) {
        const char *said = json_text(json_array_get(hashes, i));
        uint8_t own[HASH_BYTES];
        Bytes body;
        int r;

        if (hashes && (!said || hex_decode(said, ret, HASH_BYTES) < 0))
                return audit_lacks(a, "slot.arbitrated", "values, a hash for each proposal,");
        r = body_get(a->txn, g->seq, NULL, &body);
        if (r == -ENOENT && hashes)
                return 0;
        if (r == -ENOENT)
                return audit_differs(a, "a verdict on a missing value", "neither",
                                     "the payload of the proposal %" PRIu64 ", or the hashes of all", g->seq);
        r = r ?: arbitration_hash_of(rule, body.p, body.n, own);
        if (r == -ENOENT)
                return audit_differs(a, "a gathered value lacks the compared member", "none", "member %s", rule->by);
        if (r < 0)
                return r;
        if (hashes && memcmp(own, ret, sizeof(own)) != 0)
                return audit_differs(a, "the hash in a verdict differs from the hash of the value", said,
                                     "the hash of the proposal %" PRIu64, g->seq);
        memcpy(ret, own, sizeof(own));
        return 0;
}

/* The verdict's payload. *ret: owned; NULL: none. */
static int arbitration_hashes(Audit *a, const json_t *o, const FoldedArbitration *f, json_t **ret) {
        _cleanup_json_ json_t *payload = NULL;
        Bytes body;
        int r;

        *ret = NULL;
        if (!json_object_get(o, "body"))
                return 0;
        r = body_get(a->txn, a->seq, NULL, &body)
                ?: json_parse_own(body.p, body.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &payload);
        if (r < 0)
                return r;
        if (r > 0 || json_array_size(json_object_get(payload, "values")) != f->n)
                return audit_lacks(a, "slot.arbitrated", "values, a hash for each proposal,");
        *ret = json_incref(json_object_get(payload, "values"));
        return 0;
}

/* Of the verdict's proposal at place i. */
static bool arbitration_is_seen(const json_t *o, size_t i) {
        const char *word = json_str(json_array_get(json_object_get(o, "proposals"), i), "verdict");

        return strcmp(word, arbitration_word(ARBITRATION_UNSEEN)) != 0 &&
               strcmp(word, arbitration_word(ARBITRATION_STALE)) != 0;
}

/* The region of a judge began in the round, and has ended; name and digest are of the skill that ran there. */
static int arbitration_check_judge(Audit *a, const json_t *o, const FoldedArbitration *f) {
        const json_t *judge = json_object_get(o, "judge");
        const FoldedRegion *r = map_get(&a->regions, json_str(judge, "region"));
        _cleanup_json_ json_t *began = NULL;
        int e;

        if (!judge)
                return f->rule.kind != ARBITRATION_JUDGE || strcmp(json_str(o, "reason"), "closed") == 0
                               ? 0
                               : audit_differs(a, "a verdict without a judge on a slot that a judge decides (G-74)",
                                               "none", "judge");
        if (!json_object_get(o, "who") || !f->open || !r || !r->ended || r->allocated < f->asked)
                return audit_differs(a, "a judge's verdict without its region, round or asker (G-74)",
                                     json_str(judge, "region"), "a region that began in the round, and has ended");
        e = event_get(a->txn, r->allocated, &began);
        if (e < 0)
                return e;
        if (!json_equal(json_object_get(began, "skill"), json_object_get(judge, "skill")))
                return audit_differs(a, "the skill of a judge is not the skill of its region (G-74)", "another",
                                     "the skill at %" PRIu64, r->allocated);
        for (size_t i = 0; i < f->n; i++)
                if (f->items[i].gathered > r->allocated && arbitration_is_seen(o, i))
                        return audit_differs(a, "a judge has seen a proposal that was gathered later (G-74)",
                                             audit_text("gathered at %" PRIu64, f->items[i].gathered).s,
                                             "before the judge's region, at %" PRIu64, r->allocated);
        return 0;
}

/* The judge's answer is one of the proposals that were gathered before the judge began, or none. */
static void arbitration_judge_again(const json_t *o, const FoldedArbitration *f, uint64_t version,
                                    const ArbitrationProposal *p, ArbitrationVerdict *ret) {
        const json_t *judge = json_object_get(o, "judge");
        size_t chosen = ARBITRATION_NOBODY;
        bool seen[ARBITRATION_PROPOSALS_MAX];
        uint64_t answer = 0;

        json_get_u64(json_object_get(judge, "answer"), &answer);
        for (size_t i = 0; i < f->n; i++) {
                seen[i] = arbitration_is_seen(o, i);
                if (p[i].seq == answer && !json_object_get(judge, "fault"))
                        chosen = i;
        }
        arbitration_judge(version, p, seen, f->n, chosen,
                          json_object_get(judge, "fault") ? ARBITRATION_JUDGE_FAILED : ARBITRATION_NO_CHOICE, ret);
}

/* Applies the rule again to the gathered proposals. *ret_winner: seq, or 0. */
static int arbitration_decide_again(Audit *a, const json_t *o, const FoldedArbitration *f, uint64_t version,
                                    bool closed, uint64_t *ret_winner, const char **ret_reason) {
        _cleanup_json_ json_t *hashes = NULL;
        ArbitrationProposal p[ARBITRATION_PROPOSALS_MAX];
        ArbitrationVerdict v;
        int r = arbitration_hashes(a, o, f, &hashes);

        for (size_t i = 0; r == 0 && i < f->n; i++) {
                const FoldedQuorum *g = &f->items[i];

                p[i] = (ArbitrationProposal){.seq = g->seq,
                                             .region = g->region, .skill = g->skill,
                                             .expect = g->expect, .confidence = g->confidence};
                r = arbitration_hash(a, &f->rule, g, hashes, i, p[i].hash);
        }
        if (r != 0)
                return r;
        if (closed)
                arbitration_close(f->n, &v);
        else if (json_object_get(o, "judge"))
                arbitration_judge_again(o, f, version, p, &v);
        else
                arbitration_decide(&f->rule, version, p, f->n, &v);
        *ret_winner = v.winner == ARBITRATION_NOBODY ? 0 : p[v.winner].seq;
        *ret_reason = arbitration_word(v.reason);
        return 0;
}

static bool arbitration_is_same_rule(const FoldedArbitration *f, const json_t *said) {
        _cleanup_json_ json_t *rule = arbitration_rule_json(&f->rule), *again = NULL;
        ArbitrationRule r;

        if (arbitration_rule_parse(said, &r, NULL) != 0)
                return false;
        again = arbitration_rule_json(&r);
        return rule && again && json_equal(rule, again);
}

int arbitration_decided(Audit *a, const json_t *o, const char *name, const SlotRow *slot, uint64_t version) {
        FoldedArbitration *f = map_get(&a->arbiters, name);
        const json_t *list = json_object_get(o, "proposals"), *said = json_object_get(o, "winner");
        uint64_t seq, winner, found, verdict_row, row_winner;
        const char *reason;
        bool closed;
        int r;

        if (!f || (f->n == 0 && !f->open))
                return audit_differs(a, "a verdict on nothing", "none", "gathered proposals for %s", name);
        if ((json_get_u64(json_object_get(o, "round"), &seq) < 0 ? 0 : seq) != (f->open ? f->asked : 0))
                return audit_differs(a, "a verdict is not on the open round (G-74)", "another, or none",
                                     "the question at %" PRIu64 " (0: none)", f->open ? f->asked : 0);
        /* an operator closes a round by the next question; a round without proposals has no other verdict */
        closed = f->n == 0 || (json_object_get(o, "who") && strcmp(json_str(o, "reason"), "closed") == 0);
        if (!arbitration_is_same_rule(f, json_object_get(o, "rule")))
                return audit_differs(a, "the rule of a verdict differs from the slot's rule", "another",
                                     "the rule of slot.defined");
        if (!json_object_get(o, "who") && f->n != f->rule.of && !(f->open && arbitration_is_over(a, f)))
                return audit_differs(a, "a verdict that nobody asked for, and for which too little is gathered",
                                     audit_text("%zu", f->n).s, "%u proposals, or an operator (who)", f->rule.of);
        if (version != slot->version)
                return audit_differs(a, "a verdict on a version that was not the slot's version then",
                                     audit_text("version %" PRIu64, version).s, "version %" PRIu64, slot->version);
        qsort(f->items, f->n, sizeof(f->items[0]), arbitration_by_seq);
        for (size_t i = 0; i < MAX(f->n, json_array_size(list)); i++)
                if (i >= f->n || json_get_u64(json_object_get(json_array_get(list, i), "seq"), &seq) < 0 ||
                    seq != f->items[i].seq ||
                    strcmp(json_str(json_array_get(list, i), "region"), f->items[i].region) != 0)
                        return audit_differs(a, "the proposals of a verdict differ from the gathered proposals (I-56)",
                                             audit_text("%zu, or a different proposal at place %zu",
                                                        json_array_size(list), i).s,
                                             "%zu, by seq", f->n);
        r = arbitration_check_judge(a, o, f)
                    ?: arbitration_decide_again(a, o, f, version, closed, &winner, &reason);
        if (r != 0)
                return r;
        if ((json_is_null(said)               ? 0
             : json_get_u64(said, &found) < 0 ? UINT64_MAX
                                              : found) != winner ||
            strcmp(json_str(o, "reason"), reason) != 0)
                return audit_differs(a, "a verdict is not the one that the slot's rule gives (I-56)",
                                     audit_text("%s, %s", json_is_null(said) ? "none" : "another",
                                                json_str(o, "reason")).s,
                                     "%" PRIu64 " (0: none), %s", winner, reason);
        r = verdict_row_next(a->txn, name, a->seq, &verdict_row, &row_winner);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == -ENOENT || verdict_row != a->seq || row_winner != winner)
                return audit_differs(a, "table verdict lacks the row of a verdict",
                                     r == -ENOENT || verdict_row != a->seq ? "no row" : "another proposal",
                                     "%s at %" PRIu64 ": %" PRIu64, name, a->seq, winner);
        a->n_verdicts++;
        f->verdict = a->seq;
        for (size_t i = 0; winner && i < f->n; i++)
                if (f->items[i].seq == winner)
                        f->won = f->items[i];
        a->owed = winner ? f : NULL;
        f->n = 0;
        f->open = false;
        return 0;
}

int arbitration_written(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version) {
        const FoldedArbitration *f = map_get(&a->arbiters, name);
        uint64_t verdict, proposed;

        if (json_get_u64(json_object_get(o, "arbitrated"), &verdict) < 0 ||
            json_get_u64(json_object_get(o, "proposed"), &proposed) < 0)
                return audit_lacks(a, "slot.written", "arbitrated and proposed");
        if (!f || a->owed != f || f->verdict != verdict || f->won.seq != proposed ||
            strcmp(f->won.region, json_str(o, "from")) != 0)
                return audit_differs(a, "a slot with a rule is written without its verdict",
                                     "a different verdict, or none",
                                     "a verdict just before, for the same proposal of the same region");
        a->owed = NULL;
        return fold_slot_takes_proposal(a, o, name, slot, version, proposed, f->won.sha256);
}

/* Before the entry at hand: the write of the slot follows its verdict at once. */
int arbitration_owed(Audit *a, const json_t *o) {
        if (!a->owed || (o && strcmp(json_str(o, "type"), "slot.written") == 0 && json_object_get(o, "arbitrated")))
                return 0;
        if (o && strcmp(json_str(o, "type"), "object.woken") == 0) /* objects that waited for the verdict */
                return 0;
        return audit_fails(a, o != NULL, "a verdict is not carried out", o ? json_str(o, "type") : "no more entries",
                           "slot.written of the proposal %" PRIu64, a->owed->won.seq);
}

int arbitration_check(Audit *a, uint64_t *ret_gathered) {
        uint64_t n = 0;
        int r = arbitration_owed(a, NULL);

        for (size_t i = 0; r == 0 && i < a->arbiters.room; i++) {
                FoldedArbitration *f = a->arbiters.items[i].value;
                const char *name = a->arbiters.items[i].key;
                QuorumRow rows[ARBITRATION_PROPOSALS_MAX];
                int found;

                if (!f)
                        continue;
                if (f->n >= f->rule.of && f->rule.kind != ARBITRATION_JUDGE)
                        return audit_store_differs(a, "enough is gathered, and there is no verdict", "none",
                                                   "slot.arbitrated of %s", name);
                qsort(f->items, f->n, sizeof(f->items[0]), arbitration_by_seq);
                found = gather_rows(a->txn, name, rows, ARRAY_SIZE(rows));
                if (found < 0)
                        return found;
                for (size_t k = 0; k < MAX(f->n, (size_t)found); k++)
                        if (k >= f->n || k >= (size_t)found || rows[k].seq != f->items[k].seq ||
                            rows[k].gathered != f->items[k].gathered ||
                            strcmp(rows[k].region, f->items[k].region) != 0 ||
                            strcmp(rows[k].tree, f->items[k].tree) != 0)
                                return audit_store_differs(a, "table gather differs from the ledger",
                                                           audit_text("%d, or a different proposal", found).s,
                                                           "%s: %zu proposals", name, f->n);
                n += f->n;
        }
        *ret_gathered = n;
        return r;
}
