#include "object/entry.h"

#define TO(s) (1u << OBJECT_##s)

/* O-16, O-18. */
static const struct {
        const char *name;
        unsigned to;
} object_states[OBJECT_STATE_COUNT_] = {
        [OBJECT_NONE] = {"none", TO(INSTANTIATED)},
        [OBJECT_INSTANTIATED] = {"instantiated", TO(EVALUATION)},
        [OBJECT_EVALUATION] = {"evaluation", TO(EXECUTION) | TO(MUTATION) | TO(DELEGATION) | TO(DORMANT) | TO(REENTRY) |
                                                     TO(TERMINATED)},
        [OBJECT_EXECUTION] = {"execution", TO(EVALUATION) | TO(DORMANT) | TO(TERMINATED)},
        [OBJECT_MUTATION] = {"mutation", TO(EVALUATION)},
        [OBJECT_DELEGATION] = {"delegation", TO(EVALUATION) | TO(DORMANT)},
        [OBJECT_DORMANT] = {"dormant", TO(REENTRY) | TO(TERMINATED)},
        [OBJECT_REENTRY] = {"reentry", TO(EVALUATION)},
        [OBJECT_TERMINATED] = {"terminated", 0},
};

static const struct {
        const char *name;
        ObjectState state; /* after the entry; OBJECT_NONE: a note */
} entry_kinds[ENTRY_KIND_COUNT_] = {
        [ENTRY_INSTANTIATED] = {"instantiated", OBJECT_INSTANTIATED},
        [ENTRY_EVALUATION] = {"evaluation", OBJECT_EVALUATION},
        [ENTRY_STARTED] = {"started", OBJECT_EXECUTION},
        [ENTRY_MUTATION] = {"mutation", OBJECT_MUTATION},
        [ENTRY_DELEGATION] = {"delegation", OBJECT_DELEGATION},
        [ENTRY_DORMANT] = {"dormant", OBJECT_DORMANT},
        [ENTRY_REENTRY] = {"reentry", OBJECT_REENTRY},
        [ENTRY_TERMINATED] = {"terminated", OBJECT_TERMINATED},
        [ENTRY_OUTCOME] = {"outcome", OBJECT_EVALUATION},
        [ENTRY_CHILD] = {"child", OBJECT_NONE},
        [ENTRY_INPUT] = {"input", OBJECT_NONE},
        [ENTRY_CHECKPOINT] = {"checkpoint", OBJECT_NONE},
        [ENTRY_ADOPTED] = {"adopted", OBJECT_NONE},
};

const char *object_state_name(ObjectState s) {
        assert((unsigned)s < OBJECT_STATE_COUNT_);
        return object_states[s].name;
}

ObjectState object_state_of(const char *name) {
        for (ObjectState s = OBJECT_INSTANTIATED; name && s < OBJECT_STATE_COUNT_; s++)
                if (strcmp(object_states[s].name, name) == 0)
                        return s;
        return OBJECT_NONE;
}

bool object_state_can_move(ObjectState from, ObjectState to) {
        assert((unsigned)from < OBJECT_STATE_COUNT_ && (unsigned)to < OBJECT_STATE_COUNT_);
        return object_states[from].to & 1u << to;
}

const char *entry_kind_name(EntryKind k) {
        assert((unsigned)k < ENTRY_KIND_COUNT_);
        return entry_kinds[k].name;
}

ObjectState entry_kind_state(EntryKind k) {
        assert((unsigned)k < ENTRY_KIND_COUNT_);
        return entry_kinds[k].state;
}
