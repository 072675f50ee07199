/* Runs: supervisor. A denied path becomes a message: the rule, the path, and the line of a manifest that allows the path.
 * A path outside of the region is a denial only where the host has the path, which is examined after the region's end
 * (region-denial.h). */
#include "region/region-host-lookup.h"
#include "region/region-notify.h"
#include "region/region-path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_LOOKED_AT "paths outside of the region, not examined on the host"

void region_notify_deny(RegionNotify *n, const FilterVerdict *v, const char *object, const char *allow_with,
                        bool *ret_denied) {
        denials_add(n->denials, v->rule, v->operation, object, strlen(object), allow_with);
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

void region_outside_add(RegionOutside *o, const char *rule, const char *operation, const char *path, bool writes,
                        char *allow_with) {
        _cleanup_free_ char *allow = allow_with;
        OutsidePath *p;

        for (size_t i = 0; i < o->n; i++)
                if (o->v[i].writes == writes && strcmp(o->v[i].path, path) == 0 &&
                    strcmp(o->v[i].operation, operation) == 0 && strcmp(o->v[i].rule, rule) == 0) {
                        o->v[i].count++;
                        return;
                }
        if (!o->v)
                o->v = calloc(OUTSIDE_MAX, sizeof(*o->v));
        if (!o->v || o->n == OUTSIDE_MAX) {
                o->others++;
                return;
        }
        p = &o->v[o->n];
        *p = (OutsidePath){.path = strdup(path), .rule = rule, .operation = operation, .count = 1, .writes = writes};
        if (!p->path) {
                o->others++;
                return;
        }
        p->allow_with = TAKE_PTR(allow);
        o->n++;
}

/* A write is a denial only with the folder on the host: without the folder the call fails by itself. */
static HostHas outside_look(HostLook *l, const OutsidePath *p) {
        char folder[PATH_MAX], *slash;
        HostHas has;

        if (!p->writes)
                return host_look(l, p->path);
        snprintf(folder, sizeof(folder), "%s", p->path);
        slash = strrchr(folder, '/');
        *(slash == folder ? slash + 1 : slash) = 0;
        has = host_look(l, folder);
        explicit_bzero(folder, sizeof(folder));
        return has;
}

uint64_t region_outside_explain(RegionOutside *o, Denials *denials) {
        uint64_t n = 0, unknown = o->others;
        HostLook look;

        host_look_begin(&look, OUTSIDE_LOOK_USEC);
        for (size_t i = 0; i < o->n; i++) {
                const OutsidePath *p = &o->v[i];
                HostHas has = outside_look(&look, p);

                unknown += has == HOST_UNKNOWN ? p->count : 0;
                if (has != HOST_HAS)
                        continue;
                n += p->count;
                denials_add_many(denials, p->rule, p->operation, p->path, strlen(p->path), p->allow_with, p->count);
        }
        host_look_end(&look);
        if (unknown > 0)
                denials_add_many(denials, "paths", "any", NOT_LOOKED_AT, strlen(NOT_LOOKED_AT), NULL, unknown);
        region_outside_deinit(o);
        return n;
}

void region_outside_deinit(RegionOutside *o) {
        for (size_t i = 0; i < o->n; i++) {
                explicit_bzero(o->v[i].path, strlen(o->v[i].path));
                free(o->v[i].path);
                if (o->v[i].allow_with)
                        explicit_bzero(o->v[i].allow_with, strlen(o->v[i].allow_with));
                free(o->v[i].allow_with);
        }
        free(o->v);
        *o = (RegionOutside){};
}
