#include "belief/cues.h"
#include "belief/evidence.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ROWS_MAX 8

/* Rows of a bucket; how many of them have a term is counted by looking at each. */
typedef struct Bucket {
        Lexicon *lexicon;
        EvidenceRow rows[ROWS_MAX];
        size_t n;
} Bucket;

static bool has(const uint32_t *terms, size_t n, uint32_t term) {
        for (size_t i = 0; i < n; i++)
                if (terms[i] == term)
                        return true;
        return false;
}

static int count_rows(void *userdata, uint32_t number, const char *term, size_t n, uint64_t *ret) {
        const Bucket *b = userdata;

        (void)term;
        (void)n;
        *ret = 0;
        for (size_t i = 0; i < b->n; i++)
                *ret += has(b->rows[i].naming.words, b->rows[i].naming.n_words, number) || has(b->rows[i].naming.area, b->rows[i].naming.n_area, number);
        return 0;
}

static void bucket_init(Bucket *b, const char *const (*rows)[2]) {
        *b = (Bucket){0};
        cr_assert_eq(lexicon_new(count_rows, b, NULL, &b->lexicon), 0);
        for (; b->n < ROWS_MAX && rows[b->n][0]; b->n++)
                cr_assert_eq(evidence_row_init(b->lexicon, rows[b->n][0], rows[b->n][1], rows[b->n][1], NULL, NULL, &b->rows[b->n]), 0);
        lexicon_rows(b->lexicon, b->n);
}

static void bucket_deinit(Bucket *b) {
        for (size_t i = 0; i < b->n; i++)
                evidence_row_deinit(&b->rows[i]);
        lexicon_free(b->lexicon);
}

static ResolveOutcome decide(Bucket *b, const ResolveQuestion *asked, ResolveCandidate *c) {
        const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        ResolveEvidence e;

        cr_assert_eq(evidence_init(b->lexicon, asked, &e), 0);
        for (size_t i = 0; i < b->n; i++) {
                cr_assert_eq(evidence_weigh(b->lexicon, &e, &b->rows[i], &c[i]), 0);
                c[i].number = i;
        }
        evidence_deinit(&e);
        return resolve_decide(asked->op, asked->target, c, b->n, &policy);
}

static ResolveOutcome decide_note(Bucket *b, const char *note, ResolveCandidate *c) {
        BeliefRequest req;
        Diag d = {0};
        ResolveQuestion asked;
        ResolveOutcome o;

        cr_assert_eq(cues_interpret(note, strlen(note), CUE_AGENT, &req, &d), 0, "%s: %s", note, d.text);
        cr_assert(req.accept, "%s", note);
        asked = asked_by(&req, note, strlen(note));
        o = decide(b, &asked, c);
        belief_request_deinit(&req);
        return o;
}

// G-14, G-60: the worked example, and the same with a second one that is as plausible.
Test(evidence, the_earlier_blocker_is_the_one_that_is_open) {
        static const char *const open[][2] = {{"pandas_import_blocker", "pandas fails in the worker"}, {"pandas_version_blocker", "pandas is too old in the worker"}, {NULL, NULL}};
        static const char *const one[][2] = {{"pandas_import_blocker", "pandas fails in the worker"}, {"slow_tests", "the tests take an hour"}, {NULL, NULL}};
        static const char note[] = "The earlier blocker is fixed.";
        json_t *aliases = json_pack("[s,s]", "pandas error", "import blocker");
        ResolveQuestion asked = {.op = OP_RESOLVE, .reference = "earlier blocker", .aliases = aliases, .text = note, .n_text = strlen(note)};
        ResolveCandidate c[ROWS_MAX];
        ResolveOutcome o;
        Bucket b;

        bucket_init(&b, one);
        o = decide(&b, &asked, c);
        cr_expect_eq(o.verdict, RESOLVE_BIND, "%s: %.3f %.3f %.3f", resolve_reason_name(o.reason), c[0].overlap, c[0].alias, c[0].reference);
        cr_expect_str_eq(c[0].id, "pandas_import_blocker");
        bucket_deinit(&b);

        bucket_init(&b, open);
        o = decide(&b, &asked, c);
        cr_expect_eq(o.verdict, RESOLVE_WAIT, "%s: %.3f %.3f", resolve_reason_name(o.reason), o.best, o.second);
        bucket_deinit(&b);
        json_decref(aliases);
}

// G-14, G-15, G-19, G-20: notes as agents write them, against a few issues.
Test(evidence, notes_find_what_they_are_about) {
        static const char *const issues[][2] = {
                {"login_crash", "login crashes when the password is empty"},
                {"report_export", "export of reports to PDF loses the last page"},
                {"cache_size", "server: add a bound to the cache"},
                {"cache_key", "server: wrong key in the cache"},
                {"ci_arm", "client: support arm64 in CI"},
                {"c_1bb4a528", "net/af_xdp: enable busy polling"},
                {"c_1bb4a5290", "net/af_xdp: enable zero copy"},
                {NULL, NULL},
        };
        static const struct {
                const char *note;
                const char *bound; /* NULL: it waits */
        } rows[] = {
                {"resolve login_crash: empty passwords are refused", "login_crash"},
                {"fixed: the crash at login with an empty password", "login_crash"},
                {"We fixed the export of reports, the last page is in the PDF.", "report_export"},
                {"fixed: see login_crash\nan empty password is refused now", "login_crash"},
                {"fixed: login_crash and report_export", NULL},
                {"fixed: the cache", NULL},
                {"fixed: server: bound of the cache", "cache_size"},
                {"fixed: it", NULL},
                {"fixed: something else entirely", NULL},
                {"resolve no_such_issue: login crashes when the password is empty", NULL},
                {"fixed: polling\nFixes: 1bb4a528c41f (\"net/af_xdp: enable busy polling\")", "c_1bb4a528"},
                {"fixed: polling\nFixes: 1bb4a52 (\"net/af_xdp: enable busy polling\")", NULL},
                {"fixed: polling\nFixes: 1bb4a5290", "c_1bb4a5290"},
                {"fixed: polling\nThis reverts \"net/af_xdp: enable  zero COPY\".", "c_1bb4a5290"},
                {"fixed: client: arm64 in CI\nSimilar to commit 1bb4a528c41f (\"net/af_xdp: enable busy polling\").", NULL},
                {"fixed: client: arm64 in CI\nSimilar to commit 2bb4a528c41f (\"net/af_xdp: enable busy polling\").", "ci_arm"},
        };
        ResolveCandidate c[ROWS_MAX];
        Bucket b;

        bucket_init(&b, issues);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                ResolveOutcome o = decide_note(&b, rows[i].note, c);

                cr_expect_eq(o.verdict, rows[i].bound ? RESOLVE_BIND : RESOLVE_WAIT, "%s: %s %s %.3f %.3f", rows[i].note, resolve_reason_name(o.reason), c[0].id, o.best,
                             o.second);
                if (rows[i].bound && o.verdict == RESOLVE_BIND)
                        cr_expect_str_eq(c[0].id, rows[i].bound, "%s: %s", rows[i].note, c[0].id);
        }
        bucket_deinit(&b);
}

// G-20: what would create is new, waits beside something like it, and writes again only what is the same.
Test(evidence, alike_is_not_the_same) {
        static const char *const issues[][2] = {{"fix_build", "Fix the build"}, {"jetty_9", "Update Jetty to 9.4.39"}, {"obs", "Keep the rule for lists in the pom"}, {NULL, NULL}};
        static const struct {
                const char *note;
                ResolveVerdict verdict;
        } rows[] = {
                {"issue: Update Jetty to 9.4.39", RESOLVE_BIND},
                {"issue: update  Jetty to 9.4.39.", RESOLVE_BIND},
                {"issue: Update Jetty to 9.4.40", RESOLVE_WAIT},
                {"issue: Keep the rule for sets in the pom", RESOLVE_WAIT},
                {"issue: Fix the build on Debian 10 with another compiler and no network", RESOLVE_NEW},
                {"issue: the moon is too bright", RESOLVE_NEW},
                {"issue new_one: Update Jetty to 9.4.39", RESOLVE_NEW},
                {"issue jetty_9: Another title", RESOLVE_BIND},
        };
        ResolveCandidate c[ROWS_MAX];
        Bucket b;

        bucket_init(&b, issues);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                ResolveOutcome o = decide_note(&b, rows[i].note, c);

                cr_expect_eq(o.verdict, rows[i].verdict, "%s: %s %s %.3f %.3f", rows[i].note, resolve_reason_name(o.reason), c[0].id, o.best, o.second);
        }
        bucket_deinit(&b);
}

// G-41, G-42: what a row was called by a note that was bound finds it again.
Test(evidence, a_row_is_found_by_what_it_was_called) {
        static const char *const issues[][2] = {{"login_crash", "sign-in dies when the secret is empty"}, {"report_export", "export loses the last page"}, {NULL, NULL}};
        static const char note[] = "fixed: crash of the auth form without a passphrase";
        json_t *phrases = json_pack("[s]", "the crash of the auth form");
        ResolveCandidate c[ROWS_MAX];
        Bucket b;

        bucket_init(&b, issues);
        cr_expect_eq(decide_note(&b, note, c).verdict, RESOLVE_WAIT);
        cr_assert_eq(evidence_row_known_as(b.lexicon, &b.rows[0], NULL, phrases), 0);
        decide_note(&b, note, c);
        cr_expect_str_eq(c[0].id, "login_crash");
        cr_expect_gt(c[0].reference, 0.5);
        cr_assert_eq(evidence_row_known_as(b.lexicon, &b.rows[0], NULL, NULL), 0);
        decide_note(&b, note, c);
        cr_expect_lt(c[0].reference, 0.5);
        bucket_deinit(&b);
        json_decref(phrases);
}

// G-14: which mentions are meant.
Test(evidence, a_note_mentions_more_than_it_is_about) {
        static const struct {
                const char *text;
                size_t mentions;
                bool meant; /* the last one */
        } rows[] = {
                {"Fixes: 1bb4a528c41f (\"net: x\")", 1, true},
                {"fixes 1bb4a528c41f", 1, true},
                {"this reverts commit 1bb4a528c41f", 1, true},
                {"Commit 1bb4a528c41f (\"net: x\") broke it", 1, true},
                {"Fixes: 12345678", 1, true},
                {"fixes commit 12345678", 1, true},
                {"reverted \"net: x\"", 1, true},
                {"fixes the this commit 1bb4a528c41f", 1, true},
                {"fixes the the the the commit 1bb4a528c41f", 1, false},
                {"as in commit 1bb4a528c41f", 1, false},
                {"fixed in commit 1bb4a528c41f", 1, false},
                {"does not fix commit 1bb4a528c41f", 1, false},
                {"This doesn't revert 1bb4a528c41f", 1, false},
                {"release it when not\nFixes: 1bb4a528c41f", 1, true}, // G-67: the denial is of another line
                {"when it is not: fixes 1bb4a528c41f", 1, true},
                {"it is not (fixes 1bb4a528c41f)", 1, false},
                {"it is fixed. Commit 1bb4a528c41f added it", 1, false},
                {"Similar to commit 1bb4a528c41f (\"net: x\")", 1, false},
                {"Fixes: 1bb4a528c41f and 2bb4a528c41f", 2, false},
                {"issue 12345678", 0, false},
                {"the facade of defaced words", 0, false},
                {"1bb4a5", 0, false},
                {"1bb4a528c41f1bb4a528c41f1bb4a528c41f1bb4a528c41f", 0, false},
                {"x1bb4a528c41f 1bb4a528c41fg 1bb4a528_c41f", 0, false},
                {"said \"net: x\"", 0, false},
                {"fix \"", 0, false},
                {"fix \"\"", 0, false},
                {"", 0, false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Mention m[MENTIONS_MAX];
                size_t n = mentions_find(rows[i].text, strlen(rows[i].text), m);

                cr_expect_eq(n, rows[i].mentions, "%s: %zu", rows[i].text, n);
                if (n > 0 && n == rows[i].mentions)
                        cr_expect_eq(m[n - 1].meant, rows[i].meant, "%s", rows[i].text);
        }
}

// G-68: words that only compare or refer, right before a name
Test(evidence, a_name_may_be_an_aside) {
        static const struct {
                const char *before;
                bool aside;
        } rows[] = {
                {"similar to ", true}, {"This is similar to the issue ", true}, {"see ", false}, {"fixed: see ", false}, {"It is fixed, see ", true}, {"See also: ", true}, {"unlike ", true},
                {"not the same as ", true}, {"compared with the earlier problem ", true}, {"related to bug ", true}, {"cf. ", false}, {"worse than ", true},
                {"fixed ", false}, {"resolved: ", false}, {"due to ", false}, {"work with ", false}, {"also ", false}, {"", false}, {"\n", false},
                {"see it. Fixed ", false}, {"I see that the ", true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_expect_eq(mention_is_aside(rows[i].before, strlen(rows[i].before)), rows[i].aside, "%s", rows[i].before);
}
