#include "tests/governed/pipeline.h"

#include "invoke/run.h"
#include "region/region-section.h"

#define ACCEPT(rest) "{\"decision\":\"accept\",\"confidence\":0.9," rest "}"
#define ISSUE(id, title, more) ACCEPT("\"bucket\":\"issues\",\"operation\":\"upsert\",\"target_id\":\"" id "\",\"payload\":{\"title\":\"" title "\"}" more)
#define RESOLVE(more) ACCEPT("\"bucket\":\"issues\",\"operation\":\"resolve\",\"payload\":{}" more)

#define SURE(confidence, rest) "{\"decision\":\"accept\",\"confidence\":" confidence "," rest "}"
#define UPSERT "\"bucket\":\"issues\",\"operation\":\"upsert\","
#define RESOLVES "\"bucket\":\"issues\",\"operation\":\"resolve\",\"payload\":{}"
#define LEARNS "\"bucket\":\"learnings\",\"operation\":\"append\",\"payload\":{\"statement\":\"s\"}"

#define EARLIER "The earlier blocker is fixed.\nalias: pandas error, import blocker"
#define EARLIER_REQUEST RESOLVE(",\"reference_text\":\"The earlier blocker\",\"candidate_aliases\":[\"pandas error\",\"import blocker\"]")

// G-60: the worked example; G-57: note, interpret, resolve, validate, event, projection, marked applied
Test(outcomes, worked_example) {
        _cleanup_json_ json_t *row = NULL, *change = NULL;
        const json_t *o, *ref;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "We are blocked. Import of pandas fails, pandas_import_blocker.", ISSUE("pandas_import_blocker", "Import of pandas fails", ""));
        pipe_expect(p.last, "committed", "");
        o = pipe_say(&p, EARLIER, EARLIER_REQUEST);
        pipe_expect(o, "committed", "");
        cr_expect_str_eq(pipe_word(o, "id"), "pandas_import_blocker");
        cr_expect(json_is_true(json_object_get(o, "applied")));
        row = pipe_row(&p, "issues", "pandas_import_blocker");
        cr_expect_str_eq(pipe_word(row, "state"), "resolved");
        /* G-18: what it was taken for, what else it could have been, and why; G-16: by which thresholds, on the event, too */
        change = pipe_change(&p, "issues", "pandas_import_blocker");
        ref = json_object_get(change, "source_ref");
        cr_expect_str_eq(pipe_word(ref, "matched_target_id"), "pandas_import_blocker");
        cr_expect_str_eq(pipe_word(ref, "resolution_reason"), "score");
        cr_expect_gt(json_number_value(json_object_get(json_array_get(json_object_get(ref, "candidate_matches"), 0), "score")), RESOLVE_TAU);
        cr_expect_eq(json_number_value(json_object_get(change, "tau")), RESOLVE_TAU);
        cr_expect_eq(json_number_value(json_object_get(change, "delta")), RESOLVE_DELTA);
        /* G-27, G-12: the event's fields, and who said it in which words */
        cr_expect_str_eq(pipe_word(change, "raw_input"), EARLIER);
        cr_expect_str_eq(pipe_word(change, "agent"), "alice");
        cr_expect_str_eq(pipe_word(change, "run"), p.run.id);
        cr_expect_str_eq(pipe_word(change, "who"), PIPE_WHO);
        cr_expect(json_object_get(change, "seq") && json_object_get(change, "time") && json_object_get(change, "payload"));
        cr_expect(json_is_true(json_object_get(change, "applied")));
        cr_expect_str_eq(json_string_value(json_array_get(json_object_get(json_object_get(change, "interpreted"), "raw"), 0)), EARLIER_REQUEST);
        pipe_holds(&p);
}

// G-60: with two issues that are as plausible it waits, and neither is touched (G-19, G-55); G-58: what waits counts as processed
Test(outcomes, worked_example_with_two_plausible) {
        _cleanup_json_ json_t *one = NULL, *two = NULL;
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_pipe_ Pipe p;
        Diag d;
        NoteRun run;

        pipe_init(&p);
        pipe_say(&p, "We are blocked. Import of pandas fails on intel, pandas_import_blocker.", ISSUE("pandas_import_blocker", "Import of pandas fails on intel", ""));
        pipe_say(&p, "And again. Import of pandas fails on arm, pandas_import_blocker_two.", ISSUE("pandas_import_blocker_two", "Import of pandas fails on arm", ""));
        pipe_expect(p.last, "committed", "");
        pipe_say(&p, EARLIER, EARLIER_REQUEST);
        pipe_expect(p.last, "pending", "ambiguous");
        one = pipe_row(&p, "issues", "pandas_import_blocker");
        two = pipe_row(&p, "issues", "pandas_import_blocker_two");
        cr_expect(strcmp(pipe_word(one, "state"), "open") == 0 && strcmp(pipe_word(two, "state"), "open") == 0);
        cr_expect_eq(json_integer_value(json_object_get(one, "version")), 1);
        cr_expect_eq(json_array_size(json_object_get(json_object_get(p.last, "source_ref"), "candidate_matches")), 2);
        t = store_fixture_begin(&p.f, false);
        cr_assert_eq(engine_run_get(t, p.run.id, &run, &d), 0);
        cr_expect(run.notes == 3 && run.processed == 3); /* G-3 */
        store_abort(TAKE_PTR(t));
        pipe_holds(&p);
}

// G-7, G-11, G-20, G-22, G-23, G-34: how each note ends, with its code
Test(outcomes, each_way_to_end) {
        static const struct {
                const char *note, *request, *outcome, *code;
        } table[] = {
                {"Nothing of interest.", NULL, "rejected", "no_cue"},
                {"Noise.", "{\"decision\":\"reject\",\"rationale\":\"committed\"}", "rejected", "rejected"},
                {"issue net_down: the network is down", NULL, "committed", ""},
                {"resolve net_down: it is up", NULL, "committed", ""},
                {"resolve no_such_row: it is up", NULL, "pending", "no_candidate"},
                {"resolve Not_An_Id: it is up", NULL, "invalid", "bad_target"},
                {"issue net_down: x\nissue net_down: y", NULL, "invalid", "several_cues"},
                {PIPE_NO_CUE, "{\"decision\":\"maybe\"}", "invalid", "bad_value"},
                {PIPE_NO_CUE, "{\"decision\":\"reject\",\"mood\":1}", "invalid", "unknown_field"},
                {PIPE_NO_CUE, "not JSON", "invalid", "syntax"},
                {PIPE_NO_CUE, ACCEPT("\"bucket\":\"rumours\",\"operation\":\"upsert\",\"payload\":{}"), "invalid", "unknown_bucket"},
                {PIPE_NO_CUE, ACCEPT("\"bucket\":\"issues\",\"operation\":\"delete\",\"payload\":{}"), "invalid", "unknown_operation"},
                {PIPE_NO_CUE, ACCEPT("\"bucket\":\"issues\",\"operation\":\"upsert\",\"payload\":{}"), "invalid", "missing_field"},
                {PIPE_NO_CUE, ACCEPT("\"bucket\":\"issues\",\"operation\":\"upsert\",\"payload\":{\"title\":7}"), "invalid", "wrong_type"},
                {PIPE_NO_CUE, ACCEPT(UPSERT "\"payload\":{\"title\":\"t\",\"state\":\"open\"}"), "invalid", "service_metadata"},
                {PIPE_NO_CUE, SURE("1.5", RESOLVES), "invalid", "out_of_range"},
                /* made, and bound to nothing: it needs some confidence; that of a row that is there does not */
                {"learning: s?", SURE("0.49", LEARNS), "invalid", "low_confidence"},
                {"learning: s", SURE("0.5", LEARNS), "committed", ""},
                {"issue net_down: s", SURE("0.1", UPSERT "\"target_id\":\"net_down\",\"payload\":{\"title\":\"s\"}"), "committed", ""},
        };
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                uint64_t events = pipe_rows(&p, TABLE_EVENT), rows = pipe_rows(&p, TABLE_REC), waits = pipe_rows(&p, TABLE_WAIT);

                pipe_say(&p, table[i].note, table[i].request);
                pipe_expect(p.last, table[i].outcome, table[i].code);
                if (strcmp(table[i].outcome, "invalid") == 0 || strcmp(table[i].outcome, "rejected") == 0) /* G-24 */
                        cr_expect(pipe_rows(&p, TABLE_EVENT) == events && pipe_rows(&p, TABLE_REC) == rows && pipe_rows(&p, TABLE_WAIT) == waits, "row %zu", i);
                else
                        cr_expect_gt(pipe_rows(&p, TABLE_EVENT), events);
        }
        pipe_holds(&p);
}

// G-34: what is only like a resolved issue does not open it again
Test(outcomes, reopened_by_id_alone) {
        _cleanup_json_ json_t *row = NULL;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "issue reader_crash: the parser crashes on empty input", NULL);
        pipe_say(&p, "resolve reader_crash: done", NULL);
        pipe_say(&p, "issue: the parser crashes on empty input", NULL);
        pipe_expect(p.last, "pending", "reopen");
        row = pipe_row(&p, "issues", "reader_crash");
        cr_expect_str_eq(pipe_word(row, "state"), "resolved");
        pipe_say(&p, "issue reader_crash: it crashes again", NULL);
        pipe_expect(p.last, "committed", "");
        cr_expect(json_is_true(json_object_get(p.last, "reactivated")));
}

// G-17, G-23, G-55: what is said to end a row that has ended is no wish that waits for it to be opened again
Test(outcomes, what_has_ended_is_not_ended_again) {
        static const char *const notes[] = {"resolve reader_crash: done twice", "The reader_crash is fixed."};
        _cleanup_json_ json_t *row = NULL;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "issue reader_crash: the parser crashes on empty input", NULL);
        pipe_say(&p, "issue other_crash: the reader crash on an empty line", NULL);
        pipe_say(&p, "resolve reader_crash: done", NULL);
        for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
                uint64_t waits = pipe_rows(&p, TABLE_WAIT), events = pipe_rows(&p, TABLE_EVENT);

                pipe_say(&p, notes[i], NULL);
                pipe_expect(p.last, "invalid", "bad_state");
                cr_expect(pipe_rows(&p, TABLE_WAIT) == waits && pipe_rows(&p, TABLE_EVENT) == events, "%s", notes[i]);
        }
        /* Neither of what only seems to be about it: this one waits, and not for another crash. */
        pipe_say(&p, "The parser problem is over.", RESOLVE(",\"reference_text\":\"the parser crashes on empty input\""));
        pipe_expect(p.last, "pending", "uncorroborated");
        pipe_say(&p, "issue reader_crash: the parser crashes on empty input, again", NULL);
        pipe_expect(p.last, "committed", "");
        row = pipe_row(&p, "issues", "reader_crash");
        cr_expect_str_eq(pipe_word(row, "state"), "open");
        pipe_holds(&p);
}

// G-14, G-16, G-20: what would create and has a row's id in its words writes that row; one that names two, or says that a row is caused by it, does not
Test(outcomes, an_id_in_plain_words) {
        _cleanup_json_ json_t *row = NULL;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "constraint no_net: tests run without a network", NULL);
        pipe_say(&p, "no_net must never be lifted in builds.", NULL);
        pipe_expect(p.last, "committed", "");
        cr_expect_str_eq(pipe_word(p.last, "id"), "no_net");
        cr_expect_str_eq(pipe_word(json_object_get(p.last, "source_ref"), "resolution_reason"), "named");
        cr_expect_eq(json_number_value(json_object_get(json_object_get(p.last, "source_ref"), "tau")), RESOLVE_TAU);
        row = pipe_change(&p, "constraints", "no_net");
        cr_expect_eq(json_number_value(json_object_get(row, "tau")), RESOLVE_TAU);
        pipe_say(&p, "constraint no_root: never as root", NULL);
        pipe_say(&p, "constraint: no_net and no_root hold for builds", NULL);
        pipe_expect(p.last, "pending", "alike");
        pipe_holds(&p);
}

// G-66, G-68: a statement of plain English that only mentions a row leaves the row's text as it is, and waits
Test(outcomes, no_text_is_lost_to_a_mention) {
        static const struct {
                const char *note, *outcome, *code;
        } rows[] = {
                {"The fix for login_bug is broken.", "rejected", "no_cue"},
                {"The button of login_bug is broken.", "pending", "mentioned"},
                {"The test for login_bug is now broken.", "pending", "mentioned"},
                {"login_bug is broken.", "pending", "mentioned"},
                {"We are blocked by login_bug.", "pending", "mentioned"},
                {"We are still blocked by login_bug.", "pending", "mentioned"},
                {"A release must not ship while no_net is off.", "pending", "mentioned"},
                {"Whoever breaks no_net must never merge.", "pending", "mentioned"},
                {"Exceptions from no_net are forbidden.", "pending", "mentioned"},
                {"The build is broken.", "committed", ""}, /* the same text */
                {"The  build is BROKEN.", "committed", ""},
        };
        static const char *const kept[][3] = {
                {"issues", "login_bug", "login fails with a blank password"},
                {"constraints", "no_net", "tests must never use the network"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_pipe_ Pipe p;

                pipe_init(&p);
                pipe_say(&p, "issue login_bug: login fails with a blank password", NULL);
                pipe_say(&p, "constraint no_net: tests must never use the network", NULL);
                pipe_say(&p, "The build is broken.", NULL);
                pipe_expect(p.last, "committed", "");
                pipe_say(&p, rows[i].note, NULL);
                cr_expect(strcmp(pipe_word(p.last, "outcome"), rows[i].outcome) == 0 &&
                                  strcmp(pipe_word(p.last, "code"), rows[i].code) == 0,
                          "%s: %s %s", rows[i].note, pipe_word(p.last, "outcome"), pipe_word(p.last, "code"));
                for (size_t k = 0; k < ARRAY_SIZE(kept); k++) {
                        _cleanup_json_ json_t *row = pipe_row(&p, kept[k][0], kept[k][1]);
                        const json_t *payload = json_object_get(row, "payload");

                        cr_expect_eq(json_integer_value(json_object_get(row, "version")), 1, "%s", rows[i].note);
                        cr_expect_str_eq(k == 0 ? pipe_word(payload, "title") : pipe_word(payload, "statement"), kept[k][2], "%s",
                                         rows[i].note);
                }
                pipe_holds(&p);
        }
}

// G-13, G-20, G-35: decisions add up; one that was taken before is not taken again unseen, and one that speaks of another is new
Test(outcomes, a_decision_that_was_taken_before) {
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "decision use_pg: the store is postgres for all services", NULL);
        pipe_say(&p, "decision: logs are kept for a week", NULL);
        pipe_expect(p.last, "committed", "");
        pipe_say(&p, "decision: migrations that use_pg brought run at night", NULL);
        pipe_expect(p.last, "committed", "");
        pipe_say(&p, "decision: the store is postgres for all services", NULL);
        pipe_expect(p.last, "pending", "alike");
        pipe_say(&p, "decision use_pg: the store is postgres for all services", NULL);
        pipe_expect(p.last, "invalid", "exists");
        pipe_holds(&p);
}

// G-41, G-42, G-43: a row remembers how it was called, 16 times at most, and is found by it; buckets without reference memory do not
Test(outcomes, reference_memory) {
        _cleanup_json_ json_t *row = NULL, *plan = NULL;
        const json_t *phrases, *aliases;
        _cleanup_pipe_ Pipe p;
        char note[200];

        pipe_init(&p);
        pipe_say(&p, "issue slow_disk: writes take long\nalias: The  Tortoise", NULL);
        for (unsigned i = 0; i < 24; i++) {
                snprintf(note, sizeof(note), "issue slow_disk: writes take long\nref: name number %u", i);
                pipe_say(&p, note, NULL);
                pipe_expect(p.last, "committed", "");
                json_decref(row);
                row = pipe_row(&p, "issues", "slow_disk");
                aliases = json_object_get(row, "aliases");
                phrases = json_object_get(row, "phrases");
                cr_expect_leq(json_array_size(aliases) + json_array_size(phrases), 16);
        }
        cr_expect_str_eq(json_string_value(json_array_get(aliases, 0)), "the tortoise"); /* normalised, and kept as it is an alias */
        cr_expect_eq(json_array_size(phrases), 15);
        cr_expect_str_eq(json_string_value(json_array_get(phrases, 14)), "name number 23");
        pipe_say(&p, "The tortoise is solved.", RESOLVE(",\"reference_text\":\"tortoise\",\"candidate_aliases\":[\"the tortoise\"]"));
        pipe_expect(p.last, "committed", "");
        cr_expect_str_eq(pipe_word(p.last, "id"), "slow_disk");
        pipe_say(&p, "plan: first this, then that", NULL);
        plan = pipe_row(&p, "plan", "main");
        cr_expect(!json_object_get(plan, "aliases") && !json_object_get(plan, "phrases"));
        pipe_holds(&p);
}

static void expect_list(const json_t *row, const char *member, const char *const *want) {
        const json_t *list = json_object_get(row, member);
        size_t n = 0;

        for (; want[n]; n++)
                cr_expect_str_eq(json_string_value(json_array_get(list, n)) ?: "", want[n], "%s[%zu]", member, n);
        cr_expect_eq(json_array_size(list), n, "%s", member);
}

// G-42, G-43: with each bind the reference, the aliases and the note's first clause are taken in, each once, whatever it was called by
Test(outcomes, reference_memory_grows_by_each_bind) {
        _cleanup_json_ json_t *made = NULL, *bound = NULL;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "issue leak_a: memory grows. And grows.\nalias: The Leak, the  leak, Tortoise\nref: THE LEAK", NULL);
        pipe_expect(p.last, "committed", "");
        made = pipe_row(&p, "issues", "leak_a");
        expect_list(made, "aliases", (const char *const[]){"the leak", "tortoise", NULL});
        expect_list(made, "phrases", (const char *const[]){"issue leak_a: memory grows", NULL});
        pipe_say(&p, "The leak is closed. All of it.\nalias: the hare", RESOLVE(",\"reference_text\":\"The Leak\",\"candidate_aliases\":[\"the leak\",\"The Hare\"]"));
        pipe_expect(p.last, "committed", "");
        bound = pipe_row(&p, "issues", "leak_a");
        expect_list(bound, "aliases", (const char *const[]){"the leak", "tortoise", "the hare", NULL});
        expect_list(bound, "phrases", (const char *const[]){"issue leak_a: memory grows", "the leak is closed", NULL});
        pipe_holds(&p);
}

// G-5, G-6: in order, each with the context as it is then, which is what is open and active, and nothing else
Test(outcomes, fresh_and_narrow_context) {
        _cleanup_json_ json_t *told = NULL;
        const json_t *context;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "issue open_one: still there", NULL);
        pipe_say(&p, "issue closed_one: was there", NULL);
        pipe_say(&p, "resolve closed_one", NULL);
        pipe_say(&p, "decision use_lmdb: we use lmdb", NULL);
        pipe_say(&p, "constraint no_root: never as root", NULL);
        pipe_say(&p, "learning: disks fail", NULL);
        p.answer = ISSUE("second_one", "another", "");
        pipe_note(&p, p.run.id, NOTE_AGENT, "issue second_one: another");
        pipe_note(&p, p.run.id, NOTE_AGENT, "issue second_one: another, two");
        pipe_promote(&p, p.run.id, 64, NULL);
        told = json_loads(p.told, 0, NULL);
        context = json_object_get(told, "context");
        cr_expect_eq(json_object_size(context), 3);
        cr_expect_eq(json_array_size(json_object_get(context, "issues")), 2, "the note before made one of them");
        cr_expect_str_eq(pipe_word(json_array_get(json_object_get(context, "issues"), 0), "id"), "open_one");
        cr_expect_str_eq(pipe_word(json_array_get(json_object_get(context, "issues"), 1), "id"), "second_one");
        cr_expect_eq(json_array_size(json_object_get(context, "decisions")), 1);
        cr_expect_eq(json_array_size(json_object_get(context, "constraints")), 1);
        cr_expect_str_eq(pipe_word(json_object_get(told, "note"), "text"), "issue second_one: another, two");
}

// G-13, G-17, G-21: only rows of the bucket that the operation can apply to; the same rows and the same request, the same outcome
Test(outcomes, candidates_are_of_the_bucket_and_can_be_ended) {
        _cleanup_json_ json_t *first = NULL;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "decision flat_files: store it in flat files", NULL);
        pipe_say(&p, "learning: store it in flat files", NULL);
        pipe_say(&p, "issue flat_file_size: store it in flat files, they grow", NULL);
        pipe_say(&p, "resolve flat_file_size", NULL);
        for (unsigned i = 0; i < 2; i++) {
                pipe_say(&p, "Over: store it in flat files.", RESOLVE(",\"reference_text\":\"store it in flat files\""));
                pipe_expect(p.last, "pending", "no_candidate");
                cr_expect_eq(json_array_size(json_object_get(json_object_get(p.last, "source_ref"), "candidate_matches")), 0);
                if (i == 0)
                        first = json_deep_copy(json_object_get(p.last, "source_ref"));
        }
        cr_expect(json_equal(first, json_object_get(p.last, "source_ref")));
}

// G-7: outcome and what it says are of one transaction: where that fails, none of both is there
Test(outcomes, marked_in_the_same_transaction) {
        _cleanup_note_ Note n = NOTE_NULL;
        _cleanup_pipe_ Pipe p;
        uint64_t events;
        uint8_t place[8];
        Promoted sum;
        bool of_store;
        Txn *t;
        Diag d;

        pipe_init(&p);
        pipe_say(&p, "issue first_one: there", NULL);
        pipe_note(&p, p.run.id, NOTE_AGENT, "issue second_one: there, too");
        pipe_note(&p, p.run.id, NOTE_AGENT, "resolve first_one");
        events = pipe_rows(&p, TABLE_EVENT);
        /* the second of the batch's events finds its place taken: the first goes with it */
        be64_put(place, events + 1);
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(table_put(t, TABLE_BODY, BYTES(place, 8), BYTES_STR("{")), 0);
        store_fixture_commit(&p.f, t);
        cr_expect_lt(belief_promote(p.f.store, &(Promoting){.run = p.run.id, .batch = 64, .policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO}, &sum, &of_store,
                                   &d), 0);
        cr_expect_eq(pipe_rows(&p, TABLE_EVENT), events);
        cr_expect_eq(pipe_rows(&p, TABLE_WAIT), 0);
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(engine_note_next(t, p.run.id, 1, true, &n), 0);
        cr_expect_eq(n.number, 2, "still as if nobody had looked at it");
        cr_assert_eq(table_del(t, TABLE_BODY, BYTES(place, 8)), 0); /* and when it is free, it goes on */
        store_fixture_commit(&p.f, t);
        pipe_promote(&p, p.run.id, 64, NULL);
        cr_expect_eq(p.sum.committed, 2);
        t = store_fixture_begin(&p.f, false);
        cr_assert_eq(engine_run_get(t, p.run.id, &p.run, &d), 0);
        cr_expect(p.run.notes == 3 && p.run.settled == 3, "the next promotion begins behind them");
        store_abort(t);
        pipe_holds(&p);
}

// G-8, I-11: what holds the key of a region that lives goes nowhere, not into the queue either
Test(outcomes, keys_are_not_queued) {
        static const uint8_t key[KEY_BYTES] = {0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
        const uint8_t *const keys[] = {key};
        static const char *const notes[] = {"resolve no_such_row: deadbeef0102030405060708090a0b0c", "issue some_row: deadbeef0102030405060708090a0b0c"};
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
                uint64_t bodies = pipe_rows(&p, TABLE_BODY);

                pipe_note(&p, p.run.id, NOTE_AGENT, notes[i]);
                pipe_promote(&p, p.run.id, 64, &(KeySet){keys, 1});
                pipe_expect(p.last, "invalid", "key_escape");
                cr_expect_eq(pipe_rows(&p, TABLE_BODY), bodies);
        }
        cr_expect(pipe_rows(&p, TABLE_WAIT) == 0 && pipe_rows(&p, TABLE_TERM) == 0);
}

/* A region that lives in this process, and its key. */
static Vault *living(char key[static KEY_TEXT_BYTES + 1], Diag *d) {
        char id[REGION_ID_MAX];
        Vault *v;

        cr_assert_eq(region_id_new(1, id), 0);
        cr_assert_eq(vault_new(id, KEY_SCOPE_INVOCATION, NULL, NULL, &v, d), 0, "%s", d->text);
        cr_assert(vault_hand_over(v, v, key));
        return v;
}

static char tells[KEY_TEXT_BYTES + 1]; /* the key that the advisor puts into its answer */

static int tell(void *user, const char *line, char **ret_line, Diag *reterr) {
        return asprintf(ret_line, ISSUE("some_row", "%s", ""), tells) < 0 ? -ENOMEM : 0;
}

// I-11: what is promoted where regions live is searched for their keys, the notes of a run and an advisor's answers, and nothing of it stays
Test(outcomes, keys_of_living_regions) {
        /* Whoever of the two knows of them finds them: who asks the advisor, and who writes. */
        static const struct {
                const KeyHold *asks, *writes;
        } rows[] = {{&region_keys, NULL}, {NULL, &region_keys}, {&region_keys, &region_keys}};
        _cleanup_json_ json_t *into = json_object();
        char note[100];
        uint64_t bodies;
        _cleanup_pipe_ Pipe p;
        Vault *v;

        pipe_init(&p);
        v = living(tells, &p.f.d);
        bodies = pipe_rows(&p, TABLE_BODY);
        snprintf(note, sizeof(note), "issue some_row: %s", tells);
        pipe_note(&p, p.run.id, NOTE_AGENT, note);
        cr_assert_eq(run_promote_notes(p.f.store, p.run.id, 0, NULL, -1, into, &p.f.d), 0, "%s", p.f.d.text);
        cr_expect_eq(json_integer_value(json_object_get(into, "invalid")), 1);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const Advisor advisor = {.name = "teller", .ask = tell, .keys = rows[i].asks};
                bool of_store;

                pipe_note(&p, p.run.id, NOTE_AGENT, "an innocent note");
                cr_assert_eq(belief_promote(p.f.store, &(Promoting){.run = p.run.id, .batch = 1, .advisor = &advisor, .policy = &RESOLVE_POLICY_DEFAULT,
                                                                   .who = PIPE_WHO, .keys = rows[i].writes, .told = pipe_heard, .user = &p},
                                           &p.sum, &of_store, &p.f.d), 0, "%s", p.f.d.text);
                cr_expect_eq(p.sum.committed, 0, "row %zu", i);
        }
        cr_expect_eq(pipe_rows(&p, TABLE_BODY), bodies, "nothing that holds it was written");
        vault_free(v);
}

// G-2, G-17, G-19, G-23: a row of another scope is not found, by whatever words; its id is as free as any, so that what a note ends by that word waits for one
// of its own; what only an advisor's answer names is refused
Test(outcomes, rows_of_other_scopes) {
        static const char *const notes[] = {"resolved: the other team's disk is full", "only_there is fixed."};
        static const char *const targets[] = {"resolve only_there: fixed", "resolve only_there"};
        static const char answer[] = "{\"decision\":\"accept\",\"bucket\":\"issues\",\"operation\":\"resolve\",\"target_id\":\"only_there\",\"payload\":{},"
                                     "\"confidence\":1}";
        _cleanup_pipe_ Pipe p;
        uint64_t scope;
        NoteRun there;
        Txn *t;

        pipe_init(&p);
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(engine_scope_create(t, PIPE_WHO, "elsewhere", &scope, &p.f.d), 0);
        cr_assert_eq(engine_run_begin(t, PIPE_WHO, NULL, NULL, "bob", "elsewhere", &there, &p.f.d), 0);
        store_fixture_commit(&p.f, t);
        pipe_note(&p, there.id, NOTE_AGENT, "issue only_there: the other team's disk is full");
        pipe_promote(&p, there.id, 1, NULL);
        pipe_expect(p.last, "committed", "");
        pipe_say(&p, "resolve nowhere: fixed", NULL);
        pipe_expect(p.last, "pending", "no_candidate");
        {
                uint64_t events = pipe_rows(&p, TABLE_EVENT), bodies = pipe_rows(&p, TABLE_BODY), waits = pipe_rows(&p, TABLE_WAIT);

                pipe_say(&p, PIPE_NO_CUE, answer);
                pipe_expect(p.last, "invalid", "cross_scope");
                cr_expect(pipe_rows(&p, TABLE_EVENT) == events && pipe_rows(&p, TABLE_BODY) == bodies && pipe_rows(&p, TABLE_WAIT) == waits);
        }
        for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
                pipe_say(&p, targets[i], NULL);
                pipe_expect(p.last, "pending", "no_candidate");
        }
        pipe_say(&p, "Our only_there is no more.", answer);
        pipe_expect(p.last, "pending", "no_candidate");
        for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
                pipe_say(&p, notes[i], NULL);
                pipe_expect(p.last, "pending", "no_candidate");
                cr_expect_eq(json_array_size(json_object_get(json_object_get(p.last, "source_ref"), "candidate_matches")), 0);
        }
        pipe_say(&p, "issue only_there: ours", NULL);
        cr_expect(json_is_true(json_object_get(p.last, "created")), "the name is free here");
        pipe_say(&p, "resolve only_there: fixed", NULL);
        pipe_expect(p.last, "committed", ""); /* what waited did not end it (G-62) */
        t = store_fixture_begin(&p.f, false);
        {
                RecordKey k = record_key_of(scope, KIND_ISSUE, "only_there");
                _cleanup_record_ Record rec = RECORD_NULL;

                cr_assert_eq(record_get(t, &k, &rec), 0);
                cr_expect(rec.state == RECORD_OPEN && rec.version == 1);
        }
        store_abort(t);
}

// G-8: what the memory service can do to its records it cannot do to these: refused, and recorded without what it said
Test(outcomes, direct_writes_are_refused_and_recorded) {
        static const Op ops[] = {OP_SAVE, OP_DELETE, OP_ARCHIVE, OP_PATCH, OP_REMOVE};
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "issue parser_crash: it crashes", NULL);
        for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
                _cleanup_json_ json_t *payload = json_pack("{s:s}", "title", "all is well"), *row = NULL;
                uint64_t events = pipe_rows(&p, TABLE_EVENT), bodies = pipe_rows(&p, TABLE_BODY);
                Txn *t = store_fixture_begin(&p.f, true);
                Mutated m;

                cr_expect_eq(engine_mutate(t, &(Mutation){.kind = KIND_ISSUE, .op = ops[i], .id = "parser_crash", .payload = payload, .who = PIPE_WHO,
                                                          .expect = MUTATION_ANY}, &m, &p.f.d), ENGINE_E_BAD_OPERATION);
                store_fixture_commit(&p.f, t);
                cr_expect(pipe_rows(&p, TABLE_EVENT) == events + 1 && pipe_rows(&p, TABLE_BODY) == bodies);
                row = pipe_row(&p, "issues", "parser_crash");
                cr_expect_eq(json_integer_value(json_object_get(row, "version")), 1);
        }
        pipe_holds(&p);
}

// G-67, G-68: a row that a note only mentions is not its subject, and a denial of another line denies nothing
Test(outcomes, of_what_is_only_mentioned) {
        static const struct {
                const char *rows[2], *note, *outcome, *code, *open;
        } rows[] = {
                {{"issue scipy_blocker: the import blocker of scipy"}, "resolved: the import blocker of scipy is like a blocker, see scipy_blocker", "pending", "mentioned", "scipy_blocker"},
                {{"issue c_6b07762e: net/x: link is not stable"}, "fixed: net/x: link is not stable\nThis is similar to the commit 6b07762e9490 (\"net/x: link is not stable\").",
                 "pending", "mentioned", "c_6b07762e"},
                {{"issue c_6b07762e: net/x: link is not stable"}, "fixed: net/x: queue\nKeep the queue, and release it when not\nFixes: 6b07762e9490 (\"net/x: link is not stable\")",
                 "committed", "", NULL},
                {{"issue numpy_blocker: numpy cannot be imported", "issue scipy_blocker: scipy cannot be imported"},
                 "The numpy_blocker is fixed, unlike scipy_blocker.", "committed", "", "scipy_blocker"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *row = NULL;
                _cleanup_pipe_ Pipe p;

                pipe_init(&p);
                for (size_t k = 0; k < ARRAY_SIZE(rows[i].rows) && rows[i].rows[k]; k++) {
                        pipe_say(&p, rows[i].rows[k], NULL);
                        pipe_expect(p.last, "committed", "");
                }
                pipe_say(&p, rows[i].note, NULL);
                cr_expect(strcmp(pipe_word(p.last, "outcome"), rows[i].outcome) == 0 && strcmp(pipe_word(p.last, "code"), rows[i].code) == 0, "%s: %s %s", rows[i].note,
                          pipe_word(p.last, "outcome"), pipe_word(p.last, "code"));
                if (rows[i].open) {
                        row = pipe_row(&p, "issues", rows[i].open);
                        cr_expect_str_eq(pipe_word(row, "state"), "open", "%s", rows[i].note);
                }
                pipe_holds(&p);
        }
}
