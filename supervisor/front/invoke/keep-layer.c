#include "invoke/keep-layer.h"

#include "base/clock.h"
#include "base/log.h"
#include "layer/layer.h"
#include "scrub/kept.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>

#define KEEP_DROPS 8 /* of older layers, at the end of one region */

/* The ledger first: an event about a kept layer harms less than a missing layer without an event. A layer in use by
 * another process stays. */
static int keep_drop(Run *run, const char *region, const char *why, Diag *reterr) {
        const char *store = store_dir(run->store.db);
        _cleanup_close_ int folder = kept_open(store, LAYER_SHELF, region, LOCK_EX);
        int e = folder < 0 ? 0 : record_layer_dropped(run->store.db, region, why, reterr), k;

        if (e == 0 && folder >= 0 && (k = kept_drop(store, LAYER_SHELF, region, folder)) != 0)
                log_warning("the layer of region %s cannot be dropped: %s", region, strerror(-k));
        return e;
}

static int keep_tidy(Run *run, Diag *reterr) {
        _cleanup_kept_list_ KeptList list = {0};
        size_t n;
        int e = kept_list(store_dir(run->store.db), LAYER_SHELF, &list);

        if (e < 0) {
                log_warning("the kept layers cannot be listed: %s", strerror(-e));
                return 0;
        }
        n = kept_surplus(&list, &run->region.grant->layers, clock_real_usec());
        for (size_t i = 0; e == 0 && i < MIN(n, (size_t)KEEP_DROPS); i++)
                e = keep_drop(run, list.folders[i].region, list.folders[i].why, reterr);
        return e;
}

static int keep_one(Run *run, Diag *reterr) {
        Region *r = &run->region;
        const uint64_t began = (clock_real_usec() - (clock_mono_usec() - r->go_usec)) * 1000;
        char digest[HASH_HEX_MAX];
        const char *why;
        size_t n;
        int e = layer_keep(store_dir(run->store.db), r->id, r->grant, r->budget.scratch, began, digest, &n, reterr);

        if (e == 0 && n > 0) {
                r->layer_paths = n;
                return record_layer_kept(run->store.db, r, digest, n, reterr);
        }
        if (e == 0)
                return 0;
        why = *reterr->text ? reterr->text : strerror(e < 0 ? -e : EIO);
        log_warning("region %s: its layer is not kept: %s", r->id, why);
        return record_layer_dropped(run->store.db, r->id, why, reterr);
}

void run_keep_layer(Run *run) {
        const Region *r = &run->region;
        Diag d = {};
        int e = 0;

        if (run->store.failed)
                return;
        if (layer_wanted(r->grant) && r->go_usec != 0 && r->budget.scratch >= 0)
                e = keep_one(run, &d);
        e = e ?: keep_tidy(run, &d);
        if (e != 0)
                run_store_trouble(run, "the store cannot record the region's layer", e, &d);
}
