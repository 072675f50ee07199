#include "perform/perform.h"

#include "base/clock.h"
#include "base/log.h"
#include "record/object-row.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PERFORM_TRIES 64 /* each lost try is another process's progress */

static int perform_start(Txn *t, const char *id, const ObjectCycle *c, json_t **ret, Diag *reterr) {
        _cleanup_object_row_ ObjectRow row = {0};
        int r = object_get(t, id, &row, reterr);

        if (r != 0)
                return r;
        if (row.n != json_number(c->local, "n"))
                return diag(reterr, ENGINE_E_CONFLICT,
                            "object %s has %" PRIu64 " entries, and was judged at %" PRIu64
                            ": a cycle of another process came between; ask again",
                            id, row.n, json_number(c->local, "n"));
        return object_cycle(t, id, c, ret, reterr);
}

int perform_begin(Txn *t, const char *id, const json_t *local, const char *who, bool later, json_t **ret,
                  Diag *reterr) {
        char trace[REGION_ID_MAX];
        ObjectCycle c = {
                .local = local, .who = who, .trace = trace, .later = later, .lock = store_own_lock(txn_store(t))};

        return region_id_new(clock_real_usec(), trace) ?: perform_start(t, id, &c, ret, reterr);
}

/* A cycle up to the commit of the entries. later: as in ObjectCycle. */
static int perform_first_half(Store *s, const Policy *p, const char *id, const char *who, bool later, json_t **ret,
                              Diag *reterr) {
        for (unsigned i = 0; i < PERFORM_TRIES; i++) {
                _cleanup_json_ json_t *local = NULL, *begun = NULL;
                _cleanup_object_ahead_ ObjectAhead *ahead = NULL;
                _cleanup_txn_ Txn *t = NULL;
                char trace[REGION_ID_MAX];
                ObjectCycle c = {.who = who, .trace = trace, .later = later, .lock = store_own_lock(s)};
                int r = perform_local(s, p, id, &local, reterr) ?: region_id_new(clock_real_usec(), trace);

                if (r != 0)
                        return r;
                c.local = local;
                c.ahead = ahead = object_cycle_ahead(s, id, &c);
                r = store_begin(s, true, &t, reterr);
                if (r != 0)
                        return r > 0 ? PERFORM_E_STORE + r : r;
                r = perform_start(t, id, &c, &begun, reterr);
                if (r == ENGINE_E_CONFLICT)
                        continue;
                if (r != 0)
                        return r;
                r = store_commit(TAKE_PTR(t), reterr);
                if (r != 0)
                        return r > 0 ? PERFORM_E_STORE + r : r;
                *ret = TAKE_PTR(begun);
                return 0;
        }
        return ENGINE_E_CONFLICT;
}

int perform_cycle(RunOptions *run, Store *s, const char *id, const char *who, int signals, json_t **ret,
                  Diag *reterr) {
        _cleanup_json_ json_t *begun = NULL;
        int r = perform_first_half(s, run->policy, id, who, false, &begun, reterr);

        if (r != 0)
                return r;
        if (json_object_get(begun, "perform"))
                return perform_begun(run, s, begun, signals, ret, reterr);
        *ret = TAKE_PTR(begun);
        return 0;
}

/* *ret: array of ids. */
static int perform_list_executions(Store *s, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        char id[REGION_ID_MAX] = "";
        _cleanup_txn_ Txn *t = NULL;
        int r = list ? store_begin(s, false, &t, reterr) : -ENOMEM;

        if (r != 0)
                return r > 0 ? PERFORM_E_STORE + r : r;
        while ((r = object_row_next_execution(t, id, id)) == 0)
                if (json_array_append_new(list, json_string(id)) < 0)
                        return -ENOMEM;
        if (r == -ENOENT)
                *ret = TAKE_PTR(list);
        return r == -ENOENT ? 0 : r;
}

/* Whether the execution's performer died. */
static int perform_is_left(Store *s, const Policy *p, const char *id, bool *ret, Diag *reterr) {
        _cleanup_json_ json_t *local = NULL;
        int r = perform_local(s, p, id, &local, reterr);

        *ret = r == 0 && json_object_get(local, "interrupted");
        return r;
}

int perform_recover(Store *s, const Policy *p, const char *who, size_t *ret, Diag *reterr) {
        _cleanup_json_ json_t *list = NULL;
        int r = perform_list_executions(s, &list, reterr);
        json_t *o;
        size_t i;

        *ret = 0;
        json_array_foreach(list, i, o) {
                const char *id = json_text(o);
                _cleanup_json_ json_t *answer = NULL;
                bool left;
                Diag d = {0};
                int e = perform_is_left(s, p, id, &left, &d);

                if (e == 0 && left)
                        e = perform_first_half(s, p, id, who, true, &answer, &d);
                if (e > PERFORM_E_STORE || e < 0) {
                        *reterr = d;
                        return e;
                }
                if (e > 0)
                        log_warning("object %s: %s", id, d.text);
                *ret += e == 0 && left;
        }
        return r;
}
