#include "cli/layer-gone.h"

#include "belief/region-events.h"
#include "cli/cli.h"

#include <errno.h>
#include <string.h>

static void gone_tell(const char *region, const json_t *o, Diag *ret) {
        const char *type = cli_text(o, "type"), *time = cli_text(o, "time"), *reason = cli_text(o, "reason"),
                   *who = cli_text(o, "who");
        static const char *const bounds[] = {"number", "age", "bytes"};
        const bool by_policy = reason && name_index(bounds, ARRAY_SIZE(bounds), reason) < ARRAY_SIZE(bounds);

        if (strcmp(type, "layer.applied") == 0)
                diag(ret, 0, "the layer of region %s was applied at %s", region, time ?: "?");
        else if (by_policy)
                diag(ret, 0, "the layer of region %s was dropped at %s: the policy's bound of layers (%s) was reached; "
                             "fix: a higher bound (\"layers\" of the policy), or an earlier 'lethe apply'",
                     region, time ?: "?", reason);
        else if (reason)
                diag(ret, 0, "the layer of region %s was not kept: %s", region, DIAG_QUOTED(reason));
        else
                diag(ret, 0, "the layer of region %s was dropped at %s%s%s", region, time ?: "?", who ? " by " : "",
                     who ? DIAG_QUOTED(who) : "");
}

void layer_gone(Store *s, const char *region, Diag *ret) {
        _cleanup_region_events_ RegionEvents w = REGION_EVENTS_NULL;
        _cleanup_json_ json_t *last = NULL;
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = store_begin(s, false, &t, &d) ?: region_events(t, region, &w);

        w.beyond_end = true;
        while (r == 0) {
                json_t *o = NULL;
                const char *type;
                uint64_t seq;
                Bytes entry;

                r = region_events_next(&w, &seq, &entry, &o);
                type = o ? cli_text(o, "type") : NULL;
                if (type && strncmp(type, "layer.", 6) == 0 && strcmp(type, "layer.kept") != 0) {
                        json_decref(last);
                        last = TAKE_PTR(o);
                }
                json_decref(o);
        }
        if (last)
                gone_tell(region, last, ret);
}
