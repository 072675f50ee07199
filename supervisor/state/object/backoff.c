/* Semantic backoff (O-51): integers only, so that all nodes compute the same delay from the same history. */
#include "object/select.h"

#define BACKOFF_SHIFT 32

/* 2^(k/10) as a fixed-point number with 32 binary digits after the point. */
static const uint64_t backoff_tenths[] = {
        4294967296, 4603231970, 4933621868, 5287724992, 5667243324,
        6074001000, 6509953083, 6977194957, 7477972398, 8014692369,
};

static const unsigned backoff_weights[OUTCOME_KIND_COUNT_] = {
        [OUTCOME_KIND_SUCCESS] = 0,
        [OUTCOME_KIND_FAILURE] = 7,
        [OUTCOME_KIND_TIMEOUT] = 10,
        [OUTCOME_KIND_PARTIAL] = 3,
        [OUTCOME_KIND_NON_RESPONSE] = 10,
        [OUTCOME_KIND_NEGATIVE] = 0, /* no timed retry here; another node need not wait (O-49) */
        [OUTCOME_KIND_DENIED] = 10,
        [OUTCOME_KIND_INTERRUPTED] = 3, /* the node failed, not the step */
        [OUTCOME_KIND_FAULT] = 7,
};

unsigned backoff_weight10(OutcomeKind k) {
        return (unsigned)k < OUTCOME_KIND_COUNT_ ? backoff_weights[k] : 0;
}

static uint64_t backoff_saturate(unsigned __int128 v) {
        return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static uint64_t backoff_shift_left(uint64_t v, uint64_t by) {
        return v == 0 ? 0 : by >= 64 || v > UINT64_MAX >> by ? UINT64_MAX : v << by;
}

uint64_t backoff_delay_usec(const json_t *pace, uint64_t weight10, uint64_t latency_usec) {
        uint64_t min = json_number(pace, "min_usec"), max = json_number(pace, "max_usec");
        uint64_t target = json_number(pace, "target_usec"), v = json_number(pace, "base_usec");

        v = backoff_saturate((unsigned __int128)v * backoff_tenths[weight10 % 10] >> BACKOFF_SHIFT);
        v = backoff_shift_left(v, weight10 / 10);
        if (target > 0) {
                uint64_t sum = backoff_saturate((unsigned __int128)target + latency_usec);

                v = backoff_saturate((unsigned __int128)v * sum / target);
        }
        return MIN(MAX(v, min), max);
}
