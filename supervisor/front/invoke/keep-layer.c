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
        int e;

        kept_sweep(store_dir(run->store.db), LAYER_SHELF);
        e = kept_list(store_dir(run->store.db), LAYER_SHELF, &list);
        if (e < 0) {
                log_warning("the kept layers cannot be listed: %s", strerror(-e));
                return 0;
        }
        n = kept_surplus(&list, &run->region.grant->layers, clock_real_usec());
        for (size_t i = 0; e == 0 && i < MIN(n, (size_t)KEEP_DROPS); i++)
                e = keep_drop(run, list.folders[i].region, list.folders[i].why, reterr);
        return e;
}

static void keep_nothing(Run *run) {
        const char *id = run->region.id;
        int e = run->layer_folder < 0
                        ? 0
                        : kept_drop_begun(store_dir(run->store.db), LAYER_SHELF, id, run->layer_folder);

        if (e < 0)
                log_warning("region %s: the begun copy of its layer cannot be overwritten: %s", id, strerror(-e));
        closep(&run->layer_folder);
}

static const char *keep_trouble(const LayerReader *l, char out[static 256]) {
        if (l->code == -ETIMEDOUT || l->code == -EPIPE)
                return "lethe-layer ended without an answer: the folder below does not answer in time, or the layer "
                       "is too large";
        snprintf(out, 256, "%s", *l->answer.text ? l->answer.text : strerror(l->code < 0 ? -l->code : EIO));
        return out;
}

static int keep_answer(Run *run, Diag *reterr) {
        Region *r = &run->region;
        const LayerAnswer *a = &run->layer.answer;
        char text[256];
        const char *why;
        int e = run->layer.code;

        if (e == 0 && a->n > 0) {
                e = kept_complete(store_dir(run->store.db), LAYER_SHELF, r->id, run->layer_folder, a->bytes);
                if (e == 0) {
                        closep(&run->layer_folder);
                        r->layer_paths = a->n;
                        return record_layer_kept(run->store.db, r, a->digest, a->n, reterr);
                }
                run->layer.code = e;
        }
        keep_nothing(run);
        if (e == 0)
                return 0;
        why = keep_trouble(&run->layer, text);
        log_warning("region %s: its layer is not kept: %s", r->id, why);
        return record_layer_dropped(run->store.db, r->id, why, reterr);
}

int begin_layer(Run *run, Diag *d) {
        return layer_wanted(run->region.grant)
                       ? layer_reader_start(&run->layer, run->options->spawner, run->region.id, run->region.grant, d)
                       : 0;
}

void run_begin_layer(Run *run) {
        const Region *r = &run->region;
        LayerReader *l = &run->layer;
        const uint64_t began = (clock_real_usec() - (clock_mono_usec() - r->go_usec)) * 1000;
        int e;

        if (!layer_wanted(r->grant))
                return;
        if (run->store.failed || r->go_usec == 0 || r->budget.scratch < 0) {
                layer_reader_end(l);
                return;
        }
        run->layer_folder = kept_begin(store_dir(run->store.db), LAYER_SHELF, r->id);
        e = run->layer_folder < 0 ? run->layer_folder
                                  : layer_reader_ask(l, run->layer_folder, r->budget.scratch, began,
                                                     r->grant->budget.scratch_bytes);
        if (e < 0) {
                layer_reader_end(l);
                l->code = e;
        }
}

void run_keep_layer(Run *run) {
        Diag d = {};
        int e = 0;

        if (run->store.failed)
                return;
        if (run->layer_folder >= 0 || run->layer.code < 0)
                e = keep_answer(run, &d);
        e = e ?: keep_tidy(run, &d);
        if (e != 0)
                run_store_trouble(run, "the store cannot record the region's layer", e, &d);
}

void run_drop_layer(Run *run) {
        layer_reader_end(&run->layer);
        keep_nothing(run);
}
