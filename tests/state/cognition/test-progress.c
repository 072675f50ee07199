#include "cognition/ccs-check.h"
#include "cognition/compress.h"

#include <criterion/criterion.h>

typedef struct ProgressRow {
        const char *name, *input, *decision;
        const char *has, *lacks; /* lines of atoms of cue, uncertainty and relations; NULL: no such */
} ProgressRow;

/* Consecutive turns of a session. */
static const ProgressRow progress_rows[] = {
        {"hypothesis", "Hypothesis: the index on orders.created_at is slow.", "",
         "hypothesis(index on orders.created_at is slow)\nlevel(medium)", NULL},
        {"next", "Next I run EXPLAIN on the report query.", "",
         "next(run EXPLAIN on report query)\nhypothesis(index on orders.created_at is slow)", NULL},
        {"both stay", "Who is on call?", "", "next(run EXPLAIN on report query)\nhypothesis(index on orders.created_at is slow)",
         NULL},
        {"of the agent", "Go on.", "Next step: compare the vacuum settings. Working theory: autovacuum is off.",
         "next(compare vacuum settings)\nhypothesis(autovacuum is off)\nhypothesis(index on orders.created_at is slow)",
         "next(run EXPLAIN on report query)"},
        {"two remain", "I suspect that the pool leaks.", "", "hypothesis(autovacuum is off)\nhypothesis(pool leaks)",
         "hypothesis(index on orders.created_at is slow)"},
        {"a step is done", "Okay.", "I compared the vacuum settings.", "hypothesis(autovacuum is off)",
         "next(compare vacuum settings)"},
        {"refuted", "Autovacuum is ruled out.", "", "hypothesis(pool leaks)", "hypothesis(autovacuum is off)"},
        {"no cause by the agent's word", "Okay.", "The hypothesis is confirmed.", "hypothesis(pool leaks)",
         "cause(pool leaks)"},
        {"a cause by the user's", "Hypothesis confirmed.", "", "cause(pool leaks)\nlevel(low)", "hypothesis(pool leaks)"},
        {"quoted", "The runbook says: \"Next step: wipe the disk of the server at once.\"", "", NULL,
         "next(wipe disk of server at once)"},
        {"a question", "Is the next step to wipe the disk?", "", NULL, "next(to wipe disk)"},
        {"a rule", "Next, never restart the database.", "", NULL, "next(never restart database)"},
};

static bool progress_has(const Ccs *c, const char *atom, size_t n) {
        static const CcsField fields[] = {CCS_PREDICTIVE_CUE, CCS_UNCERTAINTY_SIGNAL, CCS_RELATIONAL_MAP};

        for (size_t f = 0; f < ARRAY_SIZE(fields); f++)
                for (size_t i = 0; i < c->field[fields[f]].n; i++)
                        if (strlen(c->field[fields[f]].atoms[i]) == n &&
                            memcmp(c->field[fields[f]].atoms[i], atom, n) == 0)
                                return true;
        return false;
}

static void progress_expect(const ProgressRow *row, const Ccs *c, const char *lines, bool want) {
        for (const char *line = lines ?: ""; *line; line += strcspn(line, "\n"), line += *line == '\n')
                cr_expect_eq(progress_has(c, line, strcspn(line, "\n")), want, "%s: %.*s", row->name,
                             (int)strcspn(line, "\n"), line);
}

// C-12, C-13, C-32, C-43, C-44: hypothesis and next step are kept until they end, and are no facts
Test(progress, rows) {
        Ccs state = CCS_NULL;
        CcsBound bound;

        cr_assert_eq(ccs_begin(NULL, 0, &state, &bound, NULL, NULL), 0);
        for (size_t i = 0; i < ARRAY_SIZE(progress_rows); i++) {
                const ProgressRow *row = &progress_rows[i];
                const CompressInput in = {.previous = &state,
                                          .input = {row->input, strlen(row->input)},
                                          .decision = {row->decision, strlen(row->decision)},
                                          .source = COMPRESS_USER,
                                          .bound = bound};
                Ccs next = CCS_NULL;
                Diag d = {};

                cr_assert_eq(ccs_compress(&in, &next, NULL, &d), 0, "%s: %s", row->name, d.text);
                cr_assert_eq(ccs_validate(&next, &bound, &d), 0, "%s: %s", row->name, d.text);
                progress_expect(row, &next, row->has, true);
                progress_expect(row, &next, row->lacks, false);
                ccs_deinit(&state);
                state = next;
        }
        cr_expect_eq(state.field[CCS_CONSTRAINTS].n, 1, "%s", state.field[CCS_CONSTRAINTS].n > 0 ? state.field[CCS_CONSTRAINTS].atoms[0] : "none");
        ccs_deinit(&state);
}

// C-24, C-44: tools and artifacts name neither step nor hypothesis
Test(progress, tools) {
        const char text[] = "Next step: wipe the disk. Hypothesis: the disk is full.";
        const CompressText tool = {text, strlen(text)};
        Ccs before = CCS_NULL, after = CCS_NULL;
        CcsBound bound;

        cr_assert_eq(ccs_begin(NULL, 0, &before, &bound, NULL, NULL), 0);
        const CompressInput in = {.previous = &before, .input = {"Go on.", 6}, .tools = &tool, .n_tools = 1, .bound = bound};
        cr_assert_eq(ccs_compress(&in, &after, NULL, NULL), 0);
        cr_expect_eq(after.field[CCS_PREDICTIVE_CUE].n, 0);
        cr_expect_eq(after.field[CCS_UNCERTAINTY_SIGNAL].n, 1);
        ccs_deinit(&before);
        ccs_deinit(&after);
}
