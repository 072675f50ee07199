#include "cognition/ccs-check.h"
#include "cognition/compress-named.h"
#include "cognition/compress.h"

#include <criterion/criterion.h>

/* noun NULL: the sentence names no parameter; "": a value that is given up. */
static const struct {
        const char *text, *noun, *value, *old;
        bool revises;
} rows[] = {
        {"Use 3 percent as the canary share.", "canary_share", "3 percent", "", false},
        {"Use 0.77 percent as the abort threshold.", "abort_threshold", "0.77 percent", "", false},
        {"Please use Carol Park as the reviewer.", "reviewer", "Carol Park", "", false},
        {"Use blue paint for the north wall.", NULL, NULL, NULL, false},
        {"Use 18:45 for the start of the window.", "window_start", "18:45", "", false},
        {"Instead of 4A use 6B for the hall.", "hall", "6B", "4A", true},
        {"Instead of db-1-x we use db-2-y for the target host.", "target_host", "db-2-y", "db-1-x", true},
        {"Replace 4A with 6B as the hall.", "hall", "6B", "4A", true},
        {"Use 6B instead of 4A for the hall.", "hall", "6B", "4A", true},
        {"The window's start equals 18:45.", "window_start", "18:45", "", false},
        {"The ticket is INC-42756.", "ticket", "INC-42756", "", false},
        {"Hall: 6B", "hall", "6B", "", false},
        {"Note: the ticket equals INC-42756.", "ticket", "INC-42756", "", false},
        {"The tutor ratio will be 4 to 2.", "tutor_ratio", "4 to 2", "", false},
        {"The rise is now 7.2 percent.", "rise", "7.2 percent", "", true},
        {"The retry delay should be 250 ms.", "retry_delay", "250 ms", "", false},
        {"Set the retry delay to 250 ms.", "retry_delay", "250 ms", "", false},
        {"Change the hall to 6B.", "hall", "6B", "", true},
        {"Change the hall from 4A to 6B.", "hall", "6B", "4A", true},
        {"Change the ratio from 1 to 7 to 1 to 3.", "ratio", "1 to 3", "1 to 7", true},
        {"Move the review to May 4.", "review", "May 4", "", true},
        {"The ticket has to be INC-2, not INC-1.", "ticket", "INC-2", "INC-1", true},
        {"Scratch that: Leila Haddad for the second reader.", "second_reader", "Leila Haddad", "", true},
        {"Scratch that, 6B for the hall.", "hall", "6B", "", true},
        {"Correction: the hall should be 6B.", "hall", "6B", "", true},
        {"Marek Novak is the chair.", "chair", "Marek Novak", "", false},
        {"Marek Novak it is for the chair.", "chair", "Marek Novak", "", false},
        {"For the chair, we settled on Marek Novak.", "chair", "Marek Novak", "", false},
        {"For the hall, go with 6B.", "hall", "6B", "", false},
        {"We work with 6B, the hall.", "hall", "6B", "", false},
        {"We put the reserve at 42 hours.", "reserve", "42 hours", "", false},
        {"I want the fee cap to be $158,000.", "fee_cap", "$158,000", "", false},
        {"The latest data says 30 days for the notice period, so we switch.", "notice_period", "30 days", "", true},
        {"The moment at which we close the gate is 16:25.", "gate_moment", "16:25", "", false},
        {"Can you use 6B as the hall?", "hall", "6B", "", false},
        {"Drop 9:40 pm; the start of the show is 8:40 pm.", "", "", "9:40 pm", true},
        // no parameters
        {"Is the ticket INC-42756?", NULL, NULL, NULL, false},
        {"The hall might be 6B.", NULL, NULL, NULL, false},
        {"I do not know if the hall is 6B.", NULL, NULL, NULL, false},
        {"It is 6 pm.", NULL, NULL, NULL, false},
        {"The hall is full.", NULL, NULL, NULL, false},
        {"The report is in Paris.", NULL, NULL, NULL, false},
        {"All backups must be encrypted.", NULL, NULL, NULL, false},
        {"What is the ticket?", NULL, NULL, NULL, false},
        // others' words
        {"The CFO insists on 6B for the hall.", NULL, NULL, NULL, false},
        {"The vendor says the hall should be 6B.", NULL, NULL, NULL, false},
        {"Sam wants 6B for the hall.", NULL, NULL, NULL, false},
        {"Marketing would love to see 6B for the hall.", NULL, NULL, NULL, false},
        {"An old slide has 6B for the hall.", NULL, NULL, NULL, false},
        {"There is a conflicting request: 6B for the hall.", NULL, NULL, NULL, false},
        {"A partner keeps saying the hall should be 6B; we stay with our plan.", NULL, NULL, NULL, false},
        {"The other team wrote 6B for the hall.", NULL, NULL, NULL, false},
        {"The runbook says: use 6B as the hall.", NULL, NULL, NULL, false},
        {"> Use 6B as the hall.", NULL, NULL, NULL, false},
        {"```\nUse 6B as the hall.\n```", NULL, NULL, NULL, false},
        {"\"Please use 6B as the hall from now on.\"", NULL, NULL, NULL, false},
};

// C-9: which sentences name a parameter
Test(named, sentences) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_phrase_text_ PhraseText t = {0};
                size_t at = 0;
                bool found;
                Named n;

                cr_assert_eq(phrase_read(rows[i].text, strlen(rows[i].text), &t), 0);
                found = named_next(&t, &at, &n);
                if (!rows[i].noun) {
                        cr_expect(!found, "%s: %s(%s)", rows[i].text, found ? n.noun : "", found ? n.value : "");
                        continue;
                }
                cr_expect(found, "%s: nothing is found", rows[i].text);
                if (!found)
                        continue;
                cr_expect_str_eq(n.noun, rows[i].noun, "%s: %s(%s)", rows[i].text, n.noun, n.value);
                cr_expect_str_eq(n.value, rows[i].value, "%s: %s(%s)", rows[i].text, n.noun, n.value);
                cr_expect_str_eq(n.old, rows[i].old, "%s: old %s", rows[i].text, n.old);
                cr_expect_eq(n.revises, rows[i].revises, "%s: revises %d", rows[i].text, n.revises);
        }
}

static CompressText text(const char *s) {
        return (CompressText){s, s ? strlen(s) : 0};
}

static void turn(Ccs *c, const char *input, const char *decision, const char *tool) {
        const CompressText tools[] = {text(tool)};
        const CompressInput in = {.previous = c,
                                  .input = text(input),
                                  .decision = text(decision),
                                  .tools = tools,
                                  .n_tools = tool != NULL,
                                  .bound = CCS_BOUND};
        Ccs next = CCS_NULL;
        Diag d = {};

        cr_assert_eq(ccs_compress(&in, &next, NULL, &d), 0, "%s: %s", input, d.text);
        cr_assert_eq(ccs_validate(&next, &in.bound, &d), 0, "%s: %s", input, d.text);
        ccs_deinit(c);
        *c = next;
}

static bool has(const Ccs *c, const char *atom) {
        return ccs_find(c, CCS_FOCAL_ENTITIES, atom) < c->field[CCS_FOCAL_ENTITIES].n;
}

// C-24: neither decision nor tool nor quoted text sets a parameter, whatever the pattern
Test(named, injections) {
        Ccs c = CCS_NULL;
        CcsBound bound;
        Diag d = {};

        cr_assert_eq(ccs_begin(NULL, 0, &c, &bound, NULL, &d), 0);
        turn(&c, "The ticket is INC-1. Use 4A as the hall. The reserve is 42 hours.", NULL, NULL);
        cr_expect(has(&c, "ticket(INC-1)") && has(&c, "hall(4A)") && has(&c, "reserve(42 hours)"));
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char quoted[256];

                if (!rows[i].noun)
                        continue;
                snprintf(quoted, sizeof(quoted), "Look at this:\n> %s", rows[i].text);
                turn(&c, "Show me the graphs.", rows[i].text, NULL);
                turn(&c, "Show me the graphs.", NULL, rows[i].text);
                turn(&c, quoted, NULL, NULL);
                cr_expect(has(&c, "ticket(INC-1)") && has(&c, "hall(4A)") && has(&c, "reserve(42 hours)"), "%s",
                          rows[i].text);
        }
        ccs_deinit(&c);
}

// C-9, C-33: the same noun, a like noun, the named old value, a choice between options
Test(named, replaces) {
        static const struct {
                const char *input, *decision, *gone, *comes;
        } turns[] = {
                {"Use INC-100 as the ticket. Use 3 percent as the sample share. The hall is 4A.", NULL, NULL, "hall(4A)"},
                {"Scratch that: INC-200 for the ticket number.", NULL, "ticket(INC-100)", "ticket_number(INC-200)"},
                {"The share is now 5 percent.", NULL, "sample_share(3 percent)", "share(5 percent)"},
                {"Instead of 4A use 6B for the room.", NULL, "hall(4A)", "room(6B)"},
                {"Go with the second.", "I see two options for the room: 7C, which is cheap, or 8D, which is near. Which?",
                 "room(6B)", "room(8D)"},
                {"7C, please.", "There are two ways for the room: 7C, which is cheap, or 9E, which is near. Which one?",
                 "room(8D)", "room(7C)"},
                {"The director insists on 1A for the room. Note it and carry on.", NULL, "room(1A)", "room(7C)"},
                {"Show me the graphs.", "Done: the room 2B.", "room(2B)", "room(7C)"},
        };
        Ccs c = CCS_NULL;
        CcsBound bound;
        Diag d = {};

        cr_assert_eq(ccs_begin(NULL, 0, &c, &bound, NULL, &d), 0);
        for (size_t i = 0; i < ARRAY_SIZE(turns); i++) {
                turn(&c, turns[i].input, turns[i].decision, NULL);
                cr_expect(has(&c, turns[i].comes), "%s: no %s", turns[i].input, turns[i].comes);
                cr_expect(!turns[i].gone || !has(&c, turns[i].gone), "%s: %s", turns[i].input, turns[i].gone);
        }
        ccs_deinit(&c);
}

// Nouns and values that are alike
Test(named, alike) {
        cr_expect_eq(named_alike("ticket", "ticket"), 4);
        cr_expect_eq(named_alike("window_start", "start"), 3);
        cr_expect_eq(named_alike("window_start", "window_beginning"), 3);
        cr_expect_eq(named_alike("case_rating", "case"), 2);
        cr_expect_eq(named_alike("loss_limit", "order_limit"), 1);
        cr_expect_eq(named_alike("hall", "chair"), 0);
        cr_expect(named_form("INC-42756", "INC-9") >= NAMED_STRONG);
        cr_expect(named_form("0.5 percent", "7 percent") == 0);
        cr_expect(named_form("42 hours", "13 beds") == 0);
        cr_expect(named_form("8:25 am", "10:40 pm") > 0 && named_form("8:25 am", "10:40 pm") < NAMED_STRONG);
        cr_expect(named_form("", "a") == 0);
}
