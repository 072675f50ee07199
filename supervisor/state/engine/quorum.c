#include "engine/quorum.h"

#include "record/event.h"
#include "engine/fold-slot.h"
#include "engine/region-row.h"
#include "engine/round.h"

#include <errno.h>
#include <string.h>

int quorum_rule(Txn *t, const SlotRow *row, ArbitrationRule *ret) {
        _cleanup_json_ json_t *entry = NULL;
        int r = event_get(t, row->defined, &entry)
                ?: arbitration_rule_parse(json_object_get(entry, "arbitrate"), ret, NULL);

        return r > 0 || r == -ENOENT ? -EUCLEAN : r;
}

/* The compared member must be there. */
static int quorum_check_member(const char *name, const ArbitrationRule *rule, Bytes value, Diag *reterr) {
        uint8_t hash[HASH_BYTES];
        int r = arbitration_hash_of(rule, value.p, value.n, hash);

        return r != -ENOENT ? r
                            : diag(reterr, ENGINE_E_RULE,
                                   "slot %s compares values by member \"%s\": a value needs this member", name,
                                   rule->by);
}

int quorum_may(Txn *t, const char *name, const SlotRow *row, Bytes value, int64_t expect, const double *confidence,
               Diag *reterr) {
        ArbitrationRule rule = {.kind = ARBITRATION_KINDS_};
        int r;

        if (!row->arbitrated && !confidence)
                return 0;
        r = row->arbitrated ? quorum_rule(t, row, &rule) : 0;
        if (r < 0)
                return r;
        if (rule.kind == ARBITRATION_JUDGE) {
                Round round;

                r = round_get(t, name, &round);
                if (r < 0)
                        return r;
                if (!round.open) /* round_may() names a round that was closed */
                        return diag(reterr, ENGINE_E_RULE, "slot %s is decided by a judge, and no question is open",
                                    name);
        }
        if (confidence && rule.kind != ARBITRATION_CONFIDENCE)
                return diag(reterr, ENGINE_E_RULE, "slot %s is not decided by confidence: write without a confidence",
                            name);
        if (!confidence && rule.kind == ARBITRATION_CONFIDENCE)
                return diag(reterr, ENGINE_E_RULE,
                            "slot %s is decided by confidence: a write needs a confidence from 0 to 1", name);
        if (confidence && !(*confidence >= 0 && *confidence <= 1))
                return diag(reterr, ENGINE_E_RULE, "slot %s: a confidence is a number from 0 to 1", name);
        if (rule.kind == ARBITRATION_CAS && expect < 0)
                return diag(reterr, ENGINE_E_RULE,
                            "slot %s is decided by compare-and-swap: a write has to expect a version", name);
        return quorum_check_member(name, &rule, value, reterr);
}

static int quorum_discard(Txn *t, const HeldRow *h, const char *reason) {
        json_t *fields = json_pack("{s:s, s:o, s:o, s:s}", "slot", h->name, "version", json_u64(h->version), "proposed",
                                   json_u64(h->seq), "reason", reason);
        int r = fold_slot_append(t, &(Event){.type = "slot.discarded", .region = h->region, .fields = fields}, NULL);

        return r < 0 ? r : body_del(t, h->seq); /* I-71 */
}

int quorum_take(Txn *t, const HeldRow *h, const SlotRow *row, bool newer, bool *ret_full) {
        _cleanup_json_ json_t *region = NULL;
        QuorumRow rows[ARBITRATION_PROPOSALS_MAX];
        const char *skill, *tree, *refused;
        ArbitrationRule rule;
        json_t *fields;
        int r, n;

        *ret_full = false;
        if (newer)
                return quorum_discard(t, h, "superseded");
        r = round_refuses(t, h->name, h->seq, &refused);
        if (r < 0)
                return r;
        if (refused) {
                r = quorum_rule(t, row, &rule);
                *ret_full = strcmp(refused, ROUND_TOO_LATE) == 0 && rule.kind != ARBITRATION_JUDGE;
                return r ?: quorum_discard(t, h, refused);
        }
        r = quorum_rule(t, row, &rule) ?: region_json_get(t, h->region, &region);
        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        tree = json_text(json_object_get(region, "tree")) ?: h->region;
        n = gather_rows(t, h->name, rows, ARRAY_SIZE(rows));
        if (n < 0)
                return n;
        for (int i = 0; i < n; i++)
                if (strcmp(rows[i].tree, tree) == 0)
                        return quorum_discard(t, h, "not_disjoint");
        if (rule.kind == ARBITRATION_JUDGE && (unsigned)n >= rule.of)
                return quorum_discard(t, h, QUORUM_FULL);
        skill = json_text(json_object_get(json_object_get(region, "skill"), "name"));
        if (!skill || strlen(skill) >= ARBITRATION_SKILL_MAX)
                skill = "(long name)"; /* of a program; a rule names skills, and a verdict has limited room */
        fields = json_pack("{s:s, s:o, s:s}", "slot", h->name, "proposed", json_u64(h->seq), "skill", skill);
        if (!fields || (strcmp(tree, h->region) != 0 && json_put(fields, "tree", json_string(tree)) < 0)) {
                json_decref(fields);
                return -ENOMEM;
        }
        *ret_full = (unsigned)n + 1 >= rule.of && rule.kind != ARBITRATION_JUDGE;
        return fold_slot_append(t, &(Event){.type = "slot.gathered", .region = h->region, .fields = fields}, NULL);
}

/* The input of the arbitration, and the entries for the record. */
typedef struct Gathered {
        size_t n;
        QuorumRow rows[ARBITRATION_PROPOSALS_MAX];
        ArbitrationProposal proposals[ARBITRATION_PROPOSALS_MAX];
        json_t *skills[ARBITRATION_PROPOSALS_MAX]; /* owned: entries slot.gathered */
        json_t *entries[ARBITRATION_PROPOSALS_MAX]; /* owned: slot.proposed */
} Gathered;

static void gathered_freep(Gathered **g) {
        for (size_t i = 0; *g && i < (*g)->n; i++) {
                json_decref((*g)->skills[i]);
                json_decref((*g)->entries[i]);
        }
        free(*g);
}

static int gathered_read(Txn *t, const ArbitrationRule *rule, Gathered *g, size_t i) {
        ArbitrationProposal *p = &g->proposals[i];
        const json_t *v;
        uint64_t expect;
        Bytes body;
        int r = event_get(t, g->rows[i].gathered, &g->skills[i])
                ?: event_get(t, g->rows[i].seq, &g->entries[i])
                ?: body_get(t, g->rows[i].seq, NULL, &body);

        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        *p = (ArbitrationProposal){.seq = g->rows[i].seq, .region = g->rows[i].region, .expect = -1, .confidence = -1};
        p->skill = json_text(json_object_get(g->skills[i], "skill"));
        v = json_object_get(g->entries[i], "expect");
        if (!p->skill || (v && json_get_u64(v, &expect) < 0))
                return -EUCLEAN;
        if (v)
                p->expect = (int64_t)expect;
        v = json_object_get(g->entries[i], "confidence");
        if (v)
                p->confidence = json_number_value(v);
        r = arbitration_hash_of(rule, body.p, body.n, p->hash);
        return r == -ENOENT ? -EUCLEAN : r;
}

static json_t *gathered_json(const Gathered *g, size_t i, ArbitrationWord word) {
        static const char *const keys[] = {"expect", "confidence"};
        json_t *o = json_pack("{s:o, s:s, s:s, s:s}", "seq", json_u64(g->rows[i].seq), "region", g->rows[i].region,
                              "skill", g->proposals[i].skill, "verdict", arbitration_word(word));

        if (o && JSON_ROW_KEEP(o, g->entries[i], keys) < 0) {
                json_decref(o);
                return NULL;
        }
        return o;
}

/* The compared hashes, in the order of the verdict's proposals: an audit repeats the decision after the erasure of the
 * values. The hashes are the payload of the verdict, not part of the entry: a hash without nonce reveals a value of few
 * bits, and entries are shown to others. */
static json_t *gather_hashes(const Gathered *g) {
        _cleanup_json_ json_t *list = json_array();
        char hex[HASH_HEX_MAX];

        for (size_t i = 0; i < g->n; i++)
                if (json_array_append_new(list, json_string(hex_encode(g->proposals[i].hash, HASH_BYTES, hex))) < 0)
                        return NULL;
        return json_pack("{s:O}", "values", list);
}

/* Losing values leave the store together with the verdict; the proposals' entries keep the hashes (I-71). */
static int gather_erase(Txn *t, const Gathered *g, size_t winner) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < g->n; i++)
                if (i != winner)
                        r = body_del(t, g->rows[i].seq);
        return r;
}

/* The subject of a verdict. */
typedef struct Verdict {
        const char *name, *who; /* who: or NULL */
        SlotRow row;
        ArbitrationRule rule;
        Round round;
        bool close; /* no winner, whatever is gathered */
        const JudgeQuestion *asked; /* with judge; borrowed */
        const Judgement *judge; /* borrowed; NULL: the rule decides */
        Gathered *g;
} Verdict;

static void verdict_deinit(Verdict *v) {
        gathered_freep(&v->g);
}

static void quorum_by_judge(const Verdict *d, ArbitrationVerdict *ret) {
        bool seen[ARBITRATION_PROPOSALS_MAX] = {false};
        size_t chosen = ARBITRATION_NOBODY;

        for (size_t i = 0; i < d->g->n; i++) {
                for (size_t k = 0; k < d->asked->n_seen; k++)
                        seen[i] |= d->asked->seen[k] == d->g->rows[i].seq;
                if (seen[i] && d->judge->choice == d->g->rows[i].seq)
                        chosen = i;
        }
        arbitration_judge(d->row.version, d->g->proposals, seen, d->g->n, chosen,
                          d->judge->fault ? ARBITRATION_JUDGE_FAILED : ARBITRATION_NO_CHOICE, ret);
}

static json_t *quorum_judge_json(const Judgement *j) {
        return j ? json_pack("{s:{s:s, s:s?}, s:s, s:o, s:s*}", "skill", "name", DIAG_QUOTED(j->skill), "digest",
                             j->digest, "region", j->region, "answer",
                             j->choice ? json_u64(j->choice) : json_null(), "fault", j->fault)
                 : NULL;
}

static int quorum_record(Txn *t, const Verdict *d, uint64_t *ret_seq, json_t **ret) {
        const SlotRow *row = &d->row;
        const Gathered *g = d->g;
        const char *name = d->name;
        _cleanup_json_ json_t *fields = NULL, *list = json_array(), *hashes = gather_hashes(g);
        ArbitrationVerdict v;
        json_t *written, *value;
        int r;

        if (d->close || g->n == 0)
                arbitration_close(g->n, &v);
        else if (d->judge)
                quorum_by_judge(d, &v);
        else
                arbitration_decide(&d->rule, row->version, g->proposals, g->n, &v);
        for (size_t i = 0; i < g->n; i++)
                if (json_array_append_new(list, gathered_json(g, i, v.each[i])) < 0)
                        return -ENOMEM;
        fields = json_pack("{s:s, s:o, s:o, s:O, s:o, s:s, s:o*, s:o*}", "slot", name, "version", json_u64(row->version),
                           "rule", arbitration_rule_json(&d->rule), "proposals", list, "winner",
                           v.winner == ARBITRATION_NOBODY ? json_null() : json_u64(g->rows[v.winner].seq), "reason",
                           arbitration_word(v.reason), "round", d->round.open ? json_u64(d->round.asked) : NULL,
                           "judge", quorum_judge_json(d->judge));
        if (!fields || !hashes)
                return -ENOMEM;
        r = fold_slot_append(t,
                             &(Event){.type = "slot.arbitrated", .who = d->who, .fields = json_incref(fields),
                                      .json = hashes}, ret_seq);
        if (r == 0 && v.winner != ARBITRATION_NOBODY) {
                written = json_pack("{s:s, s:o, s:o, s:o, s:s}", "slot", name, "version", json_u64(row->version + 1),
                                    "proposed", json_u64(g->rows[v.winner].seq), "arbitrated", json_u64(*ret_seq),
                                    "from", g->rows[v.winner].region);
                value = json_object_get(g->entries[v.winner], "body");
                r = fold_slot_append(t, &(Event){.type = "slot.written", .fields = written, .commitment = value}, NULL);
        }
        if (r == 0)
                r = gather_erase(t, g, v.winner);
        if (r == 0 && ret)
                *ret = TAKE_PTR(fields);
        return r;
}

/* Reads rule, round and gathered proposals. Returns 0 or -errno. */
static int verdict_read(Txn *t, Verdict *d) {
        int r = slot_row_get(t, d->name, &d->row)
                ?: quorum_rule(t, &d->row, &d->rule)
                ?: round_get(t, d->name, &d->round), n;

        d->g = calloc(1, sizeof(*d->g));
        if (r < 0 || !d->g)
                return r == -ENOENT ? -EUCLEAN : r < 0 ? r : -ENOMEM;
        n = gather_rows(t, d->name, d->g->rows, ARBITRATION_PROPOSALS_MAX);
        if (n < 0)
                return n;
        d->g->n = (size_t)n;
        for (size_t i = 0; r == 0 && i < d->g->n; i++)
                r = gathered_read(t, &d->rule, d->g, i);
        return r;
}

int quorum_close(Txn *t, const char *name, const char *who) {
        _cleanup_(verdict_deinit) Verdict d = {.name = name, .who = who, .close = true};
        uint64_t seq;
        int r = verdict_read(t, &d);

        return r < 0 || (d.g->n == 0 && !d.round.open) ? r : quorum_record(t, &d, &seq, NULL);
}

int quorum_decide(Txn *t, const char *name, const char *who, uint64_t *ret_seq, json_t **ret, Diag *reterr) {
        _cleanup_(verdict_deinit) Verdict d = {.name = name, .who = who};
        uint64_t seq;
        int r = verdict_read(t, &d);

        if (r == 0 && d.g->n == 0 && !d.round.open)
                return diag(reterr, ENGINE_E_NO_VALUE,
                            "slot %s: no proposal is gathered, so there is no decision", name);
        if (r == 0 && d.rule.kind == ARBITRATION_JUDGE && d.g->n > 0)
                return diag(reterr, ENGINE_E_RULE,
                            "slot %s is decided by a judge: `lethe slot decide %s --judge SKILL`; the next question "
                            "closes the round without a value", name, name);
        return r == 0 ? quorum_record(t, &d, ret_seq ? ret_seq : &seq, ret) : r;
}

int quorum_judge(Txn *t, const char *name, const char *who, const JudgeQuestion *q, const Judgement *j,
                 uint64_t *ret_seq, json_t **ret) {
        _cleanup_(verdict_deinit) Verdict d = {.name = name, .who = who, .asked = q, .judge = j};
        int r = verdict_read(t, &d);

        return r ?: quorum_record(t, &d, ret_seq, ret);
}
