/* Runs: supervisor. */
#include "region/region-state.h"

#define TO(s) (1u << REGION_##s)

static const struct {
        const char *name;
        unsigned to;
} states[REGION_STATES] = {
        [REGION_DECLARED] = {"declared", TO(REFUSED) | TO(ALLOCATED)},
        [REGION_REFUSED] = {"refused", 0},
        [REGION_ALLOCATED] = {"allocated", TO(RUNNING) | TO(ENDED)},
        [REGION_RUNNING] = {"running", TO(ENDED)},
        [REGION_ENDED] = {"ended", TO(STOPPED) | TO(UNRECORDED)},
        [REGION_STOPPED] = {"stopped", TO(CLEARED) | TO(UNRECORDED)},
        [REGION_CLEARED] = {"cleared", TO(RELEASED)},
        [REGION_RELEASED] = {"released", TO(RECORDED) | TO(UNRECORDED)},
        [REGION_RECORDED] = {"recorded", 0},
        [REGION_UNRECORDED] = {"unrecorded", 0},
};

static const struct {
        const char *name;
        bool breach;
        int exit_code; /* -1: depends on the status */
} outcomes[OUTCOMES] = {
        [OUTCOME_NONE] = {"none", false, 125},
        [OUTCOME_EXITED] = {"exited", false, -1},
        [OUTCOME_SIGNALED] = {"signaled", false, -1},
        [OUTCOME_TIMED_OUT] = {"timed_out", true, 124},
        [OUTCOME_OUT_OF_REGION] = {"out_of_region", true, 137},
        [OUTCOME_CPU_EXCEEDED] = {"cpu_exceeded", true, 137},
        [OUTCOME_PIDS_EXCEEDED] = {"pids_exceeded", true, 137},
        [OUTCOME_OUTPUT_EXCEEDED] = {"output_exceeded", true, 137},
        [OUTCOME_SCRATCH_EXCEEDED] = {"scratch_exceeded", true, 137},
        [OUTCOME_FILE_SIZE_EXCEEDED] = {"file_size_exceeded", true, 137},
        [OUTCOME_DENIED] = {"denied", true, 137},
        [OUTCOME_CANCELLED] = {"cancelled", false, -1},
        [OUTCOME_GUARD_LOST] = {"guard_lost", false, 137},
        [OUTCOME_SETUP_FAILED] = {"setup_failed", false, -1},
};

const char *region_state_name(RegionState s) {
        assert((unsigned)s < REGION_STATES);
        return states[s].name;
}

bool region_state_can_move(RegionState from, RegionState to) {
        assert((unsigned)from < REGION_STATES && (unsigned)to < REGION_STATES);
        return states[from].to & 1u << to;
}

bool region_state_is_end(RegionState s) {
        assert((unsigned)s < REGION_STATES);
        return states[s].to == 0;
}

const char *outcome_name(Outcome o) {
        assert((unsigned)o < OUTCOMES);
        return outcomes[o].name;
}

bool outcome_is_breach(Outcome o) {
        assert((unsigned)o < OUTCOMES);
        return outcomes[o].breach;
}

bool outcome_is_kept(Outcome o, int status, CommitWhen when) {
        return !outcome_is_breach(o) && (when == COMMIT_ANY || (o == OUTCOME_EXITED && status == 0));
}

int outcome_exit_code(Outcome o, int status) {
        assert((unsigned)o < OUTCOMES);
        if (outcomes[o].exit_code >= 0)
                return outcomes[o].exit_code;
        if (o == OUTCOME_SIGNALED || o == OUTCOME_CANCELLED)
                return status > 0 ? 128 + status : 125;
        return status;
}
