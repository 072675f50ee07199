#include "tests/state/audit/say.h"
#include "tests/state/engine/gather-fixture.h"

/* A store with a slot (a) that is decided by the first of two, and was once; with one proposal gathered since (of B), and one region that lives and has
 * proposed twice (C). Each row breaks one thing, as somebody who can write the store and even has the signing key would; the audit must name it. */

static char ids[4][REGION_ID_MAX];
static uint64_t proposed[5]; /* seqs */
static uint8_t lost[100];    /* row of table body that the verdict removes: the nonce and the value of the proposal that did not win */
static size_t n_lost;

static uint64_t last_proposed(StoreFixture *f) {
        Txn *t = store_fixture_begin(f, false);
        uint64_t size;

        cr_assert_eq(ledger_state(t, &size, NULL), 0);
        store_abort(t);
        return size - 1;
}

static void begin_and_propose(StoreFixture *f, size_t i, const char *value) {
        gather_begin(f, &(Begin){0}, ids[i]);
        cr_assert_eq(gather_propose(f, ids[i], "a", value, -1, -1), 0, "%s", f->d.text);
        proposed[i] = last_proposed(f);
}

static Bytes key_of(uint64_t seq) {
        static uint8_t at[8];

        be64_put(at, seq);
        return BYTES(at, 8);
}

static void remember(StoreFixture *f) {
        Txn *t = store_fixture_begin(f, false);
        Bytes v;

        cr_assert_eq(table_get(t, TABLE_BODY, key_of(proposed[1]), &v), 0);
        cr_assert_leq(v.n, sizeof(lost));
        memcpy(lost, v.p, n_lost = v.n);
        store_abort(t);
}

static void fill(StoreFixture *f) {
        store_fixture_init(f, STORE_SUPERVISE);
        gather_define(f, "a", "first/2");
        gather_define(f, "plain", NULL);
        for (size_t i = 0; i < 3; i++) {
                begin_and_propose(f, i, i ? "one" : "two");
                if (i == 1)
                        remember(f);
                gather_end(f, ids[i], true);
        }
        begin_and_propose(f, 3, "x");
        cr_assert_eq(gather_propose(f, ids[3], "a", "y", -1, -1), 0);
        proposed[4] = last_proposed(f);
}

/* As say(), with $B and $C the regions, $b, $c and $d (C's second) their proposals. */
static void claim(Txn *t, const char *type, const char *region, const char *more) {
        char out[800];
        size_t n = 0;

        for (const char *p = more; *p; p++) {
                if (*p != '$') {
                        out[n++] = *p;
                        continue;
                }
                p++;
                n += (size_t)(*p == 'B'   ? sprintf(out + n, "%s", ids[2])
                              : *p == 'C' ? sprintf(out + n, "%s", ids[3])
                                          : sprintf(out + n, "%lu", (unsigned long)proposed[*p - 'b' + 2]));
        }
        out[n] = 0;
        say(t, type, region, out);
}

#define VERDICT(who_, rule_, list_, version_, winner_, reason_)                                                                                       \
        "," who_ "\"slot\":\"a\",\"rule\":{\"rule\":\"first\",\"of\":" rule_ "},\"proposals\":[" list_ "],\"version\":" version_ ",\"winner\":" winner_ \
        ",\"reason\":\"" reason_ "\""
#define ASKED "\"who\":\"uid:0\","
#define OF_B "{\"seq\":$b,\"region\":\"$B\"}"

static void gathered(Txn *t, const char *region, uint64_t seq, const char *more) {
        char text[300];

        snprintf(text, sizeof(text), ",\"slot\":\"a\",\"skill\":\"s\",\"proposed\":%lu%s", (unsigned long)seq, more);
        say(t, "slot.gathered", region, text);
}

static void verdict_by_nobody(Txn *t) {
        claim(t, "slot.arbitrated", NULL, VERDICT("", "2", OF_B, "1", "$b", "won"));
}
static void verdict_of_another_rule(Txn *t) {
        claim(t, "slot.arbitrated", NULL, VERDICT(ASKED, "1", OF_B, "1", "$b", "won"));
}
static void verdict_without_the_proposal(Txn *t) {
        claim(t, "slot.arbitrated", NULL, VERDICT(ASKED, "2", "", "1", "null", "all_stale"));
}
static void verdict_with_one_that_is_not_gathered(Txn *t) {
        claim(t, "slot.arbitrated", NULL, VERDICT(ASKED, "2", OF_B ",{\"seq\":$c,\"region\":\"$C\"}", "1", "$b", "won"));
}
static void verdict_against_the_rule(Txn *t) {
        claim(t, "slot.arbitrated", NULL, VERDICT(ASKED, "2", OF_B, "1", "null", "all_stale"));
}
static void verdict_at_another_version(Txn *t) {
        claim(t, "slot.arbitrated", NULL, VERDICT(ASKED, "2", OF_B, "0", "$b", "won"));
}
static void verdict_without_its_row(Txn *t) {
        claim(t, "slot.arbitrated", NULL, VERDICT(ASKED, "2", OF_B, "1", "$b", "won"));
}
static void verdict_that_is_not_carried_out(Txn *t) {
        uint64_t size;

        cr_assert_eq(ledger_state(t, &size, NULL), 0);
        cr_assert_eq(verdict_row_put(t, "a", size, proposed[2]), 0);
        claim(t, "slot.arbitrated", NULL, VERDICT(ASKED, "2", OF_B, "1", "$b", "won"));
}
static void verdict_then_something_else(Txn *t) {
        verdict_that_is_not_carried_out(t);
        claim(t, "region.logged", ids[3], "");
}
static void verdict_on_a_slot_without_a_rule(Txn *t) {
        say(t, "slot.arbitrated", NULL, ",\"slot\":\"plain\",\"version\":0,\"who\":\"uid:0\",\"winner\":null");
}
static void written_without_verdict(Txn *t) {
        claim(t, "slot.written", NULL, ",\"slot\":\"a\",\"version\":2,\"proposed\":$b,\"arbitrated\":1,\"from\":\"$B\"");
}
static void written_by_its_region(Txn *t) {
        claim(t, "slot.written", ids[3], ",\"slot\":\"a\",\"version\":2,\"proposed\":$c");
}
static void replaced_one_gathered(Txn *t) {
        gathered(t, ids[3], proposed[3], "");
}
static void broken_one_gathered(Txn *t) {
        claim(t, "region.faulted", ids[3], "");
        claim(t, "slot.discarded", ids[3], ",\"slot\":\"a\",\"version\":2,\"proposed\":$c,\"reason\":\"superseded\"");
        gathered(t, ids[3], proposed[4], "");
}
static void tree_that_is_not_one(Txn *t) {
        claim(t, "slot.discarded", ids[3], ",\"slot\":\"a\",\"version\":2,\"proposed\":$c,\"reason\":\"superseded\"");
        char more[60];
        snprintf(more, sizeof(more), ",\"tree\":\"%s\"", ids[2]);
        gathered(t, ids[3], proposed[4], more);
}
static void dropped_for_no_reason(Txn *t) {
        claim(t, "slot.discarded", ids[3], ",\"slot\":\"a\",\"version\":2,\"proposed\":$c,\"reason\":\"not_disjoint\"");
}
static void last_one_dropped(Txn *t) {
        claim(t, "slot.discarded", ids[3], ",\"slot\":\"a\",\"version\":2,\"proposed\":$c,\"reason\":\"superseded\"");
        claim(t, "slot.discarded", ids[3], ",\"slot\":\"a\",\"version\":2,\"proposed\":$d,\"reason\":\"superseded\"");
}
static void gathered_out_of_turn(Txn *t) {
        gathered(t, ids[3], proposed[4], "");
}
static void gathered_without_proposal(Txn *t) {
        gathered(t, ids[2], proposed[2], "");
}

static uint8_t key[HIST_KEY_MAX];

static void gather_row_removed(Txn *t) {
        cr_assert_eq(table_del(t, TABLE_GATHER, BYTES(key, slot_seq_key("a", proposed[2], key))), 0);
}
static void gather_row_changed(Txn *t) {
        QuorumRow row;

        cr_assert_eq(gather_rows(t, "a", &row, 1), 1);
        gather_row_removed(t);
        strcpy(row.tree, ids[3]);
        cr_assert_eq(gather_row_put(t, "a", &row), 0);
}
static void gather_row_added(Txn *t) {
        QuorumRow row = {.seq = proposed[3], .gathered = proposed[3]};

        strcpy(row.region, ids[3]);
        strcpy(row.tree, ids[3]);
        cr_assert_eq(gather_row_put(t, "plain", &row), 0);
}
static void verdict_row_added(Txn *t) {
        cr_assert_eq(verdict_row_put(t, "a", 1, 0), 0);
}
static void verdict_row_removed(Txn *t) {
        uint64_t seq, winner;

        cr_assert_eq(verdict_row_next(t, "a", 0, &seq, &winner), 0);
        cr_assert_eq(table_del(t, TABLE_VERDICT, BYTES(key, slot_seq_key("a", seq, key))), 0);
}
static void verdict_row_changed(Txn *t) {
        uint64_t seq, winner;

        cr_assert_eq(verdict_row_next(t, "a", 0, &seq, &winner), 0);
        verdict_row_removed(t);
        cr_assert_eq(verdict_row_put(t, "a", seq, winner + 1), 0);
}
static void rule_taken_from_the_row(Txn *t) {
        SlotRow row;

        cr_assert_eq(slot_row_get(t, "a", &row), 0);
        row.arbitrated = false;
        cr_assert_eq(slot_row_put(t, "a", &row), 0);
}

/* The verdict on the first two proposals, of which the first won. */
static uint64_t verdict_seq(Txn *t) {
        uint64_t seq, winner;

        cr_assert_eq(verdict_row_next(t, "a", 0, &seq, &winner), 0);
        return seq;
}

static void payload_back(Txn *t) {
        cr_assert_eq(table_put(t, TABLE_BODY, key_of(proposed[1]), BYTES(lost, n_lost)), 0);
}
static void payload_of_the_winner_removed(Txn *t) {
        cr_assert_eq(body_del(t, proposed[0]), 0);
}
static void payload_of_the_verdict_removed(Txn *t) {
        cr_assert_eq(body_del(t, verdict_seq(t)), 0);
}
static void payload_of_what_waits_removed(Txn *t) {
        cr_assert_eq(body_del(t, proposed[2]), 0);
}

/* A verdict on B's proposal, as Lethe writes it but for its payload. */
static void verdict_with(Txn *t, const char *values) {
        _cleanup_json_ json_t *fields = NULL;
        char text[400];
        uint64_t size;
        Diag d;
        int n = snprintf(text, sizeof(text), "{\"slot\":\"a\",\"rule\":{\"rule\":\"first\",\"of\":2},\"proposals\":[{\"seq\":%lu,\"region\":\"%s\"}],"
                         "\"version\":1,\"winner\":%lu,\"reason\":\"won\"}", (unsigned long)proposed[2], ids[2], (unsigned long)proposed[2]);

        cr_assert_eq(json_parse(text, (size_t)n, sizeof(text), 8, &fields, &d), 0, "%s", d.text);
        cr_assert_eq(ledger_state(t, &size, NULL), 0);
        cr_assert_eq(verdict_row_put(t, "a", size, proposed[2]), 0);
        cr_assert_eq(event_append(t, &(Event){.type = "slot.arbitrated", .who = "uid:0", .fields = TAKE_PTR(fields), .payload = values, .n_payload = strlen(values)}, NULL), 0);
}
#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
static void hash_of_another_value(Txn *t) {
        verdict_with(t, "{\"values\":[\"" DIGITS "\"]}");
}
static void hash_too_many(Txn *t) {
        verdict_with(t, "{\"values\":[\"" DIGITS "\",\"" DIGITS "\"]}");
}
static void hash_that_is_none(Txn *t) {
        verdict_with(t, "{\"values\":[\"0\"]}");
}
static void hashes_missing(Txn *t) {
        verdict_with(t, "{}");
}

// I-55, I-56, I-71: what somebody could write who wants another verdict.
static const struct {
        const char *name;
        void (*breaks)(Txn *t);
        const char *what;
} rows[] = {
        {"a verdict that nobody asked for", verdict_by_nobody, "too little is gathered"},
        {"another rule", verdict_of_another_rule, "differs from the slot's rule"},
        {"a proposal less", verdict_without_the_proposal, "differ from the gathered proposals"},
        {"a proposal more", verdict_with_one_that_is_not_gathered, "differ from the gathered proposals"},
        {"another verdict", verdict_against_the_rule, "not the one that the slot's rule gives"},
        {"another version", verdict_at_another_version, "not the slot's version then"},
        {"no row of the verdict", verdict_without_its_row, "table verdict lacks"},
        {"a verdict, and nothing written", verdict_that_is_not_carried_out, "not carried out"},
        {"a verdict, and something else", verdict_then_something_else, "not carried out"},
        {"no rule", verdict_on_a_slot_without_a_rule, "a verdict on nothing"},
        {"written without a verdict", written_without_verdict, "without its verdict"},
        {"written by a region", written_by_its_region, "without its verdict"},
        {"a replaced proposal", replaced_one_gathered, "replaced by a later one"},
        {"a breach", broken_one_gathered, "I-24"},
        {"a tree that is none", tree_that_is_not_one, "counted alone"},
        {"a proposal dropped", dropped_for_no_reason, "for a false reason"},
        {"the last proposal dropped", last_one_dropped, "for a false reason"},
        {"out of turn", gathered_out_of_turn, "out of its turn"},
        {"no proposal", gathered_without_proposal, "after its end"},
        {"gather row removed", gather_row_removed, "table gather differs"},
        {"gather row changed", gather_row_changed, "table gather differs"},
        {"gather row added", gather_row_added, "number of rows"},
        {"verdict row added", verdict_row_added, "number of rows"},
        {"verdict row removed", verdict_row_removed, "table verdict lacks"},
        {"verdict row changed", verdict_row_changed, "table verdict lacks"},
        {"rule removed", rule_taken_from_the_row, "table slot differs"},
        {"the value that was not taken", payload_back, "a discarded proposal, is still there"},
        {"the winner's value removed", payload_of_the_winner_removed, "no later entry records an erasure"},
        {"the verdict's hashes removed", payload_of_the_verdict_removed, "a missing payload"},
        {"a value that waits removed", payload_of_what_waits_removed, "no later entry records an erasure"},
        {"hash of another value", hash_of_another_value, "the hash in a verdict differs"},
        {"a hash too many", hash_too_many, "lacks a field"},
        {"a hash that is none", hash_that_is_none, "lacks a field"},
        {"no hashes", hashes_missing, "lacks a field"},
};

Test(audit_arbitration, names_what_does_not_hold) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                AuditReport a;
                Txn *t;
                int r;

                fill(&f);
                gather_audit(&f);
                t = store_fixture_begin(&f, true);
                rows[i].breaks(t);
                store_fixture_commit(&f, t);
                r = audit_run(f.store, &a);
                cr_expect_eq(r, AUDIT_E_BROKEN, "%s: audit ends %d", rows[i].name, r);
                cr_expect(strstr(a.what, rows[i].what), "%s: \"%s\" (expected %s, found %s)", rows[i].name, a.what, a.expected, a.found);
                cr_expect(*a.expected && *a.found, "%s", rows[i].name);
        }
}
