/* Runs: CLI. Actions of `lethe object` about proof and places: verify, export, import, adopt, trust. */
#include "cli/cmd-object.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"
#include "object/transfer.h"
#include "policy/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static void object_print_finding(const json_t *o) {
        action_show(o, "code", "");
        action_show(o, "message", ": ");
        putchar('\n');
}

/* Exit status 0: holds; 1: does not. */
static int object_tell_verdict(ActionArgs *a, json_t *o) {
        const bool holds = json_is_true(json_object_get(o, "holds"));
        json_t *one;
        size_t i;
        int r;

        if (a->o.json)
                r = action_print(a, o);
        else {
                json_array_foreach(json_object_get(o, "findings"), i, one)
                        object_print_finding(one);
                printf("object %s: %s, %" PRIu64 " entries\n", cli_text(o, "object") ?: "?",
                       holds ? "all holds" : "does not hold", cli_u64(o, "entries"));
                json_decref(o);
                r = cli_done(a->verb, EXIT_OK);
        }
        return r ?: holds ? EXIT_OK : EXIT_NOT;
}

/* A store that cannot be read gives no verdict. */
static int object_verify_stored(ActionArgs *a) {
        json_t *o = NULL;
        int r = cmd_object_begin(a, false);

        if (r != EXIT_OK)
                return EXIT_USAGE;
        r = object_verify(a->t, a->argv[0], &o, &a->d);
        if (r < 0 || r == ENGINE_E_NO_OBJECT) {
                action_end(a, r);
                return EXIT_USAGE;
        }
        r = action_end(a, r);
        return r ?: object_tell_verdict(a, o);
}

/* The word for a refused file (O-40); its entries' refusals are those of entries in a store. */
static const char *object_file_word(int r) {
        return engine_code_name(r == OBJECT_E_SYNTAX ? ENGINE_E_BAD_BUNDLE : (EngineCode)object_code(r));
}

/* The proof of a file by itself, without a store. The reader decides whether its keys are to be trusted. */
static int object_verify_file(ActionArgs *a, const char *path) {
        _cleanup_object_bundle_ ObjectBundle b = OBJECT_BUNDLE_NULL;
        _cleanup_free_ char *text = NULL;
        char head[2 * ENTRY_HASH_BYTES + 1];
        json_t *o;
        size_t n;
        int r = cmd_object_read(a, "verify", path, OBJECT_BUNDLE_MAX, &text, &n);

        if (r != EXIT_OK)
                return r;
        r = object_bundle_parse(text, n, &b, &a->d);
        if (r < 0)
                return cli_fail(a->verb, EXIT_USAGE, "%s: %s", path, strerror(-r));
        if (r > 0) {
                diag_prefix(&a->d, "%s", path);
                return action_refused(a, object_file_word(r), a->d.text);
        }
        o = json_pack("{s:s, s:b, s:o, s:s, s:s, s:O, s:[]}", "object", b.memory.object, "holds", 1, "entries",
                      json_u64(b.memory.n), "head", hex_encode(b.memory.head, sizeof(b.memory.head), head), "state",
                      object_state_name(b.memory.state), "keys", b.keys, "findings");
        return object_tell_verdict(a, o);
}

int cmd_object_verify(ActionArgs *a) {
        struct stat st;
        const bool standard = a->argv[0] && strcmp(a->argv[0], "-") == 0;

        if (a->o.value[ACTIONS_LAST] || (!standard && stat(a->argv[0], &st) < 0 && errno == ENOENT))
                return cmd_object_is_named(a)
                               ? object_verify_stored(a)
                               : cli_refuse(a->verb, EXIT_USAGE, "no_file",
                                            "verify: '%s' is neither a file nor an object's id (%d characters of "
                                            "0-9 a-z, or a beginning); `lethe object list` shows the objects",
                                            a->argv[0], REGION_ID_LEN);
        return object_verify_file(a, a->argv[0]);
}

/* With --move the file is whole before the store gives the object up: a crash in between leaves two copies of one head,
 * and no object that is nowhere. */
int cmd_object_export(ActionArgs *a) {
        const bool move = a->o.value['V'], standard = strcmp(a->argv[1], "-") == 0;
        _cleanup_buf_ Buf b = {.max = OBJECT_BUNDLE_MAX};
        char id[REGION_ID_MAX];
        int r = EXIT_OK, e;

        if (move && standard)
                r = cli_usage(a->verb, "--move needs a FILE: the object goes on where the file is imported");
        r = r ?: cmd_object_begin(a, move);
        if (r != EXIT_OK)
                return r;
        snprintf(id, sizeof(id), "%s", a->argv[0]);
        e = object_export(a->t, id, move, action_who(), &b, &a->d);
        if (e == 0 && (r = cli_write(a->verb, a->argv[1], b.data ?: "", b.n)) != EXIT_OK) {
                store_abort(TAKE_PTR(a->t));
                store_free(TAKE_PTR(a->store));
                return r;
        }
        r = action_end(a, e);
        if (r != EXIT_OK || standard)
                return r;
        return action_tell(a,
                           json_pack("{s:s, s:s, s:b, s:o}", "object", id, "file", a->argv[1], "moved", move, "bytes",
                                     json_u64(b.n)),
                           "%s is in %s%s", id, a->argv[1],
                           move ? ", and goes on where the file is imported" : "; it goes on here");
}

int cmd_object_import(ActionArgs *a) {
        _cleanup_object_bundle_ ObjectBundle b = OBJECT_BUNDLE_NULL;
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_free_ char *text = NULL;
        json_t *made = NULL;
        size_t n;
        int r = cmd_object_policy(a, &policy) ?: cmd_object_read(a, "import", a->argv[0], OBJECT_BUNDLE_MAX, &text, &n);

        if (r != EXIT_OK)
                return r;
        r = object_bundle_parse(text, n, &b, &a->d);
        if (r != 0) {
                diag_prefix(&a->d, "%s", a->argv[0]);
                return r > 0 ? action_refused(a, object_file_word(r), a->d.text)
                             : cli_fail(a->verb, EXIT_NOT, "%s: %s", a->argv[0], strerror(-r));
        }
        r = action_begin(a, true)
                    ?: action_end(a, object_import(a->t, &b, action_who(), policy->objects.max, &made, &a->d));
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, made);
        printf("object %s: %s, %s, %" PRIu64 " entries%s\n", cli_text(made, "object"), cli_text(made, "how"),
               cli_text(made, "state"), cli_u64(made, "n"),
               json_is_true(json_object_get(made, "eligible"))
                       ? ""
                       : "; it does not go on here: `lethe object why OBJECT` says why");
        json_decref(made);
        return cli_done(a->verb, EXIT_OK);
}

int cmd_object_adopt(ActionArgs *a) {
        json_t *made = NULL;
        int r = cmd_object_begin(a, true);

        r = r ?: action_end(a, object_adopt(a->t, a->argv[0], a->argv[1], action_who(), &made, &a->d));
        return r ?: action_tell(a, made, "object %s goes on from %s", a->argv[0], a->argv[1]);
}

static void object_print_key(const json_t *o) {
        action_show(o, "state", "");
        action_show(o, "node", "  ");
        action_show(o, "vkey", "  ");
        putchar('\n');
}

int cmd_object_trust(ActionArgs *a) {
        const bool revoke = a->o.value['R'], lists = a->argc == 0;
        const char *blank = lists ? NULL : strrchr(a->argv[0], ' '); /* before the last word of a listed line */
        json_t *made = NULL;
        int r = lists && revoke ? cli_usage(a->verb, "--revoke needs the VKEY: `lethe object trust` shows the keys")
                                : EXIT_OK;

        r = r ?: action_begin(a, !lists);
        if (r != EXIT_OK)
                return r;
        r = action_end(a, lists ? object_trusted(a->t, &made)
                                : object_trust(a->t, blank ? blank + 1 : a->argv[0], revoke, action_who(), &made, &a->d));
        if (r != EXIT_OK)
                return r;
        return lists ? action_rows(a, json_pack("{s:o}", "keys", made), "keys", object_print_key)
                     : action_tell(a, made, "%s",
                                   revoke ? "revoked: entries of this key are not believed here any longer"
                                          : "trusted: entries of this key are believed here");
}
