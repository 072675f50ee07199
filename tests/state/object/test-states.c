#include "object/entry.h"
#include "object/memory.h"
#include "object/select.h"

#include <criterion/criterion.h>

/* Row: from; column: to, in the order of the states of O-16. */
static const char *const states_names[] = {"instantiated", "evaluation", "execution", "mutation",
                                           "delegation", "dormant", "reentry", "terminated"};
static const char *const states_table[] = {
        /*                I E X M D o r T */
        "instantiated  :  . x . . . . . .",
        "evaluation    :  . . x x x x x x",
        "execution     :  . x . . . x . x",
        "mutation      :  . x . . . . . .",
        "delegation    :  . x . . . x . .",
        "dormant       :  . . . . . . x x",
        "reentry       :  . x . . . . . .",
        "terminated    :  . . . . . . . .",
};

// O-16, O-18, O-20: the whole table of eight by eight
Test(states, transitions) {
        cr_assert_eq(ARRAY_SIZE(states_table), OBJECT_STATE_COUNT_ - 1);
        for (size_t from = 0; from < ARRAY_SIZE(states_table); from++) {
                const char *cells = strchr(states_table[from], ':') + 3;

                cr_assert_eq(strncmp(states_table[from], states_names[from], strlen(states_names[from])), 0);
                for (size_t to = 0; to < ARRAY_SIZE(states_table); to++)
                        cr_expect_eq(object_state_can_move(from + 1, to + 1), cells[2 * to] == 'x', "%s > %s",
                                     states_names[from], states_names[to]);
        }
}

// O-16, O-37: an object begins as instantiated, and in no other way
Test(states, begin) {
        for (ObjectState s = OBJECT_NONE; s < OBJECT_STATE_COUNT_; s++) {
                cr_expect_eq(object_state_can_move(OBJECT_NONE, s), s == OBJECT_INSTANTIATED, "none > %s",
                             object_state_name(s));
                cr_expect_not(object_state_can_move(s, OBJECT_NONE), "%s > none", object_state_name(s));
                cr_expect_eq(object_state_can_move(s, OBJECT_INSTANTIATED), s == OBJECT_NONE, "%s > instantiated",
                             object_state_name(s));
        }
}

// O-16: names and states are the same thing
Test(states, names) {
        for (size_t i = 0; i < ARRAY_SIZE(states_names); i++) {
                cr_expect_str_eq(object_state_name(i + 1), states_names[i]);
                cr_expect_eq(object_state_of(states_names[i]), i + 1, "%s", states_names[i]);
        }
        cr_expect_eq(object_state_of("none"), OBJECT_NONE);
        cr_expect_eq(object_state_of("Dormant"), OBJECT_NONE);
        cr_expect_eq(object_state_of(""), OBJECT_NONE);
        cr_expect_eq(object_state_of(NULL), OBJECT_NONE);
}

static const struct {
        const char *name;
        EntryKind kind;
        ObjectState state;
} kind_rows[] = {
        {"instantiated", ENTRY_INSTANTIATED, OBJECT_INSTANTIATED},
        {"evaluation", ENTRY_EVALUATION, OBJECT_EVALUATION},
        {"started", ENTRY_STARTED, OBJECT_EXECUTION},
        {"mutation", ENTRY_MUTATION, OBJECT_MUTATION},
        {"delegation", ENTRY_DELEGATION, OBJECT_DELEGATION},
        {"dormant", ENTRY_DORMANT, OBJECT_DORMANT},
        {"reentry", ENTRY_REENTRY, OBJECT_REENTRY},
        {"terminated", ENTRY_TERMINATED, OBJECT_TERMINATED},
        {"outcome", ENTRY_OUTCOME, OBJECT_EVALUATION},
        {"child", ENTRY_CHILD, OBJECT_NONE},
        {"input", ENTRY_INPUT, OBJECT_NONE},
        {"checkpoint", ENTRY_CHECKPOINT, OBJECT_NONE},
        {"adopted", ENTRY_ADOPTED, OBJECT_NONE},
};

// O-19, O-44: each state is entered by an entry; inputs, children, checkpoints and other branches enter none
Test(states, kinds) {
        unsigned entered = 0;

        cr_assert_eq(ARRAY_SIZE(kind_rows), ENTRY_KIND_COUNT_);
        for (size_t i = 0; i < ARRAY_SIZE(kind_rows); i++) {
                cr_expect_str_eq(entry_kind_name(kind_rows[i].kind), kind_rows[i].name);
                cr_expect_eq(entry_kind_state(kind_rows[i].kind), kind_rows[i].state, "%s", kind_rows[i].name);
                entered |= 1u << kind_rows[i].state;
        }
        for (ObjectState s = OBJECT_INSTANTIATED; s < OBJECT_STATE_COUNT_; s++)
                cr_expect(entered & 1u << s, "no entry goes to %s", object_state_name(s));
}
