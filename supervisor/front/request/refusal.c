/* Runs: supervisor, CLI. */
#include "request/refusal.h"

#include "base/clock.h"
#include "base/id.h"
#include "engine/engine.h"

int refusal_record(Store *store, const char *store_path, const Grant *g, const char *message, Diag *reterr) {
        _cleanup_store_ Store *own = NULL;
        _cleanup_txn_ Txn *t = NULL;
        char id[REGION_ID_MAX];
        int e = region_id_new(clock_real_usec(), id);

        if (e == 0 && !store) {
                e = store_open(store_path, STORE_WRITE, &own, reterr);
                store = own;
        }
        if (e == 0)
                e = store_begin(store, true, &t, reterr);
        if (e == 0)
                e = engine_region_refuse(t, id, g->skill_name, g->skill_digest, g->name, "policy", message);
        if (e == 0)
                e = store_commit(TAKE_PTR(t), reterr);
        return e;
}
