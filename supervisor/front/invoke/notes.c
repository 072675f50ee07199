#include "invoke/notes.h"

#include "belief/promote.h"
#include "region/region-key.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

/* A signal ends the promotion, so that the receipt follows. */
static int notes_go_on(void *user, uint64_t note, const json_t *outcome) {
        struct pollfd p = {.fd = *(const int *)user, .events = POLLIN};

        (void)note;
        (void)outcome;
        return poll(&p, 1, 0) > 0 ? -ECANCELED : 0;
}

int notes_promote(Store *s, const char *region, uid_t uid, int signals, json_t *into, Diag *reterr) {
        const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        Promoted sum = {0};
        bool of_store = false;
        char who[32];
        const Promoting p = {.run = region,
                             .batch = PROMOTE_BATCH_MAX,
                             .policy = &policy,
                             .who = who,
                             .keys = &region_keys,
                             .told = notes_go_on,
                             .user = &signals};
        int r;

        snprintf(who, sizeof(who), "uid:%u", (unsigned)uid);
        *reterr = (Diag){0};
        r = belief_promote(s, &p, &sum, &of_store, reterr);
        if (r != 0 && !*reterr->text)
                diag(reterr, r, "%s", r == -ECANCELED ? "ended by a signal" : r < 0 ? store_strerror(r) : "refused");
        if (json_object_update_new(into, json_pack("{s:o, s:o, s:o, s:o, s:o}", "committed", json_u64(sum.committed),
                                                   "pending", json_u64(sum.pending), "rejected", json_u64(sum.rejected),
                                                   "invalid", json_u64(sum.invalid), "resolved",
                                                   json_u64(sum.resolved))) < 0 ||
            (r != 0 && json_object_set_new(into, "error", json_string(reterr->text)) < 0))
                return r ? r : -ENOMEM;
        return r;
}
