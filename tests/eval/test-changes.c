#include "tests/eval/changes.h"
#include "tests/eval/replay.h"

#include <criterion/criterion.h>
#include <string.h>

static int read_text(const char *text, Changes *ret, Diag *d) {
        return changes_read(strdup(text), strlen(text), ret, d);
}

// G-55: the measurement's input: what is refused, and where.
Test(changes, a_history_is_read_strictly) {
        static const struct {
                const char *text;
                int r;
                size_t n, notes;
        } rows[] = {
                {"", 0, 0, 0},
                {"#id\ttime\n\n", 0, 0, 0},
                {"a\t1\tadd x\t\t\n", 0, 1, 0},
                {"a\t1\tadd x\t\t", 0, 1, 0},
                {"a\t1\tadd x\t\t\nb\t2\tfix x\ta\twhy\n", 0, 2, 1},
                {"a\t1\tadd x\t\t\nb\t2\tadd y\t\t\nc\t2\tfix x\ta,b\twhy\n", 0, 3, 1},
                {"a\t1\tadd x\t\t\nb\t2\tfix x\tz,a\twhy\nc\t3\tfix w\tz\twhy\n", 0, 3, 1}, /* a stretch of a history: what is before it is passed over */
                {"a\t1\tadd x\t\t\nb\t2\tfix x\ta,a\twhy\n", 0, 2, 1}, /* G-72: a reference named twice */
                {"#id\na\t1\tp1\tp1,p2\tadd x\t\twhy\tx.c\nb\t2\tp2\tp2\tfix x\ta\twhy\t\n", 0, 2, 1}, /* G-72: eight columns */
                {"a\t1\tp1\tp1,p2\tadd x\t\twhy\tx.c\nb\t2\tfix x\ta\twhy\n", CHANGES_E_BAD, 0, 0},
                {"a\t1\tadd x\t\t\nb\t2\tfix x\tb\twhy\n", CHANGES_E_BAD, 0, 0},
                {"a\t1\tadd x\t\t\nb\t2\tfix x\ta,,a\twhy\n", CHANGES_E_BAD, 0, 0},
                {"a\t1\tadd x\t\t\nb\t2\tfix x\ta b\twhy\n", CHANGES_E_BAD, 0, 0},
                {"a\t1\tadd x\t\t\nb\t2\tfix x\t-\twhy\n", CHANGES_E_BAD, 0, 0},
                {"b\t2\tfix x\ta\twhy\na\t1\tadd x\t\t\n", CHANGES_E_BAD, 0, 0},
                {"a\t1\tadd x\t\t\na\t1\tadd x\t\t\n", CHANGES_E_BAD, 0, 0},
                {"a\t1\tadd x\t\n", CHANGES_E_BAD, 0, 0},
                {"a\t1\tadd x\t\t\t\n", CHANGES_E_BAD, 0, 0},
                {"a\t1\t\t\t\n", CHANGES_E_BAD, 0, 0},
                {"A\t1\tadd x\t\t\n", CHANGES_E_BAD, 0, 0},
                {"\t1\tadd x\t\t\n", CHANGES_E_BAD, 0, 0},
                {"a\t1\tadd \xff\t\t\n", CHANGES_E_BAD, 0, 0},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Changes c = {0};
                Diag d = {0};
                int r = read_text(rows[i].text, &c, &d);

                cr_expect_eq(r, rows[i].r, "row %zu: %d %s", i, r, d.text);
                cr_expect(c.n == rows[i].n && c.n_notes == rows[i].notes, "row %zu: %zu %zu", i, c.n, c.n_notes);
                changes_deinit(&c);
        }
}

// G-55: masking leaves no hash and no subject in quotes, and nothing else out.
Test(changes, masking_takes_out_what_names_a_row) {
        static const char text[] = "1bb4a528\t1\tnet/x: add y\t\t\n"
                                   "2bb4a528\t2\tnet/x: fix y\t1bb4a528\tCommit 1bb4a528c41f (\"net/x:  ADD y\") and \"net/x: add\" and 1234567, 12345, xdeadbeef1, \"\n";
        Changes c;
        char *note;

        cr_assert_eq(read_text(text, &c, NULL), 0);
        cr_expect_str_eq(c.rows[1].slug, "c_2bb4a528");
        note = changes_note(&c, 1, NOTE_AS_IS);
        cr_assert_not_null(strstr(note, "1bb4a528c41f"));
        free(note);
        note = changes_note(&c, 1, NOTE_MASKED);
        cr_expect_str_eq(note, "fixed: net/x: fix y\nCommit              (               ) and \"net/x: add\" and        , 12345, xdeadbeef1, \"");
        free(note);
        note = changes_note(&c, 1, NOTE_PLAIN);
        cr_expect_not_null(strstr(note, "\nFixes: 1bb4a528 (\"net/x: add y\")"));
        free(note);
        changes_deinit(&c);
}

// G-19, G-55: a replay counts what is right, what is wrong and what waits; the same twice gives the same (G-21).
Test(changes, a_replay_counts) {
        static const char text[] = "a1b4a528\t1\tnet/x: add flow director\t\t\n"
                                   "a2b4a528\t2\tnet/x: support timestamps\t\t\n"
                                   "a3b4a528\t3\tnet/y: support timestamps\t\t\n"
                                   "a4b4a528\t4\tdoc: update the guide\t\t\n"
                                   "b1b4a528\t5\tnet/x: fix flow director\ta1b4a528\tThe table was too small.\n"
                                   "b2b4a528\t6\tnet/x: fix crash\ta2b4a528\tIt crashed.\n"
                                   "b3b4a528\t7\tnet/y: fix timestamps\ta4b4a528\tNobody could know.\n";
        const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        Changes c;
        Replay *r;
        ReplayCount first = {0};

        cr_assert_eq(read_text(text, &c, NULL), 0);
        cr_assert_eq(replay_new(&c, &r), 0);
        for (int i = 0; i < 2; i++) {
                ReplayNotes notes;
                ReplayCount n;

                cr_assert_eq(replay_notes(r, NOTE_MASKED, i == 0, &policy, &notes), 0);
                n = replay_count(&notes, 0, notes.n);
                cr_expect(n.notes == 3 && n.bound == 2 && n.wrong == 1, "%zu %zu %zu", n.notes, n.bound, n.wrong);
                if (i == 0)
                        first = n;
                cr_expect_eq(memcmp(&n, &first, sizeof(n)), 0);
                n = replay_count_at(&notes, policy.tau, policy.delta);
                cr_expect_eq(memcmp(&n, &first, sizeof(n)), 0);
                n = replay_count_at(&notes, 1.01, 0);
                cr_expect_eq(n.bound, 0);
                replay_notes_deinit(&notes);

                cr_assert_eq(replay_notes(r, NOTE_PLAIN, i == 0, &policy, &notes), 0);
                n = replay_count(&notes, 0, notes.n);
                cr_expect(n.bound == 3 && n.wrong == 0, "%zu %zu", n.bound, n.wrong);
                replay_notes_deinit(&notes);
        }
        replay_free(r);
        changes_deinit(&c);
}

// G-20: titles as notes that would create; a pair is gold of its later one.
Test(changes, titles_are_not_merged) {
        static const char text[] = "1\tx\tFixed\tUpdate Jetty to 9.4.39\n2\tx\t\tUpdate Jetty to 9.4.40\n3\tx\t\tUpdate Jetty to 9.4.39\n4\tx\t\tthe moon is too bright\n";
        const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        Changes c;
        Replay *r;
        ReplayTitles t;

        cr_assert_eq(changes_read_titles(strdup(text), strlen(text), "Issue id,Duplicate id\r\n3,1\r\n1,3\r\n7,1\n", &c, NULL), 0);
        cr_assert(c.n == 4 && c.n_notes == 1 && c.rows[2].n_gold == 2 && c.rows[2].gold[0] == 0);
        cr_assert_eq(replay_new(&c, &r), 0);
        cr_assert_eq(replay_titles(r, &policy, &t), 0);
        cr_expect(t.titles == 4 && t.created == 2 && t.waiting == 1 && t.merged == 1 && t.merged_wrong == 0 && t.unread == 0, "%zu %zu %zu %zu", t.created, t.waiting, t.merged,
                  t.merged_wrong);
        replay_free(r);
        changes_deinit(&c);
}
