/* Runs: tests. What an advisor says needs support in the note's own text (G-65). */
#include "belief/settle.h"
#include "tests/governed/pipeline.h"

#define ACCEPT(rest) "{\"decision\":\"accept\",\"confidence\":1," rest "}"
#define RESOLVES(more) ACCEPT("\"bucket\":\"issues\",\"operation\":\"resolve\",\"payload\":{}" more)
#define LOGIN RESOLVES(",\"target_id\":\"login_bug\"")
#define ISSUE(title) ACCEPT("\"bucket\":\"issues\",\"operation\":\"upsert\",\"payload\":{\"title\":\"" title "\"}")
#define RULE(text) ACCEPT("\"bucket\":\"constraints\",\"operation\":\"upsert\",\"payload\":{\"statement\":\"" text "\"}")

static void advised_rows(Pipe *p) {
        static const char *const notes[] = {
                "issue login_bug: login fails with a blank password", "issue login_slow: login takes ten seconds",
                "issue pandas_import: pandas cannot be imported", "constraint no_network: tests run without a network",
                "decision use_postgres: the store is postgres for all services",
        };

        for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
                pipe_say(p, notes[i], NULL);
                pipe_expect(p->last, "committed", "");
        }
}

typedef struct AdvisedRow {
        const char *note, *answer, *unsupported; /* NULL: committed */
} AdvisedRow;

static void hold(const AdvisedRow *table, size_t n) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_pipe_ Pipe p;
                const json_t *list;
                char fields[200] = "";
                uint64_t events;

                pipe_init(&p);
                advised_rows(&p);
                events = pipe_rows(&p, TABLE_REC);
                pipe_say(&p, table[i].note, table[i].answer);
                pipe_expect(p.last, table[i].unsupported ? "pending" : "committed", table[i].unsupported ? "uncorroborated" : "");
                list = json_object_get(json_object_get(p.last, "source_ref"), "unsupported");
                for (size_t k = 0; k < json_array_size(list); k++)
                        snprintf(fields + strlen(fields), sizeof(fields) - strlen(fields), "%s%s", k ? " " : "", json_string_value(json_array_get(list, k)));
                cr_expect_str_eq(fields, table[i].unsupported ?: "", "%s", table[i].note);
                if (table[i].unsupported)
                        cr_expect_eq(pipe_rows(&p, TABLE_REC), events, "%s", table[i].note);
                pipe_holds(&p);
        }
}

// G-65: a model that lies, or was talked into it: nothing changes, and the outcome names what the note does not support
Test(advised, words_alone_change_nothing) {
        static const AdvisedRow table[] = {
                {"What a nice day, I had lunch.", LOGIN, "operation target_id"},
                {"What a nice day, I had lunch.", RESOLVES(",\"reference_text\":\"login fails with a blank password\""), "reference_text"},
                {"What a nice day, I had lunch.", RESOLVES(",\"candidate_aliases\":[\"login bug\",\"login fails with a blank password\"]"), "candidate_aliases"},
                /* the operation: the interpreter abstains, so that nobody may go on */
                {"login_bug is fixed, hopefully.", LOGIN, "operation"},
                {"login_bug is not fixed.", LOGIN, "operation"},
                {"login_bug is fixed. It came back an hour later.", LOGIN, "operation"},
                {"Is login_bug fixed?", LOGIN, "operation"},
                {"login_bug was seen again.", LOGIN, "operation"},
                {"The user says login_bug is fixed.", LOGIN, "operation"},
                {"issue login_bug: login fails with a blank password", LOGIN, "operation"},
                {"decision: lunch is at noon", RULE("lunch is at noon"), "operation"},
                {"Lunch is at noon.", RULE("lunch is at noon"), "operation"},
                /* the row */
                {"The printer jam is fixed.", LOGIN, "target_id"},
                {"pandas_import is fixed.", LOGIN, "target_id"},
                {"The dashboard of login_bug is fixed.", LOGIN, "target_id"},
                {"The jam is fixed, similar to login_bug.", LOGIN, "target_id"},
                {"issue: the printer jams", ACCEPT("\"bucket\":\"issues\",\"operation\":\"upsert\",\"target_id\":\"login_bug\",\"payload\":{\"title\":\"the printer jams\"}"),
                 "target_id"},
                {"issue: the printer jams", ACCEPT("\"bucket\":\"issues\",\"operation\":\"upsert\",\"target_id\":\"login_trouble\",\"payload\":{\"title\":\"the printer jams\"}"),
                 "target_id"},
                /* the texts */
                {"The printer fails.", ISSUE("the printer fails on Mondays"), "payload.title"},
                {"login_bug is fixed.", ACCEPT("\"bucket\":\"issues\",\"operation\":\"resolve\",\"target_id\":\"login_bug\",\"payload\":{\"resolution\":\"Bob did it\"}"),
                 "payload.resolution"},
                {"The skills must not use the printer.", RULE("the skills must use the printer"), "payload.statement"},
                {"The skills must use the printer, never the scanner. Paper is not free.", RULE("the skills must not use the printer"), "payload.statement"},
                {"Do not use the printer. Use the scanner.", RULE("use the printer"), "operation payload.statement"},
                {"We must use the printer, never the scanner.", RULE("must use the scanner"), "payload.statement"},
                {"The printer fails.", ACCEPT("\"bucket\":\"issues\",\"operation\":\"upsert\",\"payload\":{\"title\":\"the printer fails\",\"severity\":\"critical\"}"),
                 "payload.severity"},
                {"We decided to buy a printer.",
                 ACCEPT("\"bucket\":\"decisions\",\"operation\":\"append\",\"payload\":{\"decision\":\"buy a printer\",\"alternatives\":[\"a scanner\"]}"),
                 "payload.alternatives"},
                {"task print_page: done", ACCEPT("\"bucket\":\"task_state\",\"operation\":\"upsert\",\"target_id\":\"ship_it\",\"payload\":{\"status\":\"done\"}"), "target_id"},
                {"plan: print a page", ACCEPT("\"bucket\":\"plan\",\"operation\":\"upsert\",\"payload\":{\"content\":\"give up\"}"), "payload.content"},
        };

        hold(table, ARRAY_SIZE(table));
}

// G-65: an advisor chooses among what a note says: the row of several that fit, the bucket of a statement, shorter words
Test(advised, support_is_enough) {
        static const AdvisedRow table[] = {
                {"login_bug is fixed.", LOGIN, NULL},
                {"The login failure with a blank password is fixed.", LOGIN, NULL},
                {"The printer fails on Mondays since the move.", ISSUE("printer fails on Mondays"), NULL},
                {"The skills must not use the printer.", RULE("skills must not use the printer"), NULL},
                {"We agreed on a printer.", ACCEPT("\"bucket\":\"decisions\",\"operation\":\"append\",\"payload\":{\"decision\":\"a printer\"}"), NULL},
                {"login_bug is fixed, and pandas_import is fixed.", LOGIN, NULL},
                {"login_bug is fixed. The jam is fixed.", LOGIN, NULL},
                {"task print_page: done", ACCEPT("\"bucket\":\"task_state\",\"operation\":\"upsert\",\"target_id\":\"print_page\",\"payload\":{\"status\":\"done\"}"), NULL},
        };

        hold(table, ARRAY_SIZE(table));
}

// G-65: the output of a tool supports no plan, rule or decision, whatever an advisor makes of its words
Test(advised, a_tool_binds_nobody) {
        static const struct {
                const char *note, *answer, *unsupported;
        } table[] = {
                {"The skills must not use the printer.", RULE("the skills must not use the printer"), "role"},
                {"We decided to buy a printer.",
                 ACCEPT("\"bucket\":\"decisions\",\"operation\":\"append\",\"payload\":{\"decision\":\"buy a printer\"}"), "role"},
                {"First a plan, then a printer.",
                 ACCEPT("\"bucket\":\"plan\",\"operation\":\"upsert\",\"payload\":{\"content\":\"a printer\"}"), "role"},
                {"tests run without a network", RULE("tests run without a network"), "role"}, /* like a row that is there */
                {"The printer fails on Mondays.", ISSUE("the printer fails on Mondays"), NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                const Trying by = {.policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO};
                const json_t *list;
                uint64_t rows;
                Retried re;
                _cleanup_pipe_ Pipe p;
                Txn *t;

                pipe_init(&p);
                advised_rows(&p);
                rows = pipe_rows(&p, TABLE_REC);
                p.answer = table[i].answer;
                pipe_note(&p, p.run.id, NOTE_TOOL_RESULT, table[i].note);
                pipe_promote(&p, p.run.id, 1, NULL);
                pipe_expect(p.last, table[i].unsupported ? "pending" : "committed", table[i].unsupported ? "uncorroborated" : "");
                if (!table[i].unsupported)
                        continue;
                list = json_object_get(json_object_get(p.last, "source_ref"), "unsupported");
                cr_expect_str_eq(json_string_value(json_array_get(list, 0)) ?: "", table[i].unsupported, "%s", table[i].note);
                t = store_fixture_begin(&p.f, true);
                cr_assert_eq(belief_retry(t, 0, 0, &by, &re, &p.f.d), 0);
                store_fixture_commit(&p.f, t);
                cr_expect_eq(pipe_rows(&p, TABLE_REC), rows, "%s", table[i].note);
                pipe_holds(&p);
        }
}

// G-65, G-50: an uncorroborated item stays so at each retry, and a person may decide
Test(advised, it_waits_for_a_person) {
        const Trying by = {.policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO};
        _cleanup_json_ json_t *row = NULL;
        _cleanup_applied_ Applied done = {0};
        uint64_t item;
        Retried re;
        _cleanup_pipe_ Pipe p;
        Txn *t;

        pipe_init(&p);
        advised_rows(&p);
        pipe_say(&p, "What a nice day, I had lunch.", LOGIN);
        item = (uint64_t)json_integer_value(json_object_get(p.last, "pending"));
        pipe_say(&p, "issue login_bug: login fails with a blank password, still", NULL);
        pipe_expect(p.last, "committed", "");
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(belief_retry(t, 0, 0, &by, &re, &p.f.d), 0);
        store_fixture_commit(&p.f, t);
        cr_expect_eq(re.resolved, 0);
        row = pipe_row(&p, "issues", "login_bug");
        cr_expect_str_eq(pipe_word(row, "state"), "open");
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(belief_bind(t, item, "login_bug", &by, &done, &p.f.d), 0, "%s", p.f.d.text);
        store_fixture_commit(&p.f, t);
        cr_expect_eq(done.outcome, NOTE_COMMITTED, "%s", done.why.text);
        pipe_holds(&p);
}
