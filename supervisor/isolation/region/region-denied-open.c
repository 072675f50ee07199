/* Runs: supervisor. The message of a denied path: the rule, the path, and the line of a manifest that allows it. */
#include "region/region-notify.h"
#include "region/region-path.h"

#include <stdlib.h>
#include <string.h>

void region_notify_deny(RegionNotify *n, const FilterVerdict *v, const char *object, const char *allow_with,
                        bool *ret_denied) {
        if (denials_add(n->denials, v->rule, v->operation, object, strlen(object), allow_with) < 0)
                n->denials->others++;
        *ret_denied = true;
}

void region_denied_open(RegionNotify *n, const FilterVerdict *v, const char *full, bool *ret_denied) {
        PathReach reach = region_path_reach(n->grant, n->tier, n->scratch, n->shims, full, v->writes);
        char *allow;

        if (reach == PATH_INSIDE && !v->writes && n->root >= 0 && region_path_is_scratch(n->grant, n->tier, full) &&
            !region_path_is_there(n->root, full))
                reach = PATH_OUTSIDE;
        if (reach == PATH_INSIDE)
                return;
        allow = region_path_allow(n->grant, n->tier, full, v->writes);
        if (reach == PATH_OUTSIDE) {
                region_outside_add(&n->outside, v->rule, v->operation, full, v->writes, allow);
                return;
        }
        region_notify_deny(n, v, full, allow, ret_denied);
        free(allow);
}
