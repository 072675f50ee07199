#include "cognition/atom.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

// C-5: what is an atom, and its canonical form
Test(atom, canonical) {
        static const struct {
                const char *name, *in, *out;
        } rows[] = {
                {"plain", "rent(car)", "rent(car)"},
                {"an infix atom", "timing(502_spikes after(http2_enable))", "timing(502_spikes after(http2_enable))"},
                {"blanks", "  rent( car\t, 3   pm )  ", "rent(car, 3 pm)"},
                {"no blank behind a comma", "a(b,c,d)", "a(b, c, d)"},
                {"a reference", "runbook(ev12@1)", "runbook(ev12@1)"},
                {"quotes that nothing needs", "say(\"hello\")", "say(hello)"},
                {"words in quotes", "must_not(operator, \"restart  primary \tdatabase\")", "must_not(operator, restart primary database)"},
                {"quotes that a comma needs", "say(\"hello, world\")", "say(\"hello, world\")"},
                {"quotes beside words", "say(he said\"yes; no\"twice)", "say(he said \"yes; no\" twice)"},
                {"escapes", "say(\"a \\\"b\\\" \\\\ c\")", "say(\"a \\\"b\\\" \\\\ c\")"},
                {"an escape without need", "say(\"a\\\\b\")", "say(a\\b)"},
                {"a backslash in a word", "path(C:\\dir)", "path(C:\\dir)"},
                {"signs of words", "a($500 18:00 3.5 don't #1 a/b 50% +1 -)", "a($500 18:00 3.5 don't #1 a/b 50% +1 -)"},
                {"UTF-8", "ort(Köln, 東京)", "ort(Köln, 東京)"},
                {"a blank of Unicode", "ort(New\u00a0York)", "ort(New York)"},
                {"a joiner of two letters", "say(\u0645\u06cc\u200c\u062e)", "say(\u0645\u06cc\u200c\u062e)"},
                {"three deep", "a(b(c(d)))", "a(b(c(d)))"},
                {"atoms side by side", "a(b(c) d(e))", "a(b(c) d(e))"},
                {"the longest name", "a2345678901234567890123456789012(b)", "a2345678901234567890123456789012(b)"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Diag d = {};
                Atom a, again;

                cr_assert_eq(atom_parse(rows[i].in, strlen(rows[i].in), &a, &d), 0, "%s: %s", rows[i].name, d.text);
                cr_expect_str_eq(a.text, rows[i].out, "%s: %s", rows[i].name, a.text);
                cr_assert_eq(atom_parse(a.text, a.n, &again, &d), 0, "%s: %s", rows[i].name, d.text);
                cr_expect_str_eq(again.text, a.text, "%s", rows[i].name);
                cr_expect_eq(again.n_parts, a.n_parts, "%s", rows[i].name);
        }
}

// C-5: what is none
Test(atom, refused) {
        static const struct {
                const char *name, *in;
                int e;
        } rows[] = {
                {"empty", "", ATOM_E_SYNTAX},
                {"a word", "rent", ATOM_E_SYNTAX},
                {"a capital", "Rent(car)", ATOM_E_SYNTAX},
                {"a digit first", "5a(b)", ATOM_E_SYNTAX},
                {"a hyphen in a name", "a-b(c)", ATOM_E_SYNTAX},
                {"a blank behind the name", "rent (car)", ATOM_E_SYNTAX},
                {"no argument", "rent()", ATOM_E_SYNTAX},
                {"an empty argument", "rent(car, )", ATOM_E_SYNTAX},
                {"an empty string", "rent(\"\")", ATOM_E_SYNTAX},
                {"not closed", "rent(car", ATOM_E_SYNTAX},
                {"not closed inside", "rent(car(b)", ATOM_E_SYNTAX},
                {"a string not closed", "rent(\"car)", ATOM_E_SYNTAX},
                {"closed twice", "rent(car))", ATOM_E_SYNTAX},
                {"two atoms", "rent(car) rent(bike)", ATOM_E_SYNTAX},
                {"a joiner that joins nothing", "say(budget \u200dlimit\u200d)", ATOM_E_SYNTAX},
                {"a joiner at the edge", "say(\"\u0627\u200c\")", ATOM_E_SYNTAX},
                {"a variation of no character", "say(a\ufe0f)", ATOM_E_SYNTAX},
                {"a line feed inside", "rent(car\n)", ATOM_E_SYNTAX},
                {"& in a word", "a(b&c)", ATOM_E_SYNTAX},
                {"; in a word", "a(b;c)", ATOM_E_SYNTAX},
                {"no name before (", "a(5x(c))", ATOM_E_SYNTAX},
                {"a control character", "a(b\x01)", ATOM_E_SYNTAX},
                {"a control character in a string", "a(\"b\x1b,\")", ATOM_E_SYNTAX},
                {"a mark", "a(b\u200b)", ATOM_E_SYNTAX},
                {"no UTF-8", "a(b\xff)", ATOM_E_SYNTAX},
                {"four deep", "a(b(c(d(e))))", ATOM_E_DEPTH},
                {"a long name", "a23456789012345678901234567890123(b)", ATOM_E_LONG},
                {"97 bytes", "a(345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345 7)", ATOM_E_LONG},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Diag d = {};
                Atom a;

                cr_expect_eq(atom_parse(rows[i].in, strlen(rows[i].in), &a, &d), rows[i].e, "%s: %s", rows[i].name, d.text);
                cr_expect(*d.text, "%s has no message", rows[i].name);
        }
}

// C-5: an atom of 96 bytes is one, whatever blanks its text has besides
Test(atom, limit) {
        char text[400] = "a(", *p = text + 2;
        Atom a;

        memset(p, 'x', 93);
        strcpy(p + 93, "      )");
        cr_assert_eq(atom_parse(text, strlen(text), &a, NULL), 0);
        cr_expect_eq(a.n, ATOM_MAX);
        strcpy(p + 93, "x)");
        cr_expect_eq(atom_parse(text, strlen(text), &a, NULL), ATOM_E_LONG);
}

// C-5
Test(atom, parts) {
        Atom a, b;
        const char *s;
        char part[ATOM_MAX + 1];
        size_t n;

        {
                const char *text = "must(user, \"a, \\\"b\\\"\", x after(y z) w)";

                cr_assert_eq(atom_parse(text, strlen(text), &a, NULL), 0);
        }
        cr_expect(atom_is(&a, "must") && !atom_is(&a, "mus") && !atom_is(&a, "must_not"));
        cr_expect_eq(atom_n_args(&a), 3);
        cr_expect(atom_arg_is(&a, 0, "user") && !atom_arg_is(&a, 1, "a") && !atom_arg_is(&a, 3, "w"));
        cr_assert(atom_arg(&a, 0, &s, &n));
        cr_expect(n == 4 && memcmp(s, "user", 4) == 0, "%.*s", (int)n, s);
        cr_assert(atom_arg(&a, 1, &s, &n));
        cr_expect(n == 10 && memcmp(s, "\"a, \\\"b\\\"\"", 10) == 0, "%.*s", (int)n, s);
        cr_assert(atom_arg(&a, 2, &s, &n));
        cr_expect(n == 14 && memcmp(s, "x after(y z) w", 14) == 0, "%.*s", (int)n, s);
        cr_expect_not(atom_arg(&a, 3, &s, &n));
        atom_part_text(&a, 2, part);
        cr_expect_str_eq(part, "a, \"b\"");
        cr_assert_eq(atom_wrap("possible", &a, &b), 0);
        cr_expect_str_eq(b.text, "possible(must(user, \"a, \\\"b\\\"\", x after(y z) w))");
        cr_expect_eq(atom_wrap("possible", &b, &a), ATOM_E_DEPTH);
}

// C-5: an atom of any text
Test(atom, made) {
        const char *args[] = {"operator", " restart\n(now), \"please\"\x01\xff ", "\t"};
        Atom a, again;

        cr_assert_eq(atom_make("must_not", args, 3, &a), 0);
        cr_expect_str_eq(a.text, "must_not(operator, \"restart (now), \\\"please\\\"\")");
        cr_assert_eq(atom_parse(a.text, a.n, &again, NULL), 0);
        cr_expect_str_eq(again.text, a.text);
        cr_expect_eq(atom_make("Bad", args, 1, &a), ATOM_E_SYNTAX);
        cr_expect_eq(atom_make("hidden", (const char *[]){"budget \u200dlimit\u200d"}, 1, &a), ATOM_E_SYNTAX);
        cr_expect_eq(atom_make("none", args + 2, 1, &a), ATOM_E_SYNTAX);
}

// C-31: words as they are compared
Test(atom, words) {
        static const struct {
                const char *in, *out;
        } rows[] = {
                {"502_spikes after(http2_enable)", "502 spik after http2 enabl"},
                {"Enabled ENABLING enables", "enabl enabl enabl"},
                {"plan planned planning plans", "plan plan plan plan"},
                {"\"3pm\" 3 pm", "3 pm 3 pm"},
                {"fifth 5th five 5", "5 5 5 5"},
                {"twenty-five twenty five \"1,200\"", "25 25 1200"},
                {"user's don\u2019t $500 \u00a3500", "user s don t 500 500"},
                {"18:00 10.0.0.1", "18 00 10 0 0 1"},
                {"K\u00f6ln", "k\u00f6ln"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char text[200], all[400] = "";
                AtomWord words[ATOM_MAX / 2];
                size_t n;
                Atom a;
                Diag d = {};

                snprintf(text, sizeof(text), "name(%s)", rows[i].in);
                cr_assert_eq(atom_parse(text, strlen(text), &a, &d), 0, "%s: %s", rows[i].in, d.text);
                n = atom_words(&a, words);
                for (size_t k = 0; k < n; k++) {
                        strcat(all, k > 0 ? " " : "");
                        strncat(all, words[k].p, words[k].n);
                }
                cr_expect_str_eq(all, rows[i].out, "%s: %s", rows[i].in, all);
        }
}
