/* Runs: CLI. `lethe object graph`: the delegation tree as a drawing. */
#include "audit/object-graph.h"
#include "cli/cmd-object.h"

#include <string.h>

#define GRAPH_BYTES_MAX ((size_t)64 << 20)

int cmd_object_graph(ActionArgs *a) {
        const char *file = a->argc > 1 ? a->argv[1] : NULL;
        _cleanup_buf_ Buf svg = {.max = GRAPH_BYTES_MAX};
        int r = EXIT_OK;

        if (a->o.json && (!file || strcmp(file, "-") == 0))
                return cli_usage(a->verb, "--json and the drawing would both go to standard output: name a FILE");
        r = r ?: cmd_object_begin(a, false);
        if (r == EXIT_OK)
                r = action_end(a, object_graph(a->t, a->argv[0], &svg, &a->d));
        r = r ?: cli_write(a->verb, file, svg.data, svg.n);
        if (r != EXIT_OK || !file || strcmp(file, "-") == 0)
                return r;
        return action_tell(a, json_pack("{s:s, s:s, s:o}", "object", a->argv[0], "file", file, "bytes", json_u64(svg.n)),
                           "%s: the delegation tree of object %s", file, a->argv[0]);
}
