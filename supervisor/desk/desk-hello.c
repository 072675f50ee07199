/* Runs: supervisor. hello: which protocol, which region, which bounds, which slots. Allowed again, because each process of a region may
 * say it without knowing of the others. */
#include "desk/desk-internal.h"

#include <errno.h>

static json_t *names(char **list) {
        json_t *a = json_array();

        for (size_t i = 0; a && list && list[i]; i++)
                if (json_array_append_new(a, json_string(list[i])) < 0) {
                        json_decref(a);
                        return NULL;
                }
        return a;
}

int desk_do_hello(Desk *d, json_t *params, json_t **ret_result, Diag *reterr) {
        json_int_t protocol;
        json_error_t err;

        if (json_unpack_ex(params, &err, JSON_STRICT, "{s:I}", "protocol", &protocol) < 0)
                return desk_bad_params(&err, "{protocol: integer}", reterr);
        if (protocol != LETHE_PROTOCOL_VERSION)
                return diag(reterr, RPC_E_BAD_VERSION, "protocol %" JSON_INTEGER_FORMAT " is not spoken here, only %d", protocol, LETHE_PROTOCOL_VERSION);
        *ret_result = json_pack("{s:i, s:s, s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:o, s:o}",
                                "protocol", LETHE_PROTOCOL_VERSION, "region", d->region,
                                "limits", "line_bytes", PIPE_LINE_MAX, "depth", PIPE_DEPTH_MAX, "value_bytes", SLOT_VALUE_MAX,
                                "proposals", SLOT_PROPOSALS_MAX, "bad_lines", PIPE_BAD_LINES_MAX, "requests_per_second", PIPE_REQUESTS_PER_SEC,
                                "reads", names(d->grant->reads), "writes", names(d->grant->writes));
        if (!*ret_result)
                return -ENOMEM;
        if (d->state == DESK_NEW)
                d->state = DESK_OPEN;
        return 0;
}
