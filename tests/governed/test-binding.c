#include "tests/governed/pipeline.h"

static unsigned thousandths(const json_t *ref) {
        const json_t *p = json_object_get(ref, "probability");

        cr_assert(json_is_integer(p), "a whole number of thousandths");
        return (unsigned)json_integer_value(p);
}

// G-70: the facts of three issues with vague titles are in their details; a note with one detail, nearly word for word, is about its issue
Test(binding, reads_all_of_a_row) {
        const json_t *o;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "issue first_thing: something is off\ndetail: The nightly export to the warehouse drops the last partition.", NULL);
        pipe_say(&p, "issue second_thing: a strange effect\ndetail: Invoices in Swiss francs are rounded to whole francs.", NULL);
        pipe_say(&p, "issue third_thing: it misbehaves again\ndetail: The login page hangs when the password has an umlaut.", NULL);
        o = pipe_say(&p, "fixed: Invoices in Swiss francs were rounded to whole francs.", NULL);
        pipe_expect(o, "committed", "");
        cr_expect_str_eq(pipe_word(o, "id"), "second_thing");
        cr_expect_str_eq(pipe_word(json_object_get(o, "source_ref"), "resolution_reason"), "score");
        /* words of no row are nobody's */
        o = pipe_say(&p, "fixed: the coffee machine on the third floor", NULL);
        pipe_expect(o, "pending", "weak");
        pipe_holds(&p);
}

// G-71: one row is open, and it is about another number: alike as it is, the note is not about it
Test(binding, is_absolute) {
        _cleanup_json_ json_t *row = NULL;
        const json_t *o;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "issue link_25g: net/txgbe: link is not stable with 25G NIC", NULL);
        o = pipe_say(&p, "fixed: net/txgbe: link is not stable with 40G NIC", NULL);
        pipe_expect(o, "pending", "weak");
        row = pipe_row(&p, "issues", "link_25g");
        cr_expect_str_eq(pipe_word(row, "state"), "open");
        o = pipe_say(&p, "fixed: net/txgbe: link is not stable with 25G NIC", NULL);
        pipe_expect(o, "committed", "");
        pipe_holds(&p);
}

// G-71: the decision says its probability and the least one, as whole numbers, in the row's history; what is rebuilt has the same bytes (pipe_holds())
Test(binding, is_recorded) {
        _cleanup_json_ json_t *change = NULL;
        const json_t *o, *ref;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "issue queue_leak: the queue reader leaks memory after a restart", NULL);
        pipe_say(&p, "issue disk_full: the disk of server one is full", NULL);
        o = pipe_say(&p, "fixed: the queue reader leaked memory after each restart", NULL);
        pipe_expect(o, "committed", "");
        change = pipe_change(&p, "issues", "queue_leak");
        ref = json_object_get(change, "source_ref");
        cr_expect_eq(json_integer_value(json_object_get(ref, "least")), RESOLVE_LEAST);
        cr_expect(thousandths(ref) <= 1000);
        cr_expect_eq(thousandths(json_array_get(json_object_get(ref, "candidate_matches"), 0)), thousandths(ref));
        o = pipe_say(&p, "fixed: the backup of server nine is slow", NULL);
        cr_expect_lt(thousandths(json_object_get(o, "source_ref")), RESOLVE_LEAST);
        pipe_expect(o, "pending", "weak");
        pipe_holds(&p);
}
