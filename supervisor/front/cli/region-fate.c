#include "cli/region-fate.h"

#include "audit/history.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "engine/engine.h"
#include "recover/recover.h"
#include "region/region-state.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define LOOK_LEAST_USEC 5000
#define LOOK_MOST_USEC 100000

/* As region_exit_code(), from the record. */
static int region_fate_code(const RegionFacts *f) {
        for (int o = 0; o < OUTCOMES; o++) {
                if (strcmp(outcome_name((Outcome)o), f->outcome) != 0)
                        continue;
                if (o == OUTCOME_CANCELLED && f->signal == 0)
                        return 128 + SIGKILL;
                return o == OUTCOME_SETUP_FAILED ? EXIT_LETHE
                                                 : outcome_exit_code((Outcome)o, o == OUTCOME_EXITED ? f->exit_code : f->signal);
        }
        return EXIT_LETHE;
}

int region_fate_look(const char *verb, Store *s, const char *region, RegionFate *ret) {
        const HistoryQuery q = {.region = region};
        _cleanup_history_ History h = {0};
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = store_begin(s, false, &t, &d) ?: history_read(t, &q, &h, &d);

        *ret = (RegionFate){.code = EXIT_LETHE};
        if (r != 0)
                return with_store_failed(verb, s, r, &d);
        if (h.refused) {
                strcpy(ret->outcome, "refused");
                return EXIT_OK;
        }
        if (h.n == 0)
                return cli_refuse(verb, EXIT_NOT, "no_record", "the store has no record of region %s", region);
        ret->alive = h.regions[0]->ended == 0;
        ret->orphan = h.regions[0]->orphan;
        snprintf(ret->outcome, sizeof(ret->outcome), "%s", h.regions[0]->outcome);
        if (!ret->alive)
                ret->code = region_fate_code(h.regions[0]);
        return EXIT_OK;
}

int region_fate_wait(const char *verb, const StoreOptions *o, Store **s, const char *region, uint64_t until_usec,
                    RegionFate *ret) {
        useconds_t pause = LOOK_LEAST_USEC;

        for (;;) {
                int r = region_fate_look(verb, *s, region, ret);

                if (r != EXIT_OK || !ret->alive)
                        return r;
                if (ret->orphan) {
                        store_free(TAKE_PTR(*s)); /* a process has at most one Store for a folder */
                        r = region_fate_recover(verb, o, region) ?: with_store(verb, o, STORE_READ, s);
                        if (r != EXIT_OK)
                                return r;
                        continue;
                }
                if (clock_mono_usec() >= until_usec)
                        return cli_refuse(verb, EXIT_TIMED_OUT, "timed_out", "region %s has not ended, and goes on", region);
                usleep(pause);
                pause = MIN(pause * 2, (useconds_t)LOOK_MOST_USEC);
        }
}

int region_fate_recover(const char *verb, const StoreOptions *o, const char *region) {
        _cleanup_store_ Store *s = NULL;
        Diag d = {0};
        int r = with_store(verb, o, STORE_SUPERVISE, &s);

        if (r != EXIT_OK)
                return r;
        r = recover_one(s, region, &d);
        if (r == 0 || r == RECOVER_E_NONE) /* another process recorded the end, as requested */
                return EXIT_OK;
        if (r == RECOVER_E_LEFT)
                return cli_fail(
                        verb, EXIT_NOT,
                        "region %s: the processes were killed, and wait in the kernel for a file system that does not answer; "
                        "region.left is recorded, and a start of lethe after the answer records the end",
                        region);
        return cli_fail(verb, EXIT_NOT, "%s",
                        *d.text ? d.text
                        : r < 0 ? store_strerror(r)
                                : "the region's supervisor lives again");
}
