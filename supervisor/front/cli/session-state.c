#include "cli/session-state.h"

#include "cli/serve-client.h"
#include "request/paths.h"
#include "engine/scope.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX (64 * 1024)

/* The daemon is asked for the store that the command line names, or nothing: another one has another scope of that name. */
static int params_of(ActionArgs *a, const char *value, json_t **ret) {
        _cleanup_free_ char *path = NULL, *real = NULL;
        _cleanup_json_ json_t *v = NULL;
        Diag d = {0};
        int r = value ? action_json(a, "the value", value, VALUE_MAX, &v) : EXIT_OK;

        if (r != EXIT_OK)
                return r;
        path = path_of_store(a->o.store, &d);
        if (!path)
                return cli_usage(a->verb, "%s", *d.text ? d.text : "out of memory");
        real = realpath(path, NULL);
        if (!real)
                return cli_refuse(a->verb, EXIT_NOT, "no_store", "store %s: %s", path, strerror(errno));
        *ret = json_pack("{s:s, s:s, s:O*}", "store", real, "scope", a->option['S'] ? a->option['S'] : SCOPE_DEFAULT, "value", v);
        return *ret ? EXIT_OK : cli_fail(a->verb, EXIT_NOT, "out of memory");
}

static int ask(ActionArgs *a, const char *method, json_t *params, json_t **ret) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -1;
        const json_t *error;
        Diag d = {0};
        int r;

        path = path_of_socket(a->option['P'], &d);
        fd = path ? path_ask(path) : -ENOENT;
        if (fd == -EPERM) {
                json_decref(params);
                return cli_refuse(a->verb, EXIT_NOT, "other_user", "socket %s: another user listens there, whom root asks nothing", path);
        }
        if (fd < 0) {
                json_decref(params);
                return cli_refuse(a->verb, EXIT_NOT, "no_serve", "working state is kept by `lethe serve`, in its memory: none answers%s%s", path ? " at " : "", path ? path
                                : "");
        }
        r = serve_client_call(fd, path, method, params, ret);
        if (r < 0)
                return cli_fail(a->verb, EXIT_NOT, "lethe serve: %s", strerror(-r));
        error = json_object_get(*ret, "error");
        if (!error)
                return EXIT_OK;
        return action_refused(a, json_text(json_object_get(json_object_get(error, "data"), "code")) ?: "failed",
                              json_text(json_object_get(error, "message")) ?: "lethe serve refused it");
}

int session_state_action(ActionArgs *a) {
        static const char *const methods[] = {"working.get", "working.set", "working.clear"};
        _cleanup_json_ json_t *answer = NULL;
        json_t *params = NULL, *value;
        const char *method = NULL;
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
                if (strcmp(strchr(methods[i], '.') + 1, a->argv[0]) == 0)
                        method = methods[i];
        if (!method || (a->argc == 2) != (strcmp(a->argv[0], "set") == 0))
                return cli_usage(a->verb, "working takes get, clear, or set VALUE|-");
        r = params_of(a, a->argc == 2 ? a->argv[1] : NULL, &params);
        if (r == EXIT_OK)
                r = ask(a, method, params, &answer);
        if (r != EXIT_OK)
                return r;
        value = json_object_get(json_object_get(answer, "result"), "value");
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:O*}", "scope", a->option['S'] ? a->option['S'] : SCOPE_DEFAULT, "value", value));
        if (strcmp(a->argv[0], "get") == 0)
                print_json(stdout, value);
        return cli_done(a->verb, EXIT_OK);
}
