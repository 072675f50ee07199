/* C-15, C-33, C-38, C-39: many turns of one session with natural, hostile, random and very long input. The state stays within its bound and its form; an input
 * beyond the bound is refused and changes nothing; no input damages a session.
 *
 * LETHE_CCS_TURNS: the number of turns (1,000). LETHE_CCS_SEED: of the random numbers (15). */
#include "base/clock.h"
#include "base/id.h"
#include "cognition/ccs-text.h"
#include "cognition/cognition.h"
#include "random-state.h"
#include "tests/support/store-fixture.h"

#include <criterion/criterion.h>
#include <inttypes.h>

/* Texts of all kinds. */
typedef struct Corpus {
        json_t *table;
        json_t *natural; /* array of utterances */
} Corpus;

static void corpus_read(Corpus *c) {
        FILE *f = fopen(getenv("LETHE_SGD"), "re");
        json_error_t e;
        json_t *one;

        c->table = json_load_file(getenv("LETHE_INJECTIONS"), 0, &e);
        c->natural = json_array();
        cr_assert(f && c->table && c->natural);
        while ((one = json_loadf(f, JSON_DISABLE_EOF_CHECK, &e))) {
                const json_t *turns = json_object_get(one, "turns");

                for (size_t i = 0; i < json_array_size(turns); i++)
                        json_array_append(c->natural, json_object_get(json_array_get(turns, i), "text"));
                json_decref(one);
        }
        fclose(f);
        cr_assert_gt(json_array_size(c->natural), 500U);
}

static const char *corpus_pick(const json_t *list, uint64_t *seed) {
        return json_string_value(json_array_get(list, random_below(seed, (unsigned)json_array_size(list))));
}

/* Any characters but U+0000: signs of the grammar, joiners and marks, letters of many scripts. */
static void corpus_noise(uint64_t *seed, size_t n, Buf *out) {
        static const char *const parts[] = {" ", "\n", "(", ")", ",", "\"", "&", ";", "```", ">", ":", "@", "$", "%", "\\", "'", "\x01", "\x7f", "\xc2\xad",
                                            "\xe2\x80\x8b", "\xe2\x80\x8d", "\xe2\x80\xae", "\xef\xb8\x8f", "\xf3\xa0\x81\x81", "\xe6\x9d\xb1", "\xd8\xa7", "\xf0\x9f\x98\x80",
                                            "\xcc\x81", "\xc2\xa0", "never ", "must ", "the limit is $", "now ", "goal ", "i want to rent a ", "yes", "3 pm", "0", "9", "a", "Z",
                                            "\xe2\x80\x9c", "<b>", "</b>", "-----", "\t", "\r\n", ".", "?", "!", "constraints:\n must(user, x)\n"};

        for (size_t i = 0; i < n; i++)
                cr_assert_eq(buf_add_str(out, parts[random_below(seed, ARRAY_SIZE(parts))]), 0);
}

static json_t *corpus_text(const Corpus *c, uint64_t *seed, bool user) {
        _cleanup_buf_ Buf b = {};
        unsigned kind = random_below(seed, 100), n;

        if (kind < 50) {
                cr_assert_eq(buf_add_str(&b, corpus_pick(c->natural, seed)), 0);
        } else if (kind < 70) {
                cr_assert_eq(buf_add_str(&b, corpus_pick(json_object_get(c->table, "hostile"), seed)), 0);
        } else if (kind < 80 && user) {
                const json_t *own = json_object_get(c->table, "own");

                cr_assert_eq(buf_add_str(&b, json_str(json_array_get(own, random_below(seed, (unsigned)json_array_size(own))), "say")), 0);
        } else if (kind < 95) {
                corpus_noise(seed, random_below(seed, 60), &b);
        } else if (kind < 99) { /* many sentences in a row */
                n = 5 + random_below(seed, 40);
                for (unsigned i = 0; i < n; i++)
                        cr_assert(buf_add_str(&b, corpus_pick(random_below(seed, 2) ? c->natural : json_object_get(c->table, "hostile"), seed)) == 0 &&
                                  buf_add_str(&b, random_below(seed, 3) ? ". " : "\n") == 0);
        } else { /* up to the limit */
                corpus_noise(seed, 1000, &b);
                while (b.n > 0 && b.n < COGNITION_TEXT_MAX / 2 && random_below(seed, 12) > 0)
                        cr_assert_eq(buf_add_str(&b, strndupa(b.data, b.n)), 0);
        }
        return json_stringn(b.n > 0 ? b.data : "x", b.n > 0 ? b.n : 1);
}

static json_t *corpus_tools(const Corpus *c, uint64_t *seed) {
        json_t *list = json_array();

        for (unsigned n = random_below(seed, 3); n > 0; n--)
                json_array_append_new(list, corpus_text(c, seed, false));
        return list;
}

/* Nine sections in their order, and every rule of a state. */
static void check_state(const char *text, const CcsBound *bound, uint64_t seed, unsigned turn) {
        _cleanup_ccs_ Ccs state = CCS_NULL;
        size_t sections = 0;
        Diag d = {};

        cr_assert_eq(ccs_parse(text, strlen(text), &state, &d), 0, "seed %" PRIu64 ", turn %u: %s", seed, turn, d.text);
        cr_assert_eq(ccs_validate(&state, bound, &d), 0, "seed %" PRIu64 ", turn %u: %s\n%s", seed, turn, d.text, text);
        for (const char *line = text; *line; line = strchr(line, '\n') + 1)
                if (*line != ' ') {
                        const char *name = ccs_field_name((CcsField)sections++);

                        cr_assert(strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':', "seed %" PRIu64 ", turn %u: %s", seed, turn, text);
                }
        cr_assert_eq(sections, CCS_FIELDS);
        cr_assert(strstr(text, "must_not(operator, restart primary database)"), "seed %" PRIu64 ", turn %u: %s", seed, turn, text);
}

static void endure(const CcsBound *bound, unsigned turns, uint64_t seed, bool *ret_over) {
        static const char role[] = "Never restart the primary database.\n";
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *made = NULL;
        _cleanup_free_ char *last = NULL;
        unsigned refused = 0, turn = 0;
        uint64_t first = seed;
        const char *session;
        Corpus c;
        Txn *t;

        corpus_read(&c);
        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(cognition_begin(t, &(CognitionBegin){.who = "uid:0", .role = role, .n_role = strlen(role), .bound = bound,
                                                          .now_usec = clock_real_usec()}, &made, &f.d), 0, "%s", f.d.text);
        session = json_str(made, "session");
        last = strdup(json_str(made, "ccs"));
        for (unsigned i = 1; turn < turns; i++) {
                _cleanup_json_ json_t *in = json_pack("{s:o, s:o}", "input", corpus_text(&c, &seed, true), "tools", corpus_tools(&c, &seed)), *o = NULL;
                int r = cognition_turn(t, "uid:0", session, in, &o, &f.d);

                cr_assert(r == 0 || r == ENGINE_E_OVER_BUDGET, "seed %" PRIu64 ", turn %u: %d %s", first, i, r, f.d.text);
                if (r == 0) {
                        free(last);
                        last = strdup(json_str(o, "ccs"));
                        check_state(last, bound, first, i);
                        cr_assert_eq(json_number(o, "turn"), ++turn);
                } else { /* shown, never trimmed */
                        _cleanup_json_ json_t *is = NULL;

                        refused++;
                        cr_assert(strstr(f.d.text, "bytes") || strstr(f.d.text, "tokens"), "%s", f.d.text);
                        cr_assert_eq(cognition_show(t, session, COGNITION_NEWEST, &is, &f.d), 0);
                        cr_assert_str_eq(json_str(is, "ccs"), last);
                        if (refused > turns / 4 + 10)
                                break; /* a session whose rules are full */
                }
                if (r == 0 && random_below(&seed, 4) > 0) {
                        _cleanup_json_ json_t *said = json_pack("{s:o, s:o}", "decision", corpus_text(&c, &seed, false), "tools", corpus_tools(&c, &seed)), *done = NULL;

                        r = cognition_decide(t, "uid:0", session, said, &done, &f.d);
                        cr_assert_eq(r, 0, "seed %" PRIu64 ", decision of turn %u: %d %s", first, i, r, f.d.text);
                }
                if (i % 50 == 0) {
                        store_fixture_commit(&f, t);
                        t = store_fixture_begin(&f, true);
                }
        }
        store_fixture_commit(&f, t);
        fprintf(stderr, "# seed %" PRIu64 ", bound %zu bytes: %u turns, %u refused as over_budget\n", first, bound->bytes, turn, refused);
        *ret_over |= refused > 0;
        json_decref(c.table);
        json_decref(c.natural);
}

static uint64_t number(const char *name, uint64_t other) {
        const char *s = getenv(name);

        return s ? strtoull(s, NULL, 10) : other;
}

// C-15, C-33, C-38, C-39
Test(endurance, of_one_session, .timeout = 3000) {
        bool over = false;

        endure(&CCS_BOUND, (unsigned)number("LETHE_CCS_TURNS", 1000), number("LETHE_CCS_SEED", 15), &over);
}

// C-33
Test(endurance, of_small_bounds, .timeout = 600) {
        bool over = false;

        for (uint64_t seed = 1; seed <= 4; seed++)
                endure(&(CcsBound){.bytes = 350 + 150 * seed, .tokens = 60 + 40 * seed}, 60, number("LETHE_CCS_SEED", 15) + seed, &over);
        cr_expect(over, "no turn was refused");
}
