/* Runs: lethe-proxy. The target of a request to a route: /NAME/path?query. */
#pragma once

#include "schema/route.h"

#include <stddef.h>

typedef struct RoutePath {
        const char *name, *path, *query; /* lent from the target; path begins with "/", or is empty */
        size_t n_name, n_path, n_query;  /* query: with its "?" */
} RoutePath;

/* Parts of a target. Returns NULL, or the broken rule: servers read paths in different ways, so a target that two
 * servers may understand differently is refused ("..", "//", encoded dots, slashes, backslashes, NULs). */
const char *route_path_parse(const char *target, size_t n, RoutePath *ret);
/* Whether `path` lies below the prefix: "/v1" covers "/v1" and "/v1/chat", not "/v10". */
bool route_path_covers(const char *prefix, const char *path, size_t n);
