#include "audit/audit-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Slots with a rule of arbitration: what is gathered is what regions that ended well proposed last, each one disjoint from the others (I-55), and each
 * verdict is the one that the rule gives for it (I-56). */

static const char *text_of(const json_t *o, const char *key) {
        const char *s = json_text(json_object_get(o, key));

        return s ? s : "";
}

static int lacks(Audit *a, const char *type, const char *field) {
        broken(a, true, "an entry lacks a field or has it of a wrong kind", "field %s of %s", field, type);
        return broken_found(a, "none");
}

int arbitration_defined(Audit *a, const char *name, const json_t *rule) {
        FoldedArbitration *f = calloc(1, sizeof(*f));

        if (!f)
                return -ENOMEM;
        if (arbitration_rule_parse(rule, &f->rule, NULL) != 0) {
                free(f);
                return lacks(a, "slot.defined", "arbitrate, a rule,");
        }
        if (map_add(&a->arbiters, name, f) < 0) {
                free(f);
                return -ENOMEM;
        }
        return 0;
}

/* The uppermost of the regions above that let this one use their key, or whose callback it is. */
static const FoldedRegion *tree_of(const FoldedRegion *r) {
        const FoldedRegion *top = r;

        for (; r->parent; r = r->parent)
                if (r->callback || r->parent->lends_key)
                        top = r->parent;
        return top;
}

/* h: the region's proposal whose turn it is, and which is to be settled now. */
int arbitration_gathered(Audit *a, const json_t *o, const char *name, const FoldedRegion *r, const FoldedHeld *h) {
        FoldedArbitration *f = map_get(&a->arbiters, name);
        const char *id = text_of(o, "region"), *tree = json_object_get(o, "tree") ? text_of(o, "tree") : id;
        FoldedQuorum *g;

        if (!f || !*text_of(o, "skill")) {
                broken(a, true, "a proposal is gathered for a slot that has no rule", "a rule, and the region's skill");
                return broken_found(a, "neither or one");
        }
        if (r->broke) {
                broken(a, true, "a proposal of a region that broke a budget is gathered (I-24)", "slot.discarded");
                return broken_found(a, "slot.gathered");
        }
        for (const FoldedHeld *later = h + 1; later < r->held + r->n_held; later++)
                if (strcmp(later->slot, name) == 0) {
                        broken(a, true, "a proposal is gathered that its region replaced", "the one of %" PRIu64, later->seq);
                        return broken_found(a, "the one of %" PRIu64, h->seq);
                }
        if (map_get(&a->regions, tree) != tree_of(r)) {
                broken(a, true, "a region is counted for itself that shares a key with others (I-55)", "the uppermost region whose key it could use");
                return broken_found(a, "%s", tree);
        }
        for (size_t i = 0; i < f->n; i++)
                if (strcmp(f->items[i].tree, tree) == 0) {
                        broken(a, true, "two proposals are gathered of regions that are not disjoint (I-55)", "one of %s", tree);
                        return broken_found(a, "those of %" PRIu64 " and %" PRIu64, f->items[i].seq, h->seq);
                }
        if (f->n >= f->rule.of) {
                broken(a, true, "more is gathered than the slot's rule wants", "a verdict on %u proposals", f->rule.of);
                return broken_found(a, "one more");
        }
        g = &f->items[f->n++];
        *g = (FoldedQuorum){.seq = h->seq, .gathered = a->seq, .expect = h->expect, .confidence = h->confidence};
        snprintf(g->region, sizeof(g->region), "%s", id);
        snprintf(g->tree, sizeof(g->tree), "%s", tree);
        snprintf(g->skill, sizeof(g->skill), "%s", text_of(o, "skill"));
        memcpy(g->sha256, h->sha256, sizeof(g->sha256));
        return 0;
}

/* What does not count although its region ended well: each reason is looked at, so that nobody drops a proposal that would have won. */
int arbitration_discarded(Audit *a, const json_t *o, const char *name, const FoldedRegion *r, const FoldedHeld *h) {
        const FoldedArbitration *f = map_get(&a->arbiters, name);
        const char *reason = text_of(o, "reason");
        bool holds = true;

        if (strcmp(reason, "superseded") == 0) {
                holds = false;
                for (const FoldedHeld *later = h + 1; later < r->held + r->n_held; later++)
                        holds |= strcmp(later->slot, name) == 0;
        } else if (strcmp(reason, "not_disjoint") == 0) {
                holds = false;
                for (size_t i = 0; i < f->n; i++)
                        holds |= map_get(&a->regions, f->items[i].tree) == tree_of(r);
        }
        if (holds)
                return 0;
        broken(a, true, "a proposal is discarded for a reason that does not hold", "slot.gathered of the one of %" PRIu64, h->seq);
        return broken_found(a, "%s", reason);
}

static int by_seq(const void *a, const void *b) {
        const FoldedQuorum *x = a, *y = b;

        return (x->seq > y->seq) - (x->seq < y->seq);
}

/* The hash of a proposed value: of the value itself when it is there, else as the verdict's payload has it. `hashes`: that payload's list, NULL: a verdict of
 * an older Lethe, which kept all values. */
static int arbitration_hash(Audit *a, const FoldedQuorum *g, const json_t *hashes, size_t i, uint8_t ret[static HASH_BYTES]) {
        const char *said = json_text(json_array_get(hashes, i));
        uint8_t own[HASH_BYTES];
        Bytes body;
        int r;

        if (hashes && (!said || hex_decode(said, ret, HASH_BYTES) < 0))
                return lacks(a, "slot.arbitrated", "values, a hash for each proposal,");
        r = body_get(a->txn, g->seq, NULL, &body);
        if (r == -ENOENT && hashes)
                return 0;
        if (r == -ENOENT) {
                broken(a, true, "a verdict on a value that is not there", "the payload of the proposal %" PRIu64 ", or the hashes of all", g->seq);
                return broken_found(a, "neither");
        }
        if (r < 0)
                return r;
        hash_bytes(body.p, body.n, own);
        if (hashes && memcmp(own, ret, sizeof(own)) != 0) {
                broken(a, true, "a verdict has another hash of a value than the value has", "the hash of the proposal %" PRIu64, g->seq);
                return broken_found(a, "%s", said);
        }
        memcpy(ret, own, sizeof(own));
        return 0;
}

/* The verdict's payload. *ret: owned, NULL when it has none. */
static int arbitration_hashes(Audit *a, const json_t *o, const FoldedArbitration *f, json_t **ret) {
        _cleanup_json_ json_t *payload = NULL;
        Bytes body;
        int r;

        *ret = NULL;
        if (!json_object_get(o, "body"))
                return 0;
        r = body_get(a->txn, a->seq, NULL, &body);
        if (r == 0)
                r = json_parse_own(body.p, body.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &payload);
        if (r < 0)
                return r;
        if (r > 0 || json_array_size(json_object_get(payload, "values")) != f->n)
                return lacks(a, "slot.arbitrated", "values, a hash for each proposal,");
        *ret = json_incref(json_object_get(payload, "values"));
        return 0;
}

/* The rule anew, on what is gathered. *ret_winner: seq, or 0. */
static int decide(Audit *a, const json_t *o, const FoldedArbitration *f, uint64_t version, uint64_t *ret_winner, const char **ret_reason) {
        _cleanup_json_ json_t *hashes = NULL;
        ArbitrationProposal p[ARBITRATION_PROPOSALS_MAX];
        ArbitrationVerdict v;
        int r = arbitration_hashes(a, o, f, &hashes);

        for (size_t i = 0; r == 0 && i < f->n; i++) {
                const FoldedQuorum *g = &f->items[i];

                p[i] = (ArbitrationProposal){.seq = g->seq, .region = g->region, .skill = g->skill, .expect = g->expect, .confidence = g->confidence};
                r = arbitration_hash(a, g, hashes, i, p[i].hash);
        }
        if (r != 0)
                return r;
        arbitration_decide(&f->rule, version, p, f->n, &v);
        *ret_winner = v.winner == ARBITRATION_NOBODY ? 0 : p[v.winner].seq;
        *ret_reason = arbitration_word(v.reason);
        return 0;
}

static bool same_rule(const FoldedArbitration *f, const json_t *said) {
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
        int r;

        if (!f || f->n == 0) {
                broken(a, true, "a verdict on nothing", "something that is gathered for %s", name);
                return broken_found(a, "none");
        }
        if (!same_rule(f, json_object_get(o, "rule"))) {
                broken(a, true, "a verdict under another rule than the slot's", "the rule of slot.defined");
                return broken_found(a, "another");
        }
        if (!json_object_get(o, "who") && f->n != f->rule.of) {
                broken(a, true, "a verdict that nobody asked for, and for which too little is gathered", "%u proposals, or an operator (who)", f->rule.of);
                return broken_found(a, "%zu", f->n);
        }
        if (version != slot->version) {
                broken(a, true, "a verdict on a version that the slot had not then", "version %" PRIu64, slot->version);
                return broken_found(a, "version %" PRIu64, version);
        }
        qsort(f->items, f->n, sizeof(f->items[0]), by_seq);
        for (size_t i = 0; i < MAX(f->n, json_array_size(list)); i++)
                if (i >= f->n || json_get_u64(json_object_get(json_array_get(list, i), "seq"), &seq) < 0 || seq != f->items[i].seq ||
                    strcmp(text_of(json_array_get(list, i), "region"), f->items[i].region) != 0) {
                        broken(a, true, "a verdict looks at other proposals than are gathered (I-56)", "%zu, by seq", f->n);
                        return broken_found(a, "%zu, or another one at place %zu", json_array_size(list), i);
                }
        r = decide(a, o, f, version, &winner, &reason);
        if (r != 0)
                return r;
        if ((json_is_null(said) ? 0 : json_get_u64(said, &found) < 0 ? UINT64_MAX : found) != winner || strcmp(text_of(o, "reason"), reason) != 0) {
                broken(a, true, "a verdict is not the one that the slot's rule gives (I-56)", "%" PRIu64 " (0: none), %s", winner, reason);
                return broken_found(a, "%s, %s", json_is_null(said) ? "none" : "another", text_of(o, "reason"));
        }
        r = verdict_row_next(a->txn, name, a->seq, &verdict_row, &row_winner);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == -ENOENT || verdict_row != a->seq || row_winner != winner) {
                broken(a, true, "table verdict does not have this verdict", "%s at %" PRIu64 ": %" PRIu64, name, a->seq, winner);
                return broken_found(a, "%s", r == -ENOENT || verdict_row != a->seq ? "no row" : "another proposal");
        }
        a->n_verdicts++;
        f->verdict = a->seq;
        for (size_t i = 0; winner && i < f->n; i++)
                if (f->items[i].seq == winner)
                        f->won = f->items[i];
        a->owed = winner ? f : NULL;
        f->n = 0;
        return 0;
}

int arbitration_written(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version) {
        const FoldedArbitration *f = map_get(&a->arbiters, name);
        uint64_t verdict, proposed;

        if (json_get_u64(json_object_get(o, "arbitrated"), &verdict) < 0 || json_get_u64(json_object_get(o, "proposed"), &proposed) < 0)
                return lacks(a, "slot.written", "arbitrated and proposed");
        if (!f || a->owed != f || f->verdict != verdict || f->won.seq != proposed || strcmp(f->won.region, text_of(o, "from")) != 0) {
                broken(a, true, "a slot with a rule is written without its verdict", "a verdict just before, for this proposal of this region");
                return broken_found(a, "another, or none");
        }
        if (strcmp(f->won.sha256, text_of(json_object_get(o, "body"), "sha256")) != 0) {
                broken(a, true, "what was written is not what was proposed", "payload %s", f->won.sha256);
                return broken_found(a, "payload %s", text_of(json_object_get(o, "body"), "sha256"));
        }
        if (version != slot->version + 1) {
                broken(a, true, "a slot's versions do not follow one another", "version %" PRIu64 " of %s", slot->version + 1, name);
                return broken_found(a, "version %" PRIu64, version);
        }
        a->owed = NULL;
        slot->version = version;
        slot->written = a->seq;
        slot->body = proposed;
        return 0;
}

/* Before the entry at hand: a verdict is carried out at once. */
int arbitration_owed(Audit *a, const json_t *o) {
        if (!a->owed || (o && strcmp(text_of(o, "type"), "slot.written") == 0 && json_object_get(o, "arbitrated")))
                return 0;
        broken(a, o != NULL, "a verdict is not carried out", "slot.written of the proposal %" PRIu64, a->owed->won.seq);
        return broken_found(a, "%s", o ? text_of(o, "type") : "no more entries");
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
                if (f->n >= f->rule.of) {
                        broken(a, false, "enough is gathered, and there is no verdict", "slot.arbitrated of %s", name);
                        return broken_found(a, "none");
                }
                qsort(f->items, f->n, sizeof(f->items[0]), by_seq);
                found = gather_rows(a->txn, name, rows, ARRAY_SIZE(rows));
                if (found < 0)
                        return found;
                for (size_t k = 0; k < MAX(f->n, (size_t)found); k++)
                        if (k >= f->n || k >= (size_t)found || rows[k].seq != f->items[k].seq || rows[k].gathered != f->items[k].gathered ||
                            strcmp(rows[k].region, f->items[k].region) != 0 || strcmp(rows[k].tree, f->items[k].tree) != 0) {
                                broken(a, false, "table gather differs from the ledger", "%s: %zu proposals", name, f->n);
                                return broken_found(a, "%d, or another one", found);
                        }
                n += f->n;
        }
        *ret_gathered = n;
        return r;
}
