#include "engine/arbitration.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <string.h>

static const char *const regions[] = {"01kf0000000000000000000001", "01kf0000000000000000000002", "01kf0000000000000000000003", "01kf0000000000000000000004",
                                      "01kf0000000000000000000005", "01kf0000000000000000000006", "01kf0000000000000000000007", "01kf0000000000000000000008",
                                      "01kf0000000000000000000009", "01kf000000000000000000000a", "01kf000000000000000000000b", "01kf000000000000000000000c"};

static ArbitrationRule rule_of(const char *text) {
        ArbitrationRule r;
        Diag d;

        cr_assert_eq(arbitration_rule_parse_text(text, &r, &d), 0, "%s: %s", text, d.text);
        return r;
}

// I-56: what a rule is, and that its two spellings are one.
Test(arbiter, rules_are_read_strictly) {
        static const struct {
                const char *text, *json; /* NULL: refused */
        } rows[] = {
                {"first/2", "{\"of\":2,\"rule\":\"first\"}"},
                {"cas/64", "{\"of\":64,\"rule\":\"cas\"}"},
                {"quorum:2/3", "{\"least\":2,\"of\":3,\"rule\":\"quorum\"}"},
                {"confidence:0.6/3", "{\"floor\":0.6,\"of\":3,\"rule\":\"confidence\"}"},
                {"confidence:1/3", "{\"floor\":1,\"of\":3,\"rule\":\"confidence\"}"},
                {"confidence:-0/1", "{\"floor\":0,\"of\":1,\"rule\":\"confidence\"}"},
                {"priority:a,b-c/3", "{\"of\":3,\"rule\":\"priority\",\"skills\":[\"a\",\"b-c\"]}"},
                {" {\"rule\":\"quorum\",\"of\":3,\"least\":3}", "{\"least\":3,\"of\":3,\"rule\":\"quorum\"}"},
                {"", NULL},
                {"first", NULL},
                {"first/", NULL},
                {"first/0", NULL},
                {"first/65", NULL},
                {"first/-1", NULL},
                {"first/2.0", NULL},
                {"first/2/3", NULL},
                {"first:/2", NULL},
                {"first:1/2", NULL},
                {"First/2", NULL},
                {"firs/2", NULL},
                {"last/2", NULL},
                {"quorum/3", NULL},
                {"quorum:0/3", NULL},
                {"quorum:4/3", NULL},
                {"quorum:1.5/3", NULL},
                {"quorum:x/3", NULL},
                {"quorum:[2]/3", NULL},
                {"confidence:/3", NULL},
                {"confidence:1.01/3", NULL},
                {"confidence:-0.1/3", NULL},
                {"confidence:NaN/3", NULL},
                {"confidence:1e999/3", NULL},
                {"priority:/3", NULL},
                {"priority:a,,b/3", NULL},
                {"priority:a,a/3", NULL},
                {"priority:a b/3", NULL},
                {"priority:\xff/3", NULL},
                {"priority:a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q/3", NULL},
                {"{\"rule\":\"first\",\"of\":2,\"least\":1}", NULL},
                {"{\"rule\":\"quorum\",\"of\":3}", NULL},
                {"{\"rule\":\"quorum\",\"of\":3,\"least\":\"2\"}", NULL},
                {"{\"rule\":\"first\",\"of\":2,\"of\":3}", NULL},
                {"{\"rule\":\"first\",\"of\":2} x", NULL},
                {"{\"rule\":7,\"of\":2}", NULL},
                {"{\"of\":2}", NULL},
                {"[]", NULL},
                {"{\"rule\":\"priority\",\"of\":2,\"skills\":[[[[1]]]]}", NULL},
                {"{\"rule\":\"priority\",\"of\":2,\"skills\":[\"a\\u0000b\"]}", NULL},
        };
        char long_name[100];

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                _cleanup_json_ json_t *json = NULL;
                _cleanup_free_ char *text = NULL;
                ArbitrationRule r = {0}, again = {0};
                Diag d = {0};
                int e = arbitration_rule_parse_text(rows[i].text, &r, &d);

                cr_assert_eq(e, rows[i].json ? 0 : ARBITRATION_E_RULE, "%s: %d %s", rows[i].text, e, d.text);
                if (!rows[i].json) {
                        cr_assert_neq(*d.text, 0, "%s", rows[i].text);
                        continue;
                }
                json = arbitration_rule_json(&r);
                cr_assert_eq(json_canonical(json, &text, NULL), 0);
                cr_assert_str_eq(text, rows[i].json);
                cr_assert_eq(arbitration_rule_parse_text(text, &again, &d), 0, "%s: %s", text, d.text);
                cr_assert_eq(memcmp(&r, &again, sizeof(r)), 0, "%s", text);
        }
        snprintf(long_name, sizeof(long_name), "priority:%065d/1", 0);
        cr_assert_eq(arbitration_rule_parse_text(long_name, &(ArbitrationRule){0}, NULL), ARBITRATION_E_RULE);
        cr_assert_eq(arbitration_rule_parse(NULL, &(ArbitrationRule){0}, NULL), ARBITRATION_E_RULE);
}

/* One proposal of a row: skill a..z, value 0..9, expects, confidence; its seq is its place in the row. */
typedef struct Said {
        char skill, value;
        int expect;
        double confidence;
} Said;
#define ANY (-1)
#define NONE (-1.0)

static void propose(const Said *said, size_t i, ArbitrationProposal *ret) {
        static char skills[26][2];

        skills[said->skill - 'a'][0] = said->skill;
        *ret = (ArbitrationProposal){
                .seq = 100 + i, .region = regions[i], .skill = skills[said->skill - 'a'], .expect = said->expect, .confidence = said->confidence};
        memset(ret->hash, said->value - '0', sizeof(ret->hash));
}

// I-56: each rule's verdict, and each proposal's reason. The slot is at version 4.
Test(arbiter, verdicts) {
        static const struct {
                const char *name, *rule;
                Said said[6];
                int winner; /* -1: nobody */
                const char *reason, *each;
        } rows[] = {
                {"first", "first/2", {{'b', '2', ANY, NONE}, {'a', '1', ANY, NONE}}, 0, "won", "won later"},
                {"first, but stale", "first/2", {{'b', '2', 3, NONE}, {'a', '1', 4, NONE}}, 1, "won", "stale won"},
                {"all stale", "first/2", {{'b', '2', 3, NONE}, {'a', '1', 5, NONE}}, -1, "all_stale", "stale stale"},
                {"swap", "cas/3", {{'a', '1', ANY, NONE}, {'a', '2', 4, NONE}, {'a', '3', 4, NONE}}, 1, "won", "stale won later"},
                {"no swap", "cas/2", {{'a', '1', ANY, NONE}, {'a', '2', 0, NONE}}, -1, "all_stale", "stale stale"},
                {"priority", "priority:c,a/3", {{'b', '1', ANY, NONE}, {'a', '2', ANY, NONE}, {'c', '3', ANY, NONE}}, 2, "won",
                 "not_listed lower_priority won"},
                {"priority, twice", "priority:c,a/3", {{'a', '1', ANY, NONE}, {'a', '2', ANY, NONE}}, 0, "won", "won later"},
                {"the list's first is stale", "priority:c,a/3", {{'c', '1', 1, NONE}, {'a', '2', ANY, NONE}}, 1, "won", "stale won"},
                {"nobody of the list", "priority:c/2", {{'a', '1', ANY, NONE}, {'b', '2', ANY, NONE}}, -1, "none_listed", "not_listed not_listed"},
                {"quorum", "quorum:2/3", {{'a', '2', ANY, NONE}, {'a', '1', ANY, NONE}, {'b', '1', ANY, NONE}}, 1, "won", "outvoted won agreed"},
                {"no quorum", "quorum:2/3", {{'a', '1', ANY, NONE}, {'a', '2', ANY, NONE}, {'a', '3', ANY, NONE}}, -1, "no_quorum",
                 "outvoted outvoted outvoted"},
                {"who is stale has no vote", "quorum:2/3", {{'a', '1', 3, NONE}, {'a', '1', 4, NONE}, {'a', '2', 4, NONE}}, -1, "no_quorum",
                 "stale outvoted outvoted"},
                {"two values, more votes", "quorum:1/3", {{'a', '2', ANY, NONE}, {'a', '3', ANY, NONE}, {'a', '3', ANY, NONE}}, 1, "won",
                 "outvoted won agreed"},
                {"two values, as many votes", "quorum:1/2", {{'a', '2', ANY, NONE}, {'a', '1', ANY, NONE}}, 1, "won", "tie won"},
                {"confidence", "confidence:0.5/3", {{'a', '1', ANY, 0.6}, {'a', '2', ANY, 0.9}, {'a', '3', ANY, 0.1}}, 1, "won",
                 "less_confident won below_floor"},
                {"at the floor", "confidence:0.5/1", {{'a', '1', ANY, 0.5}}, 0, "won", "won"},
                {"as confident", "confidence:0/3", {{'a', '3', ANY, 1}, {'a', '2', ANY, 1}, {'a', '2', ANY, 1}}, 1, "won", "tie won agreed"},
                {"none above the floor", "confidence:0.5/2", {{'a', '1', ANY, 0.49}, {'a', '2', ANY, 0.4}}, -1, "all_below_floor", "below_floor below_floor"},
                {"no confidence is none", "confidence:0/2", {{'a', '1', ANY, NONE}, {'a', '2', ANY, 1.5}}, -1, "all_below_floor", "below_floor below_floor"},
                {"no number is none", "confidence:0/2", {{'a', '1', ANY, __builtin_nan("")}, {'a', '2', ANY, 0.1}}, 1, "won", "below_floor won"},
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                ArbitrationRule rule = rule_of(rows[i].rule);
                ArbitrationProposal p[6];
                ArbitrationVerdict v;
                char each[200] = "";
                size_t n = 0;

                while (n < 6 && rows[i].said[n].skill) {
                        propose(&rows[i].said[n], n, &p[n]);
                        n++;
                }
                arbitration_decide(&rule, 4, p, n, &v);
                cr_expect_eq(v.winner, rows[i].winner < 0 ? ARBITRATION_NOBODY : (size_t)rows[i].winner, "%s: winner %zd", rows[i].name, (ssize_t)v.winner);
                cr_expect_str_eq(arbitration_word(v.reason), rows[i].reason, "%s: %s", rows[i].name, arbitration_word(v.reason));
                for (size_t k = 0; k < n; k++)
                        snprintf(each + strlen(each), sizeof(each) - strlen(each), "%s%s", k ? " " : "", arbitration_word(v.each[k]));
                cr_expect_str_eq(each, rows[i].each, "%s: %s", rows[i].name, each);
        }
}

// I-55: a region has one voice, however often it speaks.
Test(arbiter, a_region_has_one_vote) {
        ArbitrationRule rule = rule_of("quorum:2/3");
        ArbitrationProposal p[3];
        ArbitrationVerdict v;

        for (size_t i = 0; i < 3; i++) {
                propose(&(Said){'a', '1', ANY, NONE}, i, &p[i]);
                p[i].region = regions[0];
        }
        arbitration_decide(&rule, 0, p, 3, &v);
        cr_assert_eq(v.winner, ARBITRATION_NOBODY);
        cr_assert_eq(v.each[0], ARBITRATION_SUPERSEDED);
        cr_assert_eq(v.each[1], ARBITRATION_SUPERSEDED);
        cr_assert_eq(v.each[2], ARBITRATION_OUTVOTED);
}

typedef void (*Decide)(const ArbitrationRule *rule, uint64_t version, const ArbitrationProposal *p, size_t n, ArbitrationVerdict *ret);

/* Whether the proposals in this order get what they got in their first order; by seq, which are 100 and up. */
static bool same(Decide decide, const ArbitrationRule *rule, const ArbitrationProposal *p, size_t n, const ArbitrationVerdict *want) {
        ArbitrationVerdict v;

        decide(rule, 4, p, n, &v);
        if (v.reason != want->reason || (v.winner == ARBITRATION_NOBODY) != (want->winner == ARBITRATION_NOBODY))
                return false;
        if (v.winner != ARBITRATION_NOBODY && p[v.winner].seq != 100 + want->winner)
                return false;
        for (size_t i = 0; i < n; i++)
                if (v.each[i] != want->each[p[i].seq - 100])
                        return false;
        return true;
}

static void swap(ArbitrationProposal *p, size_t a, size_t b) {
        ArbitrationProposal t = p[a];

        p[a] = p[b];
        p[b] = t;
}

/* All orders of the first n (Heap's algorithm). */
static bool all_orders(Decide decide, const ArbitrationRule *rule, ArbitrationProposal *p, size_t k, size_t n, const ArbitrationVerdict *want) {
        if (k <= 1)
                return same(decide, rule, p, n, want);
        for (size_t i = 0; i < k; i++) {
                if (!all_orders(decide, rule, p, k - 1, n, want))
                        return false;
                swap(p, k % 2 ? 0 : i, k - 1);
        }
        return true;
}

static bool some_orders(Decide decide, const ArbitrationRule *rule, ArbitrationProposal *p, size_t n, const ArbitrationVerdict *want) {
        for (int round = 0; round < 200; round++) {
                for (size_t i = n - 1; i > 0; i--)
                        swap(p, i, randombytes_uniform((uint32_t)i + 1));
                if (!same(decide, rule, p, n, want))
                        return false;
        }
        return true;
}

static const char *const property_rules[] = {"first/12", "cas/12", "priority:c,a/12", "quorum:1/12",
                                             "quorum:2/12", "quorum:3/12", "confidence:0/12", "confidence:0.5/12"};

/* Random proposals, of few skills, values, versions and confidences, so that they meet often. False: some order has another verdict. */
static bool property(Decide decide, int rounds) {
        static const double confidences[] = {0, 0.25, 0.5, 0.5, 1, NONE};

        for (int round = 0; round < rounds; round++)
                for (size_t k = 0; k < sizeof(property_rules) / sizeof(property_rules[0]); k++) {
                        ArbitrationRule rule = rule_of(property_rules[k]);
                        size_t n = 1 + randombytes_uniform(12);
                        ArbitrationProposal p[12];
                        ArbitrationVerdict want;

                        for (size_t i = 0; i < n; i++) {
                                int expect = randombytes_uniform(3) ? ANY : 3 + (int)randombytes_uniform(2);

                                propose(&(Said){(char)('a' + randombytes_uniform(4)), (char)('0' + randombytes_uniform(3)), expect,
                                                confidences[randombytes_uniform(6)]},
                                        i, &p[i]);
                                if (randombytes_uniform(8) == 0)
                                        p[i].region = regions[0];
                        }
                        decide(&rule, 4, p, n, &want);
                        if (!(n <= 6 ? all_orders(decide, &rule, p, n, n, &want) : some_orders(decide, &rule, p, n, &want)))
                                return false;
                }
        return true;
}

// I-56: every order of up to 6 proposals, and 200 of more, gives the same verdict and the same reasons.
Test(arbiter, the_order_does_not_matter) {
        cr_assert(property(arbitration_decide, 150));
}

/* Comparators with the mistakes that are easily made: each takes from arbitration_decide what it does not break. */
static void by_place(const ArbitrationRule *rule, uint64_t version, const ArbitrationProposal *p, size_t n, ArbitrationVerdict *ret) {
        arbitration_decide(rule, version, p, n, ret);
        for (size_t i = 0; ret->winner != ARBITRATION_NOBODY && i < n; i++)
                if (ret->each[i] == ARBITRATION_TIE || ret->each[i] == ARBITRATION_LATER ||
                    ret->each[i] == ARBITRATION_AGREED || ret->each[i] == ARBITRATION_WON) {
                        ret->each[ret->winner] = ARBITRATION_LATER;
                        ret->each[i] = ARBITRATION_WON;
                        ret->winner = i; /* the first given of those that are as good */
                        return;
                }
}

static void by_neighbour(const ArbitrationRule *rule, uint64_t version, const ArbitrationProposal *p, size_t n, ArbitrationVerdict *ret) {
        arbitration_decide(rule, version, p, n, ret);
        for (size_t i = 1; i < n; i++) /* half a vote is lost where equal values do not stand side by side */
                if (ret->each[i] == ARBITRATION_AGREED && memcmp(p[i].hash, p[i - 1].hash, HASH_BYTES) != 0)
                        ret->each[i] = ARBITRATION_OUTVOTED;
}

// I-56: the property is worth something only if it notices these.
Test(arbiter, a_broken_comparator_is_noticed) {
        cr_assert_not(property(by_place, 150), "by place");
        cr_assert_not(property(by_neighbour, 150), "by neighbour");
}

/* The rules a second time, straight from what the manual says: walk through the proposals in the order of preference. */
static uint64_t oracle(const ArbitrationRule *rule, uint64_t version, const ArbitrationProposal *p, size_t n) {
        uint64_t best = 0;
        double best_measure = 0;
        uint8_t best_hash[HASH_BYTES] = {0};

        for (uint64_t seq = 100; seq < 100 + n; seq++) {
                const ArbitrationProposal *q = &p[seq - 100];
                bool newest = true, listed = false;
                double measure = 1;

                for (size_t i = 0; i < n; i++)
                        newest &= strcmp(p[i].region, q->region) != 0 || p[i].seq <= q->seq;
                if (!newest || (q->expect >= 0 && (uint64_t)q->expect != version) || (rule->kind == ARBITRATION_CAS && q->expect < 0))
                        continue;
                for (size_t i = 0; i < rule->n_skills; i++)
                        if (strcmp(rule->skills[i], q->skill) == 0) {
                                listed = true;
                                measure = 100 - (double)i;
                        }
                if (rule->kind == ARBITRATION_PRIORITY && !listed)
                        continue;
                if (rule->kind == ARBITRATION_CONFIDENCE) {
                        if (!(q->confidence >= rule->floor && q->confidence <= 1))
                                continue;
                        measure = 1 + q->confidence;
                }
                if (rule->kind == ARBITRATION_QUORUM) {
                        measure = 0;
                        for (size_t i = 0; i < n; i++) {
                                bool counts = p[i].expect < 0 || (uint64_t)p[i].expect == version;

                                counts &= memcmp(p[i].hash, q->hash, HASH_BYTES) == 0;
                                for (size_t k = 0; k < n; k++)
                                        counts &= strcmp(p[i].region, p[k].region) != 0 || p[k].seq <= p[i].seq;
                                measure += counts;
                        }
                        if (measure < rule->least)
                                continue;
                }
                bool by_value = rule->kind == ARBITRATION_QUORUM || rule->kind == ARBITRATION_CONFIDENCE;

                if (best == 0 || measure > best_measure || (measure == best_measure && by_value && memcmp(q->hash, best_hash, HASH_BYTES) < 0)) {
                        best = seq;
                        best_measure = measure;
                        memcpy(best_hash, q->hash, HASH_BYTES);
                }
        }
        return best;
}

// I-56: random proposals get the verdict of a second reading of the rules.
Test(arbiter, a_second_reading_agrees) {
        static const double confidences[] = {0, 0.25, 0.5, 0.75, 1, NONE, 2};

        for (int round = 0; round < 5000; round++) {
                ArbitrationRule rule = rule_of(property_rules[(size_t)round % (sizeof(property_rules) / sizeof(property_rules[0]))]);
                size_t n = 1 + randombytes_uniform(12);
                ArbitrationProposal p[12];
                ArbitrationVerdict v;

                for (size_t i = 0; i < n; i++) {
                        int expect = (int)randombytes_uniform(4) - 1 + 2 * (int)randombytes_uniform(2);

                        propose(&(Said){(char)('a' + randombytes_uniform(4)), (char)('0' + randombytes_uniform(3)), expect,
                                        confidences[randombytes_uniform(7)]},
                                i, &p[i]);
                        p[i].region = regions[randombytes_uniform(12)];
                }
                arbitration_decide(&rule, 4, p, n, &v);
                cr_assert_eq(v.winner == ARBITRATION_NOBODY ? 0 : p[v.winner].seq, oracle(&rule, 4, p, n), "round %d", round);
        }
}
