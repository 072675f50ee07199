/* Runs: CLI. */
#include "base/clock.h"
#include "base/io.h"
#include "cli/actions.h"
#include "cli/ccs-advised.h"
#include "cognition/ccs-diff.h"
#include "cognition/ccs-text.h"
#include "cognition/ccs-validate.h"
#include "cognition/cognition.h"
#include "cognition/recall.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
        "Usage: lethe ccs begin [--role FILE] [--recall SCOPE] [--bound BYTES,TOKENS] [--most K]\n"
        "                       [--compressor SKILL|DIR [--set 'NAME=VALUE ...']] [--policy FILE]\n"
        "       lethe ccs turn SESSION [--policy FILE]  standard input: {\"input\": TEXT, \"tools\"?: [...]}\n"
        "       lethe ccs decide SESSION            standard input: {\"decision\": TEXT, \"tools\"?: [...]}\n"
        "       lethe ccs store SESSION             standard input: {\"documents\": [...]}\n"
        "       lethe ccs show SESSION [--turn N]\n"
        "       lethe ccs diff SESSION TURN TURN\n"
        "       lethe ccs history SESSION\n"
        "       lethe ccs validate [FILE]\n"
        "       lethe ccs list\n\n"
        "An agent with many turns keeps one small state in place of its transcript. turn reads the input, recalls\n"
        "qualified evidence, replaces the state and prints it: the agent gets the state and the input, no more.\n"
        "decide stores what the agent said and did. `lethe scope delete SESSION` erases a session.\n\n" HELP_STORE
        "  --role FILE       with begin: goals, rules and policy, as text or JSON (- : standard input)\n"
        "  --recall SCOPE    with begin: turns recall the memory of this scope, too\n"
        "  --bound B,T       with begin: the most bytes and tokens of a state (default: 2048,512; at least 192,32)\n"
        "  --most K          with begin: at most K artifacts a turn (default: 5)\n"
        "  --compressor SKILL  with begin: this skill proposes each state; a registered skill, or a folder. Its answer is\n"
        "                    checked; after a second bad answer the built-in compressor does the turn: \"degraded\"\n"
        "  --set TEXT        with --compressor: options of `lethe run` for the skill, with blanks between\n"
        "  --policy FILE     with --compressor, and with its turns: the operator's policy\n"
        "  --turn N          with show: an earlier turn, for auditors\n"
        HELP_JSON "\nExit status: 0; 1 refused, no such session, or not valid; 2 usage.\n";

#define ROLE_MAX (64 * 1024)

/* Reads a file, or standard input for "-". */
static int ccs_read_file(ActionArgs *a, const char *path, size_t most, char **ret, size_t *ret_n) {
        bool standard = strcmp(path, "-") == 0;
        int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
        size_t bad;
        int r;

        if (fd < 0)
                return cli_usage(a->verb, "%s cannot be read: %s", path, strerror(errno));
        r = io_read_all(fd, most, ret, ret_n);
        if (!standard)
                close(fd);
        if (r == -EFBIG)
                return cli_usage(a->verb, "%s has more than %zu bytes", path, most);
        if (r < 0)
                return cli_usage(a->verb, "%s cannot be read: %s", path, strerror(-r));
        if (utf8_valid(*ret, *ret_n, &bad)) {
                const char *nul = memchr(*ret, 0, *ret_n);

                if (!nul)
                        return EXIT_OK;
                bad = (size_t)(nul - *ret);
        }
        diag(&a->d, 0, "%s: byte %zu is 0x%02x: a text is UTF-8 without U+0000", standard ? "standard input" : path, bad,
             (unsigned char)(*ret)[bad]);
        return action_refused(a, engine_code_name(ENGINE_E_BAD_UTF8), a->d.text);
}

static int ccs_bound(ActionArgs *a, CcsBound *ret) {
        const char *text = a->o.value['B'], *comma = strchr(text, ',');
        char first[24];
        uint64_t bytes = 0, tokens = 0;
        int r;

        if (!comma || (size_t)(comma - text) >= sizeof(first))
                return cli_usage(a->verb, "--bound: '%s' is not BYTES,TOKENS", text);
        snprintf(first, sizeof(first), "%.*s", (int)(comma - text), text);
        r = cli_number(a->verb, "--bound: BYTES", first, CCS_BOUND_LEAST.bytes, CCS_BOUND_MOST, &bytes)
                    ?: cli_number(a->verb, "--bound: TOKENS", comma + 1, CCS_BOUND_LEAST.tokens, CCS_BOUND_MOST, &tokens);
        *ret = (CcsBound){.bytes = bytes, .tokens = tokens};
        return r;
}

static int ccs_print_state(const ActionArgs *a, json_t *o) {
        const json_t *text = json_object_get(o, "ccs");

        if (a->o.json || !o)
                return action_print(a, o);
        fwrite(json_bytes(text), 1, json_string_length(text), stdout);
        json_decref(o);
        return cli_done(a->verb, EXIT_OK);
}

static int cmd_ccs_begin(ActionArgs *a) {
        CognitionBegin b = {.who = action_who(), .recall = a->o.value['R'], .now_usec = clock_real_usec()};
        _cleanup_free_ char *role = NULL, *name = NULL;
        _cleanup_json_ json_t *compressor = NULL;
        json_t *made = NULL;
        CcsBound bound;
        uint64_t k = RECALL_K;
        int r = cli_number(a->verb, "--most", a->o.value['M'], 1, RECALL_K_MAX, &k);

        if (r == EXIT_OK && a->o.value['F'])
                r = ccs_read_file(a, a->o.value['F'], ROLE_MAX, &role, &b.n_role);
        if (r == EXIT_OK && a->o.value['B'])
                r = ccs_bound(a, &bound);
        if (r == EXIT_OK && a->o.value['C'])
                r = ccs_compressor(a, &compressor);
        else if (r == EXIT_OK && (a->o.value['e'] || a->o.value['P']))
                r = cli_usage(a->verb, "--%s is about an advisor: give --compressor, too",
                              a->o.value['e'] ? "set" : "policy");
        if (r != EXIT_OK)
                return r;
        b.role = role;
        b.bound = a->o.value['B'] ? &bound : NULL;
        b.compressor = compressor;
        b.k = a->o.value['M'] ? k : 0;
        r = action_begin(a, true) ?: action_end(a, cognition_begin(a->t, &b, &made, &a->d));
        if (r != EXIT_OK)
                return r;
        name = strdup(json_str(made, "session"));
        return action_tell(a, made, "%s", name ?: "");
}

/* turn, decide and store: a JSON object on standard input, one transaction, an object on standard output. */
static int ccs_write(ActionArgs *a,
                     int (*fn)(Txn *t, const char *who, const char *session, const json_t *in, json_t **ret, Diag *reterr)) {
        _cleanup_json_ json_t *in = NULL;
        json_t *made = NULL;
        int r = action_json(a, "the input", "-", COGNITION_INPUT_MAX, &in);

        r = r ?: action_begin(a, true) ?: action_end(a, fn(a->t, action_who(), a->argv[0], in, &made, &a->d));
        return r != EXIT_OK ? r : action_print(a, made);
}

static int cmd_ccs_turn(ActionArgs *a) {
        _cleanup_json_ json_t *in = NULL;
        json_t *made = NULL;
        int r = action_json(a, "the input", "-", COGNITION_INPUT_MAX, &in);

        r = r ?: action_begin(a, true);
        if (r != EXIT_OK)
                return r;
        r = cognition_turn(a->t, action_who(), a->argv[0], in, &made, &a->d);
        if (r == ENGINE_E_ADVISED) { /* nothing was written */
                store_abort(TAKE_PTR(a->t));
                store_free(TAKE_PTR(a->store));
                r = ccs_advised_turn(a, in, &made);
        } else
                r = action_end(a, r);
        return r != EXIT_OK ? r : action_print(a, made);
}

static int cmd_ccs_decide(ActionArgs *a) {
        return ccs_write(a, cognition_decide);
}

static int cmd_ccs_store(ActionArgs *a) {
        return ccs_write(a, cognition_store);
}

static int cmd_ccs_show(ActionArgs *a) {
        uint64_t turn = COGNITION_NEWEST;
        json_t *found = NULL;
        int r = action_number(a, "--turn", a->o.value['N'], &turn);

        r = r ?: action_begin(a, false) ?: action_end(a, cognition_show(a->t, a->argv[0], turn, &found, &a->d));
        return r ?: ccs_print_state(a, found);
}

static int ccs_state_at(ActionArgs *a, uint64_t turn, Ccs *ret) {
        _cleanup_json_ json_t *o = NULL;
        const json_t *text;
        int r = cognition_show(a->t, a->argv[0], turn, &o, &a->d);

        if (r != 0)
                return r;
        text = json_object_get(o, "ccs");
        r = ccs_parse(json_bytes(text), json_string_length(text), ret, NULL);
        return r > 0 ? -EUCLEAN : r;
}

static json_t *ccs_diff_json(const CcsDiff *d) {
        static const char *const words[] = {"removed", "added", "moved"};
        _cleanup_json_ json_t *list = json_array();

        for (size_t i = 0; i < d->n; i++) {
                const CcsChange *x = &d->changes[i];
                _cleanup_buf_ Buf atom = {0};

                if (ccs_print_atom(x->field, x->atom, &atom) < 0 ||
                    json_array_append_new(list, json_pack("{s:s, s:s, s:s%}", "field", ccs_field_name(x->field), "change",
                                                          words[x->kind], "atom", atom.data, atom.n)) < 0)
                        return NULL;
        }
        return TAKE_PTR(list);
}

static int cmd_ccs_diff(ActionArgs *a) {
        _cleanup_ccs_ Ccs one = CCS_NULL, two = CCS_NULL;
        _cleanup_free_ CcsDiff *d = calloc(1, sizeof(*d));
        _cleanup_buf_ Buf out = {0};
        uint64_t from = 0, to = 0;
        int r = action_number(a, "the first turn", a->argv[1], &from)
                        ?: action_number(a, "the second turn", a->argv[2], &to);

        if (!d)
                return cli_fail(a->verb, EXIT_NOT, "out of memory");
        r = r ?: action_begin(a, false)
                    ?: action_end(a, ccs_state_at(a, from, &one) ?: ccs_state_at(a, to, &two));
        if (r != EXIT_OK)
                return r;
        ccs_diff(&one, &two, d);
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o, s:o, s:o}", "session", a->argv[0], "from", json_u64(from),
                                                 "to", json_u64(to), "changes", ccs_diff_json(d)));
        if (ccs_diff_print(d, &out) < 0)
                return cli_fail(a->verb, EXIT_NOT, "out of memory");
        if (out.n > 0)
                fwrite(out.data, 1, out.n, stdout);
        return cli_done(a->verb, EXIT_OK);
}

static void ccs_print_turn(const json_t *o) {
        printf("%6" PRIu64 " %-27s %4" PRIu64 " tokens%s%s\n", json_number(o, "turn"), cli_text(o, "time"),
               json_number(o, "tokens"), json_is_true(json_object_get(o, "degraded")) ? "  degraded" : "",
               json_object_get(o, "undecided") ? "  (no decision in the turn before)" : "");
}

static int cmd_ccs_history(ActionArgs *a) {
        json_t *found = NULL;
        int r = action_begin(a, false) ?: action_end(a, cognition_history(a->t, a->argv[0], &found, &a->d));

        return r ?: action_rows(a, json_pack("{s:s, s:o}", "session", a->argv[0], "turns", found), "turns",
                                ccs_print_turn);
}

static void ccs_print_session(const json_t *o) {
        printf("%-32s %6" PRIu64 " %s\n", cli_text(o, "session"), json_number(o, "turn"), cli_text(o, "time"));
}

static int cmd_ccs_list(ActionArgs *a) {
        json_t *found = NULL;
        int r = action_begin(a, false) ?: action_end(a, cognition_list(a->t, &found));

        return r ?: action_rows(a, json_pack("{s:o}", "sessions", found), "sessions", ccs_print_session);
}

static int cmd_ccs_validate(ActionArgs *a) {
        static const char *const codes[] = {[CCS_E_SYNTAX] = "syntax", [CCS_E_FIELD] = "field", [CCS_E_COUNT] = "count",
                                            [CCS_E_ATOM] = "atom", [CCS_E_OVER_BUDGET] = "over_budget"};
        const char *path = a->argc > 0 ? a->argv[0] : "-";
        _cleanup_free_ char *text = NULL;
        _cleanup_ccs_ Ccs state = CCS_NULL;
        CcsBound bound = CCS_BOUND;
        size_t n = 0, bytes = 0, tokens = 0;
        int r = a->o.value['B'] ? ccs_bound(a, &bound) : EXIT_OK;

        r = r ?: ccs_read_file(a, path, CCS_TEXT_MAX, &text, &n);
        if (r != EXIT_OK)
                return r;
        r = ccs_parse(text, n, &state, &a->d) ?: ccs_validate(&state, &bound, &a->d);
        if (r > 0)
                return action_refused(a, (size_t)r < ARRAY_SIZE(codes) && codes[r] ? codes[r] : "not_valid", a->d.text);
        if (r < 0)
                return cli_fail(a->verb, EXIT_NOT, "%s", strerror(-r));
        ccs_measure(&state, &bytes, &tokens);
        return action_tell(a,
                           json_pack("{s:b, s:s, s:o, s:o}", "valid", 1, "schema", ccs_schema_hash(), "bytes",
                                     json_u64(bytes), "tokens", json_u64(tokens)),
                           "valid: %zu bytes, %zu tokens", bytes, tokens);
}

int cmd_ccs(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("role", 'F'), OPTION("recall", 'R'),
                                                OPTION("bound", 'B'), OPTION("turn", 'N'), OPTION("most", 'M'),
                                                OPTION("compressor", 'C'), OPTION("set", 'e'), OPTION("policy", 'P'), {0}};
        static const Action actions[] = {
                {"begin", "", 0, 0, "FRBMCeP", cmd_ccs_begin, true},
                {"turn", "SESSION", 1, 1, "P", cmd_ccs_turn},
                {"decide", "SESSION", 1, 1, "", cmd_ccs_decide},
                {"store", "SESSION", 1, 1, "", cmd_ccs_store},
                {"show", "SESSION", 1, 1, "N", cmd_ccs_show},
                {"diff", "SESSION TURN TURN", 3, 3, "", cmd_ccs_diff},
                {"history", "SESSION", 1, 1, "", cmd_ccs_history},
                {"validate", "at most one FILE", 0, 1, "B", cmd_ccs_validate},
                {"list", "", 0, 0, "", cmd_ccs_list},
        };

        return actions_main("ccs", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
