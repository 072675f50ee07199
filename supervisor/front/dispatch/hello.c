/* Runs: supervisor. hello: the protocol, the region, the bounds, the slots. Allowed again: each process may say
 * hello. */
#include "dispatch/dispatch-internal.h"

#include <errno.h>
#include <sodium.h>

static json_t *hello_names(char **list) {
        json_t *a = json_array();

        for (size_t i = 0; a && list && list[i]; i++)
                if (json_array_append_new(a, json_string(list[i])) < 0) {
                        json_decref(a);
                        return NULL;
                }
        return a;
}

/* The region's key is handed over in this answer only (I-10), with the declared sections. In a region of scope
 * invocation-tree the keys of the regions above follow, the nearest first (I-27). */
static int hello_add_vault(const Dispatch *d, json_t *o) {
        char key[KEY_TEXT_BYTES + 1];
        json_t *tree = json_array();
        int r = tree && vault_hand_over(d->vault, d->vault, key) ? 0 : -ENOMEM;

        if (r == 0)
                r = json_object_set_new(o, "key", json_string(key)) |
                    json_object_set_new(o, "sections", vault_declared(d->vault, d->vault));
        for (const Vault *v = vault_above(d->vault); v && r == 0; v = vault_above(v)) {
                r = -1;
                if (vault_hand_over(v, d->vault, key))
                        r = json_array_append_new(tree,
                                                  json_pack("{s:s, s:s, s:o}", "key", key, "region", vault_region(v),
                                                            "sections", vault_declared(v, d->vault)));
        }
        sodium_memzero(key, sizeof(key));
        if (r == 0 && json_array_size(tree) > 0)
                r = json_object_set(o, "tree", tree);
        json_decref(tree);
        return r == 0 ? 0 : -ENOMEM;
}

/* The session of a turn, with its sections. */
static int hello_add_session(const Dispatch *d, json_t *o) {
        json_t *list = json_array(), *said;
        const char *name;

        json_object_foreach((json_t *)d->turn->sections, name, said) {
                json_array_append_new(list, json_pack("{s:s, s:O, s:o}", "name", name, "bytes",
                                                      json_object_get(said, "bytes"), "version",
                                                      json_incref(json_object_get(json_object_get(d->turn->values, name),
                                                                                  "version")) ?: json_integer(0)));
        }
        return json_object_set_new(o, "session", json_pack("{s:s, s:I, s:o}", "id", d->turn->session, "turn",
                                                           (json_int_t)d->turn->number, "sections", list)) < 0
                       ? -ENOMEM
                       : 0;
}

int dispatch_do_hello(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        json_int_t protocol;
        int r;

        if (json_take(params, "{s:I}", "protocol", &protocol) < 0)
                return dispatch_bad_params(params, "{protocol: integer}", reterr);
        if (protocol != LETHE_PROTOCOL_VERSION)
                return diag(reterr, RPC_E_BAD_VERSION, "protocol %" JSON_INTEGER_FORMAT " is not spoken here, only %d",
                            protocol, LETHE_PROTOCOL_VERSION);
        *ret_result = json_pack("{s:i, s:s, s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:o, s:o, s:o*, s:s*, s:s*, s:s*, s:o*}",
                                "protocol",
                                LETHE_PROTOCOL_VERSION, "region", d->region, "limits", "line_bytes", PIPE_LINE_MAX,
                                "depth", PIPE_DEPTH_MAX, "value_bytes", SLOT_VALUE_MAX, "proposals", SLOT_PROPOSALS_MAX,
                                "bad_lines", PIPE_BAD_LINES_MAX, "requests_per_second", PIPE_REQUESTS_PER_SEC, "reads",
                                hello_names(d->grant->reads), "writes", hello_names(d->grant->writes), "discarded",
                                d->discards ? json_true() : NULL, "notes", d->grant->notes, "canon", d->grant->canon,
                                "kernels", d->grant->kernels, "own_notes", d->grant->own_notes ? json_true() : NULL);
        if (!*ret_result ||
            (d->grant->n_memory > 0 &&
             json_object_set_new(*ret_result, "memory", memory_rights_json(d->grant->memory, d->grant->n_memory)) < 0))
                return -ENOMEM;
        if (d->turn && (r = hello_add_session(d, *ret_result)) < 0)
                return r;
        r = d->vault ? hello_add_vault(d, *ret_result) : 0;
        if (r < 0)
                return r;
        if (d->state == DISPATCH_NEW)
                d->state = DISPATCH_OPEN;
        return 0;
}
