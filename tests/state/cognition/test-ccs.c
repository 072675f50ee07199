#include "cognition/ccs-diff.h"
#include "cognition/ccs-text.h"
#include "random-state.h"

#include "base/hash.h"
#include "base/io.h"

#include <fcntl.h>
#include <string.h>

static const char example[] =
        "episodic_trace:\n said(3 pm, Concord)\n"
        "semantic_gist: rent(car)\n"
        "focal_entities:\n time(3 pm)\n place(Concord)\n"
        "relational_map:\n timing(502_spikes after(http2_enable))\n"
        "goal_orientation: rent(car)\n"
        "constraints:\n must_not(operator, restart primary database)\n"
        "predictive_cue:\n"
        "uncertainty_signal:\n level(low)\n"
        "retrieved_artifacts:\n runbook(ev12@1)\n";

static void parse(const char *name, const char *text, Ccs *ret) {
        Diag d = {};
        int e = ccs_parse(text, strlen(text), ret, &d);

        cr_assert_eq(e, 0, "%s: %s", name, d.text);
}

static void printed(const char *name, const Ccs *c, const char *text) {
        _cleanup_buf_ Buf out = {};
        size_t bytes, tokens;

        cr_assert_eq(ccs_print(c, &out), 0);
        cr_expect_str_eq(out.data, text, "%s: %s", name, out.data);
        ccs_measure(c, &bytes, &tokens);
        cr_expect_eq(bytes, out.n, "%s", name);
        cr_expect_eq(tokens, ccs_tokens(out.data, out.n), "%s", name);
}

// C-17, C-39: the canonical text, and what the parser takes for the same state
Test(ccs, text) {
        static const struct {
                const char *name, *text;
        } rows[] = {
                {"canonical", example},
                {"a line a field, any order",
                 "goal_orientation: rent(car)\nepisodic_trace: said(3 pm,Concord)\nsemantic_gist: rent(car)\nfocal_entities: time(3 pm); place(Concord)\n"
                 "relational_map: timing(502_spikes   after(http2_enable))\nconstraints: must_not(operator, \"restart primary database\")\npredictive_cue: none\n"
                 "uncertainty_signal: level(low)\nretrieved_artifacts: runbook(ev12@1)"},
                {"as a model may write",
                 "```\nEpisodic_Trace:\r\n  - said( 3 pm , Concord )\r\n\r\nsemantic_gist:\n  rent(car)\nfocal_entities[2]:\n * time(3 pm) & place(Concord);\n"
                 "relational_map : timing(502_spikes after(http2_enable))\ngoal_orientation: rent(car)\nconstraints:\n\tmust_not(operator, restart primary database)\n"
                 "predictive_cue: []\nuncertainty_signal: level(low)\nretrieved_artifacts:\nrunbook(ev12@1)\n```\n"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_ccs_ Ccs c = CCS_NULL;
                Diag d = {};

                parse(rows[i].name, rows[i].text, &c);
                printed(rows[i].name, &c, example);
                cr_expect_eq(ccs_validate(&c, &CCS_BOUND, &d), 0, "%s: %s", rows[i].name, d.text);
        }
}

// C-11, C-17: the source of a constraint of the user stands in the text only where the text would mean another thing without the source
Test(ccs, source) {
        static const struct {
                const char *text, *printed, *atom;
        } rows[] = {
                {"must_not(trade swaps)", "must_not(trade swaps)", "must_not(user, trade swaps)"},
                {"must_not(user, trade swaps)", "must_not(trade swaps)", "must_not(user, trade swaps)"},
                {"must(user, policy)", "must(user, policy)", "must(user, policy)"},
                {"must(policy words)", "must(policy words)", "must(user, policy words)"},
                {"must(user, a, b)", "must(user, a, b)", "must(user, a, b)"},
                {"must(\"a, \\\"b\")", "must(\"a, \\\"b\")", "must(user, \"a, \\\"b\")"},
                {"must(user, x(a, b))", "must(user, x(a, b))", "must(user, x(a, b))"},
                {"avoid(policy, cash)", "avoid(policy, cash)", "avoid(policy, cash)"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_ccs_ Ccs c = CCS_NULL;
                _cleanup_buf_ Buf in = {}, out = {};
                const char *at = strstr(example, "must_not("), *end = strchr(at, '\n');

                cr_assert_eq(buf_add(&in, example, (size_t)(at - example)) ?: buf_add_str(&in, rows[i].text) ?: buf_add_str(&in, end), 0);
                cr_assert_eq(buf_add(&out, example, (size_t)(at - example)) ?: buf_add_str(&out, rows[i].printed) ?: buf_add_str(&out, end), 0);
                parse(rows[i].text, in.data, &c);
                cr_expect_str_eq(c.field[CCS_CONSTRAINTS].atoms[0], rows[i].atom);
                printed(rows[i].text, &c, out.data);
        }
}

// C-17: nine fields in the manner of the paper's figure, with & in gist and goals; the level comes to stand first
Test(ccs, paper) {
        _cleanup_ccs_ Ccs c = CCS_NULL;

        parse("paper",
              "episodic_trace: observed(502_spikes); changed(http2_enable)\nsemantic_gist: diagnose(502_errors) & restore(service)\n"
              "focal_entities: service(api_gateway); change(http2_enable)\nrelational_map: timing(502_spikes after(http2_enable)); possible(cause(http2_enable, 502_spikes))\n"
              "goal_orientation: restore(service) & find(root_cause)\nconstraints: must_not(policy, restart database); must(operator, approval before(rollback))\n"
              "predictive_cue: check(upstream_logs)\nuncertainty_signal: gap(root_cause); level(medium)\nretrieved_artifacts: runbook(rb-7@2)\n",
              &c);
        cr_assert_eq(ccs_validate(&c, &CCS_BOUND, NULL), 0);
        cr_expect_str_eq(c.field[CCS_RELATIONAL_MAP].atoms[0], "timing(502_spikes after(http2_enable))");
        cr_expect_eq(c.field[CCS_GOAL_ORIENTATION].n, 2);
        cr_expect_str_eq(c.field[CCS_UNCERTAINTY_SIGNAL].atoms[0], "level(medium)");
}

/* The example with one line replaced. */
static char *changed(const char *from, const char *to) {
        const char *at = strstr(example, from);
        char *text = NULL;

        cr_assert(at, "%s", from);
        cr_assert_geq(asprintf(&text, "%.*s%s%s", (int)(at - example), example, to, at + strlen(from)), 0);
        return text;
}

// C-4, C-6..C-14: each rule of the fields refuses what breaks it
Test(ccs, rules) {
        static const struct {
                const char *name, *from, *to;
                int e;
        } rows[] = {
                {"C-4 a field is missing", "predictive_cue:\n", "", CCS_E_FIELD},
                {"C-4 a field twice", "predictive_cue:\n", "predictive_cue:\npredictive_cue:\n", CCS_E_FIELD},
                {"C-4 an unknown field", "predictive_cue:\n", "predictive_cue:\nnotes:\n", CCS_E_FIELD},
                {"C-4 an atom before the first field", "episodic_trace:\n said", " said(x)\nepisodic_trace:\n said", CCS_E_FIELD},
                {"C-5 no atom", " place(Concord)", " Concord", CCS_E_SYNTAX},
                {"C-5 atoms not joined", " place(Concord)", " place(Concord) time(4 pm)", CCS_E_SYNTAX},
                {"C-6 nine in the trace", " said(3 pm, Concord)", "a(1);a(2);a(3);a(4);a(5);a(6);a(7);a(8);a(9)", CCS_E_COUNT},
                {"C-6 an atom twice", " said(3 pm, Concord)", "a(1);a( 1 )", CCS_E_COUNT},
                {"C-7 no gist", "semantic_gist: rent(car)", "semantic_gist:", CCS_E_COUNT},
                {"C-7 a long gist", "semantic_gist: rent(car)",
                 "semantic_gist: a(123456789012345678901234567890123456789012345678901234567890123456789012345) & b(123456789012345678901234567890123456789012345678901234567890123456789012345) & c(1)", CCS_E_ATOM},
                {"C-8 two ids", " place(Concord)", " place(Concord, CA)", CCS_E_ATOM},
                {"C-8 an atom for an id", " place(Concord)", " place(in(CA))", CCS_E_ATOM},
                {"C-8 an id twice", " place(Concord)", " place(Concord)\n city(concord)", CCS_E_COUNT},
                {"C-9 no relation", "timing(", "near(", CCS_E_ATOM},
                {"C-10 no goal", "goal_orientation: rent(car)", "goal_orientation:", CCS_E_COUNT},
                {"C-10 five goals", "goal_orientation: rent(car)", "goal_orientation: a(1) & a(2) & a(3) & a(4) & a(5)", CCS_E_COUNT},
                {"C-11 no polarity", "must_not(", "never(", CCS_E_ATOM},
                {"C-11 no source", "must_not(operator, ", "must_not(at night, ", CCS_E_ATOM},
                {"C-11 a source that is none", "operator", "document", CCS_E_ATOM},
                {"C-11 nothing said", "must_not(operator, restart primary database)", "must_not(operator)", CCS_E_ATOM},
                {"C-12 five cues", "predictive_cue:", "predictive_cue: a(1);a(2);a(3);a(4);a(5)", CCS_E_COUNT},
                {"C-13 no level", " level(low)", " gap(x)", CCS_E_ATOM},
                {"C-13 nothing", " level(low)\n", "", CCS_E_COUNT},
                {"C-13 a level that is none", "level(low)", "level(none)", CCS_E_ATOM},
                {"C-13 two levels", "level(low)", "level(low); level(high)", CCS_E_ATOM},
                {"C-14 content for a reference", "runbook(ev12@1)", "runbook(restart the database)", CCS_E_ATOM},
                {"C-14 no version", "ev12@1", "ev12", CCS_E_ATOM},
                {"C-14 a version that is none", "ev12@1", "ev12@01", CCS_E_ATOM},
                {"C-14 an artifact twice", "runbook(ev12@1)", "runbook(ev12@1); log(ev12@2)", CCS_E_COUNT},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *text = changed(rows[i].from, rows[i].to);
                _cleanup_ccs_ Ccs c = CCS_NULL;
                Diag d = {};
                int e = ccs_parse(text, strlen(text), &c, &d) ?: ccs_validate(&c, &CCS_BOUND, &d);

                cr_expect_eq(e, rows[i].e, "%s: %d %s", rows[i].name, e, d.text);
                cr_expect(*d.text, "%s has no message", rows[i].name);
        }
}

// C-8: a value stands once for each type
Test(ccs, values) {
        _cleanup_free_ char *text = changed(" place(Concord)", " start(3 pm)");
        _cleanup_ccs_ Ccs c = CCS_NULL;

        parse("values", text, &c);
        cr_expect_eq(ccs_validate(&c, NULL, NULL), 0);
        cr_assert_eq(ccs_add(&c, CCS_FOCAL_ENTITIES, "place(Concord)", NULL), 0);
        cr_assert_eq(ccs_add(&c, CCS_FOCAL_ENTITIES, "city(CONCORD)", NULL), 0);
        cr_assert_eq(ccs_add(&c, CCS_FOCAL_ENTITIES, "time( 3 pm)", NULL), 0);
        cr_assert_eq(c.field[CCS_FOCAL_ENTITIES].n, 3);
        cr_expect_str_eq(c.field[CCS_FOCAL_ENTITIES].atoms[1], "city(CONCORD)");
        cr_expect_str_eq(c.field[CCS_FOCAL_ENTITIES].atoms[2], "time(3 pm)");
}

// C-15: the bound in bytes, and in tokens
Test(ccs, bound) {
        _cleanup_ccs_ Ccs c = CCS_NULL;
        size_t bytes, tokens;

        parse("bound", example, &c);
        ccs_measure(&c, &bytes, &tokens);
        cr_expect_eq(ccs_validate(&c, &(CcsBound){bytes, tokens}, NULL), 0);
        cr_expect_eq(ccs_validate(&c, &(CcsBound){bytes - 1, tokens}, NULL), CCS_E_OVER_BUDGET);
        cr_expect_eq(ccs_validate(&c, &(CcsBound){bytes, tokens - 1}, NULL), CCS_E_OVER_BUDGET);
        cr_expect_eq(ccs_tokens("a_b 12,x\n(é)", 13), 7); // C-54
}

// C-16: the hash is that of the text in schema/ccs.md, whose numbers are those of the code
Test(ccs, schema) {
        _cleanup_free_ char *text = NULL;
        char hash[HASH_HEX_MAX];
        size_t n;
        int dir = open(getenv("LETHE_SCHEMA_DIR"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        cr_assert_eq(io_read_file(dir, "ccs.md", 1 << 20, &text, &n), 0);
        close(dir);
        cr_expect(strstr(text, ccs_schema_text()), "schema/ccs.md has another schema");
        cr_expect_str_eq(hash_hex(ccs_schema_text(), strlen(ccs_schema_text()), hash), ccs_schema_hash());
        cr_expect(strstr(text, ccs_schema_hash()), "schema/ccs.md has another hash");
        for (CcsField f = 0; f < CCS_FIELDS; f++) {
                char line[80];
                size_t min, max;

                ccs_field_bounds(f, &min, &max);
                snprintf(line, sizeof(line), "\n%s %zu..%zu: ", ccs_field_name(f), min, max);
                cr_expect(strstr(ccs_schema_text(), line), "%s", line);
        }
}

// C-17: the worked example of schema/ccs.md is canonical and within all rules
Test(ccs, worked_example) {
        _cleanup_free_ char *text = NULL;
        _cleanup_ccs_ Ccs c = CCS_NULL;
        char *from, *end;
        size_t n;
        int dir = open(getenv("LETHE_SCHEMA_DIR"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        cr_assert_eq(io_read_file(dir, "ccs.md", 1 << 20, &text, &n), 0);
        close(dir);
        from = strstr(text, "```\nepisodic_trace:");
        cr_assert(from && (end = strstr(from + 4, "```")));
        *end = '\0';
        parse("schema/ccs.md", from + 4, &c);
        printed("schema/ccs.md", &c, from + 4);
        cr_expect_eq(ccs_validate(&c, &CCS_BOUND, NULL), 0);
}

// C-17: parse(print(x)) = x, print(parse(s)) is canonical
Test(ccs, laws) {
        uint64_t seed = 15;

        for (int i = 0; i < 10000; i++) {
                _cleanup_ccs_ Ccs a = CCS_NULL, b = CCS_NULL, copy = CCS_NULL;
                _cleanup_buf_ Buf text = {};
                Diag d = {};

                random_state(&seed, &a);
                cr_assert_eq(ccs_validate(&a, NULL, &d), 0, "state %d: %s", i, d.text);
                cr_assert_eq(ccs_print(&a, &text), 0);
                cr_assert_eq(ccs_parse(text.data, text.n, &b, &d), 0, "state %d: %s", i, d.text);
                cr_assert(ccs_equal(&a, &b), "state %d", i);
                cr_assert_eq(ccs_copy(&b, &copy), 0);
                cr_assert(ccs_equal(&copy, &a), "state %d", i);
                if (i % 100 == 0)
                        printed("state", &b, text.data);
        }
}

// C-18: the difference, field by field
Test(ccs, difference) {
        _cleanup_free_ char *text = changed(" time(3 pm)\n place(Concord)\n", " place(Concord)\n time(3 pm)\n day(Friday)\n");
        _cleanup_ccs_ Ccs a = CCS_NULL, b = CCS_NULL;
        _cleanup_buf_ Buf out = {};
        CcsDiff d;

        parse("a", example, &a);
        parse("b", text, &b);
        ccs_remove(&b, CCS_RETRIEVED_ARTIFACTS, 0);
        ccs_diff(&a, &a, &d);
        cr_expect_eq(d.n, 0);
        ccs_diff(&a, &b, &d);
        cr_assert_eq(ccs_diff_print(&d, &out), 0);
        cr_expect_str_eq(out.data, "focal_entities:\n > time(3 pm)\n + day(Friday)\nretrieved_artifacts:\n - runbook(ev12@1)\n", "%s", out.data);
}
