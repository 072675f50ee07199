/* Runs: CLI. The object of the command line: by id, by the beginning of an id, or by --last. */
#include "belief/region-events.h"
#include "cli/cmd-object.h"
#include "record/object-row.h"

#include <errno.h>
#include <string.h>

#define FIND_SHOWN 4 /* candidates that a message lists */

bool cmd_object_is_named(const ActionArgs *a) {
        const size_t n = strlen(a->argv[0]);

        return a->o.value[ACTIONS_LAST] ||
               (n > 0 && n <= REGION_ID_LEN && strspn(a->argv[0], "0123456789abcdefghjkmnpqrstvwxyz") == n);
}

int cmd_object_id(const ActionArgs *a) {
        return cmd_object_is_named(a)
                       ? EXIT_OK
                       : cli_usage(a->verb,
                                   "'%s' is neither an object's id (%d characters of 0-9 a-z) nor the beginning of an "
                                   "id; `lethe object list` shows the objects",
                                   a->argv[0], REGION_ID_LEN);
}

/* The object that was created last, from the newest entry of the ledger back: an import counts, a child does not. */
static int find_last(Txn *t, char ret[static REGION_ID_MAX], Diag *reterr) {
        uint64_t size;
        int r = ledger_state(t, &size, NULL);

        while (r == 0 && size-- > 0) {
                _cleanup_json_ json_t *o = NULL;
                const char *id;
                Bytes e;

                r = ledger_get(t, size, &e);
                if (r != 0 || !memmem(e.p, e.n, "\"object.entry\"", strlen("\"object.entry\"")))
                        continue;
                r = json_parse_own(e.p, e.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o);
                id = cli_text(o, "object");
                if (r != 0 || !id || !region_id_valid(id) || json_object_get(o, "parent") ||
                    !json_text_is(json_object_get(o, "kind"), "instantiated"))
                        continue;
                strcpy(ret, id);
                return 0;
        }
        return r > 0    ? -EUCLEAN
               : r == 0 ? diag(reterr, ENGINE_E_NO_OBJECT, "no object was created in this store")
                        : r;
}

static int find_beginning(Txn *t, const char *said, char ret[static REGION_ID_MAX], Diag *reterr) {
        char id[REGION_ID_MAX], list[FIND_SHOWN * (REGION_ID_LEN + 2) + 1] = "";
        size_t n = 0, at = 0;
        int r;

        snprintf(id, sizeof(id), "%s", said);
        while (n <= FIND_SHOWN && (r = object_row_next(t, id, id)) == 0 && strncmp(id, said, strlen(said)) == 0) {
                if (n++ == 0)
                        strcpy(ret, id);
                if (n <= FIND_SHOWN)
                        at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", n > 1 ? ", " : "", id);
        }
        if (r < 0 && r != -ENOENT)
                return r;
        if (n == 0)
                return diag(reterr, ENGINE_E_NO_OBJECT,
                            "'%s' is no beginning of an object's id here: `lethe object list` shows all objects of this "
                            "store",
                            said);
        return n == 1 ? 0
                      : diag(reterr, ENGINE_E_NO_OBJECT, "'%s' is the beginning of %s objects: %s%s: give more of the id",
                             said, n > FIND_SHOWN ? "more than 4" : "several", list, n > FIND_SHOWN ? " …" : "");
}

int cmd_object_find(ActionArgs *a, Txn *t) {
        static char found[REGION_ID_MAX];
        int r = 0;

        if (!a->o.value[ACTIONS_LAST] && region_id_valid(a->argv[0]))
                return 0;
        r = a->o.value[ACTIONS_LAST] ? find_last(t, found, &a->d) : find_beginning(t, a->argv[0], found, &a->d);
        if (r == 0)
                a->argv[0] = found;
        return r;
}

int cmd_object_begin(ActionArgs *a, bool write) {
        int r = cmd_object_id(a) ?: action_begin(a, write), found;

        if (r != EXIT_OK || (found = cmd_object_find(a, a->t)) == 0)
                return r;
        return action_end(a, found);
}
