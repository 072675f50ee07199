/* Runs: CLI. */
#include "base/io.h"
#include "base/clock.h"
#include "base/size.h"
#include "belief/slot-view.h"
#include "cli/actions.h"
#include "cli/slot-judge.h"
#include "engine/arbitration.h"
#include "engine/round.h"
#include "engine/slot-erase.h"
#include "schema/jsonschema.h"
#include "invoke/advise.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe slot define NAME --schema FILE|- [--arbitrate RULE]\n"
        "       lethe slot put NAME VALUE|- [--expect VERSION]\n"
        "       lethe slot get NAME [--version VERSION]\n"
        "       lethe slot list\n"
        "       lethe slot show NAME\n"
        "       lethe slot history NAME\n"
        "       lethe slot ask NAME --question ID [--deadline TIME]\n"
        "       lethe slot decide NAME [--judge SKILL [--timeout TIME] [--policy FILE]]\n"
        "       lethe slot erase NAME [--version VERSION | --older] [--reason TEXT]\n"
        "       lethe slot watch NAME [--count N]\n\n"
        "Slots persist: named values, each typed by a JSON Schema, with every version kept.\n"
        "VALUE is JSON (a string needs its quotes: '\"text\"'; put -- before a negative number);\n"
        "- reads standard input. put with --expect "
        "writes only over VERSION (0: no value yet). watch prints each new version. erase removes the values of all\n"
        "versions for ever, of one version, or of all but the newest (--older); hashes and history stay. After the\n"
        "newest version is erased the slot has no value until the next put.\n\n"
        "With --arbitrate many regions may write the slot at once. Values of regions that ended well are gathered,\n"
        "N values, or until decide; then the rule takes a value, or no value:\n"
        "  first/N           the earliest\n"
        "  cas/N             the earliest that expects the slot's version\n"
        "  priority:A,B/N    the earliest of skill A, else of B\n"
        "  quorum:K/N        the value of most regions, at least K\n"
        "  confidence:F/N    the value of the highest confidence, at least F\n"
        "  judge/N           the value that a judge chooses (decide --judge); needs a round\n"
        "A quorum as JSON may compare a member of the values: {\"rule\":\"quorum\",\"of\":3,\"least\":2,\"by\":\"answer\"}.\n"
        "ask opens a round: from then on only regions count that begin in the round and end before the deadline\n"
        "(a time from now: 10m). A verdict closes the round; the next ask closes an open round without a value.\n"
        "decide --judge asks a skill, in a region of its own, which of the round's values is taken, if any. Under each\n"
        "rule a judge may close an open round. A judge that fails or answers badly closes the round without a value.\n\n"
        HELP_STORE
        "  --older           with erase: all versions but the newest\n"
        "  --reason TEXT     with erase: why, for the history\n"
        "  --judge SKILL     with decide: a registered skill, or a skill's folder\n"
        "  --timeout TIME    with --judge: the longest time for the answer (at most and by default " ADVISE_TIMEOUT ")\n"
        "  --policy FILE     with --judge: the policy file (default: $LETHE_POLICY, else the usual places)\n"
        "  --json            JSON objects with all members\n"
        "  -h, --help        print the help\n";

/* The text of `arg`, or of standard input, or of a file, as JSON. Returns EXIT_*. */
static int slot_read_json(ActionArgs *a, const char *what, const char *arg, bool is_file, unsigned depth,
                          json_t **ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = 0;

        if (strcmp(arg, "-") == 0)
                r = io_read_all(STDIN_FILENO, SLOT_VALUE_MAX, &text, &n);
        else if (is_file)
                r = io_read_file(AT_FDCWD, arg, SLOT_VALUE_MAX, &text, &n);
        else if (!(text = strndup(arg, n = strlen(arg))))
                r = -ENOMEM;
        if (r == -EFBIG) {
                char message[96];

                snprintf(message, sizeof(message), "%s: more than %d bytes", what, SLOT_VALUE_MAX);
                return action_refused(a, engine_code_name(ENGINE_E_TOO_LARGE), message);
        }
        if (r < 0)
                return cli_fail("slot", EXIT_NOT, "%s %s cannot be read: %s", what, arg, strerror(-r));
        return action_parse(a, what, text, n, SLOT_VALUE_MAX, depth,
                            is_file || strcmp(arg, "-") == 0 ? "" : " (a string needs quotes: '\"text\"')", ret);
}

/* A member of belief/'s objects: "?" when absent. */
static const char *slot_text(const json_t *o, const char *key) {
        return cli_text(o, key) ?: "?";
}

static void slot_print_skill(const json_t *o) {
        printf(" region %s  skill ", slot_text(o, "region"));
        cli_print_safe(slot_text(o, "skill"));
}

/* Prints a verdict, and below each proposal with its result. */
static void slot_print_verdict(const json_t *v) {
        const json_t *list = json_object_get(v, "proposals"), *judge = json_object_get(v, "judge");
        const char *who = cli_text(v, "who");

        printf("verdict %-6s seq %-8" PRIu64 " %s  %s, %zu proposal%s: ", slot_text(json_object_get(v, "rule"), "rule"),
               cli_u64(v, "seq"), slot_text(v, "time"), who ? who : "enough gathered", json_array_size(list),
               json_array_size(list) == 1 ? "" : "s");
        if (json_is_null(json_object_get(v, "winner")))
                printf("no value taken, %s\n", slot_text(v, "reason"));
        else
                printf("version %" PRIu64 "\n", cli_u64(v, "version") + 1);
        if (judge) {
                printf("        judge %s", slot_text(judge, "region"));
                action_show(json_object_get(judge, "skill"), "name", "  skill ");
                action_show(judge, "fault", "  ");
                putchar('\n');
        }
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *p = json_array_get(list, i), *sure = json_object_get(p, "confidence");

                printf("        %-14s seq %-8" PRIu64, slot_text(p, "verdict"), cli_u64(p, "seq"));
                slot_print_skill(p);
                if (sure)
                        printf("  confidence %g", json_number_value(sure));
                putchar('\n');
        }
}

/* Prints {"rule","gathered"}: the rule and the undecided proposals. Returns 0 or -errno. */
static int slot_print_waiting(const json_t *o) {
        const json_t *rule = json_object_get(o, "rule"), *list = json_object_get(o, "gathered"),
                     *round = json_object_get(o, "round");
        int r;

        printf("  rule     ");
        r = print_json(stdout, rule);
        if (round)
                printf("  round    %s, seq %" PRIu64 "%s%s: %s\n", slot_text(round, "question"), cli_u64(round, "seq"),
                       cli_text(round, "until") ? ", until " : "", cli_text(round, "until") ?: "",
                       !json_is_true(json_object_get(round, "open"))  ? "closed"
                       : json_is_true(json_object_get(round, "over")) ? "over, without a verdict so far"
                                                                      : "open");
        printf("  gathered %zu of %" PRIu64 "\n", json_array_size(list), cli_u64(rule, "of"));
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *p = json_array_get(list, i);

                printf("        seq %-8" PRIu64 " %s ", cli_u64(p, "seq"), slot_text(p, "time"));
                slot_print_skill(p);
                putchar('\n');
        }
        return r;
}

static int slot_define(ActionArgs *a) {
        _cleanup_json_ json_t *schema = NULL, *rule = NULL;
        const char *name = a->argv[0];
        uint64_t seq = 0;
        int r;

        if (!a->o.value['S'])
                return cli_usage("slot", "define needs --schema FILE");
        if (a->o.value['R']) {
                ArbitrationRule parsed;

                if (arbitration_rule_parse_text(a->o.value['R'], &parsed, &a->d) != 0)
                        return cli_usage("slot", "--arbitrate: %s", a->d.text);
                rule = arbitration_rule_json(&parsed);
                if (!rule)
                        return cli_fail("slot", EXIT_NOT, "%s", strerror(ENOMEM));
        }
        r = slot_read_json(a, "the schema", a->o.value['S'], true, JSONSCHEMA_DEPTH_MAX, &schema)
                    ?: action_begin(a, true)
                    ?: action_end(a, engine_slot_define_ruled(a->t, action_who(), name, schema, rule, &seq, &a->d));
        return r ?: action_tell(a, json_pack("{s:s, s:o}", "slot", name, "seq", json_u64(seq)),
                                "%s is defined (seq %" PRIu64 ")", name, seq);
}

#define DEADLINE_MOST_USEC (8760 * UINT64_C(3600000000))

static int slot_ask(ActionArgs *a) {
        uint64_t seq = 0, usec = 0;
        int r;

        if (!a->o.value['Q'])
                return cli_usage("slot", "ask needs --question ID");
        if (a->o.value['D'] &&
            (duration_parse(a->o.value['D'], &usec) != 0 || usec == 0 || usec > DEADLINE_MOST_USEC))
                return cli_usage("slot", "--deadline: '%s' is not a time from now of at most 8760h: 10m, 2h",
                                 a->o.value['D']);
        r = action_begin(a, true)
                    ?: action_end(a, engine_slot_ask(a->t, action_who(), a->argv[0], a->o.value['Q'],
                                                     usec ? clock_real_usec() + usec : 0, &seq, &a->d));
        return r ?: action_tell(a,
                                json_pack("{s:s, s:s, s:o}", "slot", a->argv[0], "question", a->o.value['Q'], "seq",
                                          json_u64(seq)),
                                "%s: question %s is open (seq %" PRIu64 ")", a->argv[0], a->o.value['Q'], seq);
}

static int slot_put(ActionArgs *a) {
        _cleanup_json_ json_t *value = NULL;
        uint64_t seq = 0, version = 0, expect = 0;
        int r = action_number(a, "--expect", a->o.value['e'], &expect)
                        ?: slot_read_json(a, "the value", a->argv[1], false, JSON_DEPTH_DEFAULT, &value)
                        ?: action_begin(a, true)
                        ?: action_end(a, engine_slot_put(a->t, action_who(), a->argv[0], value,
                                                         a->o.value['e'] ? (int64_t)expect : -1, &seq, &version,
                                                         &a->d));

        return r ?: action_tell(a,
                                json_pack("{s:s, s:o, s:o}", "slot", a->argv[0], "slot_version", json_u64(version),
                                          "seq", json_u64(seq)),
                                "%s is at version %" PRIu64 " (seq %" PRIu64 ")", a->argv[0], version, seq);
}

/* Objects of belief/ use "version" for the slot's version; at the top of the output "version" is the format's. */
static int slot_rename_version(json_t *o) {
        return json_object_set(o, "slot_version", json_object_get(o, "version")) |
               json_object_set_new(o, "version", json_integer(1));
}

static int slot_print_value(json_t *o, bool json) {
        if (!json)
                return print_json(stdout, json_object_get(o, "value"));
        return slot_rename_version(o) < 0 ? -ENOMEM : print_json(stdout, o);
}

static int slot_get(ActionArgs *a) {
        _cleanup_json_ json_t *o = NULL;
        uint64_t version = 0;
        int r = cli_number("slot", "--version", a->o.value['v'], 1, COUNT_MOST, &version)
                        ?: action_begin(a, false)
                        ?: action_end(a, belief_slot_get(a->t, a->argv[0], version, &o, &a->d));

        if (r != EXIT_OK)
                return r;
        return slot_print_value(o, a->o.json) < 0 ? cli_fail("slot", EXIT_NOT, "out of memory")
                                                  : cli_done("slot", EXIT_OK);
}

static void slot_print_row(const json_t *o) {
        const char *held = cli_text(json_object_get(o, "held"), "region");
        const json_t *rule = json_object_get(o, "rule");

        printf("%-32s  version %-6" PRIu64 "%s%s", cli_text(o, "slot"), cli_u64(o, "version"),
               held ? "  held by region " : "", held ? held : "");
        if (json_object_get(o, "erased"))
                printf("  erased");
        if (rule)
                printf("  %s: %" PRIu64 " of %" PRIu64 " gathered", cli_text(rule, "rule"), cli_u64(o, "gathered"),
                       cli_u64(rule, "of"));
        putchar('\n');
}

static int slot_list(ActionArgs *a) {
        json_t *list = NULL;
        int r = action_begin(a, false) ?: action_end(a, belief_slot_list(a->t, &list));

        return r ?: action_rows(a, json_pack("{s:o}", "slots", list), "slots", slot_print_row);
}

static int slot_decide(ActionArgs *a) {
        _cleanup_json_ json_t *verdict = NULL;
        uint64_t seq = 0;
        Diag why = {0};
        int r;

        if (!a->o.value['J'] && (a->o.value['T'] || a->o.value['P']))
                return cli_usage("slot", "--%s is an option of the judge: give --judge SKILL, too",
                                 a->o.value['T'] ? "timeout" : "policy");
        r = a->o.value['J'] ? slot_judge(a, &seq, &verdict, &why)
                            : action_begin(a, true) ?: action_end(a, engine_slot_decide(a->t, action_who(), a->argv[0],
                                                                                        &seq, &verdict, &a->d));
        if (r != EXIT_OK)
                return r;
        if (json_object_set_new(verdict, "seq", json_u64(seq)) < 0 ||
            (*why.text && json_object_set_new(verdict, "why", json_string(why.text)) < 0) ||
            (a->o.json && slot_rename_version(verdict) < 0))
                return cli_fail("slot", EXIT_NOT, "out of memory");
        if (a->o.json)
                return cli_print("slot", EXIT_OK, TAKE_PTR(verdict));
        if (json_is_null(json_object_get(verdict, "winner"))) {
                printf("no value is taken for %s: %s", a->argv[0], slot_text(verdict, "reason"));
                action_show(verdict, "why", ", ");
                printf(" (seq %" PRIu64 ")\n", seq);
        } else
                printf("%s is at version %" PRIu64 " (verdict at seq %" PRIu64 ")\n", a->argv[0],
                       cli_u64(verdict, "version") + 1, seq);
        return cli_done("slot", EXIT_OK);
}

/* Reads all but values: definition, version, holder, and the undecided proposals. *ret: the slot's object;
 * *ret_verdict: the newest verdict, or null. */
static int slot_read_all(Txn *t, const char *name, json_t **ret, json_t **ret_verdict, Diag *reterr) {
        _cleanup_json_ json_t *waits = NULL, *list = NULL;
        json_t *o;
        int r = belief_gathered(t, name, &waits, reterr)
                        ?: belief_verdict_newest(t, name, ret_verdict, reterr) ?: belief_slot_list(t, &list);

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
                if (strcmp(slot_text(o = json_array_get(list, i), "slot"), name) == 0)
                        *ret = json_incref(o);
        if (r == 0 && (json_object_update(*ret, waits ? waits : *ret) < 0 ||
                       (waits && json_object_set(*ret, "verdict", *ret_verdict) < 0) || slot_rename_version(*ret) < 0))
                r = -ENOMEM;
        return r;
}

static int slot_show(ActionArgs *a) {
        _cleanup_json_ json_t *o = NULL, *verdict = NULL;
        int r = action_begin(a, false) ?: action_end(a, slot_read_all(a->t, a->argv[0], &o, &verdict, &a->d));

        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return cli_print("slot", EXIT_OK, TAKE_PTR(o));
        printf("%s\n  version  %" PRIu64 "\n  defined  seq %" PRIu64 "\n", a->argv[0], cli_u64(o, "slot_version"),
               cli_u64(o, "defined"));
        if (json_object_get(o, "held"))
                printf("  held     by region %s, version %" PRIu64 "\n",
                       slot_text(json_object_get(o, "held"), "region"),
                       cli_u64(json_object_get(o, "held"), "version"));
        if (!json_object_get(o, "verdict")) /* the slot has no rule */
                return cli_done("slot", EXIT_OK);
        r = slot_print_waiting(o);
        if (!json_is_null(verdict))
                slot_print_verdict(verdict);
        return r < 0 ? cli_fail("slot", EXIT_NOT, "out of memory") : cli_done("slot", EXIT_OK);
}

static int slot_history(ActionArgs *a) {
        _cleanup_json_ json_t *list = NULL, *verdicts = NULL;
        size_t next = 0, i;
        json_t *o;
        int r = action_begin(a, false)
                        ?: action_end(a, belief_slot_history(a->t, a->argv[0], &list, &a->d)
                                                  ?: belief_verdict_list(a->t, a->argv[0], &verdicts, &a->d));

        if (r != EXIT_OK || a->o.json)
                return r ?: action_print(a, json_pack("{s:s, s:O, s:O}", "slot", a->argv[0], "history", list,
                                                      "verdicts", verdicts));
        json_array_foreach(list, i, o) {
                for (; cli_u64(json_array_get(verdicts, next), "seq") < cli_u64(o, "seq") &&
                       next < json_array_size(verdicts);
                     next++)
                        slot_print_verdict(json_array_get(verdicts, next));
                printf("version %-6" PRIu64 " seq %-8" PRIu64 " %s  %s%s  %" PRIu64 " bytes  sha256 %s%s\n",
                       cli_u64(o, "version"), cli_u64(o, "seq"), cli_text(o, "time"),
                       cli_text(o, "region") ? "region " : "", cli_text(o, "region") ?: slot_text(o, "who"),
                       cli_u64(o, "bytes"), cli_text(o, "sha256"), json_object_get(o, "erased") ? "  erased" : "");
        }
        for (; next < json_array_size(verdicts); next++)
                slot_print_verdict(json_array_get(verdicts, next));
        return cli_done("slot", EXIT_OK);
}

static int slot_erase(ActionArgs *a) {
        SlotErasure e = {.name = a->argv[0], .from = 1, .to = SLOT_NEWEST, .reason = a->o.value['w'],
                         .who = action_who()};
        uint64_t seq = 0, n = 0, newest = 0;
        int r = action_line(a, "--reason", a->o.value['w'])
                        ?: cli_number("slot", "--version", a->o.value['v'], 1, COUNT_MOST, &e.from);

        if (r == EXIT_OK && a->o.value['v'] && a->o.value['o'])
                return cli_usage("slot", "erase takes --version or --older, not both");
        if (a->o.value['v'])
                e.to = e.from;
        r = r ?: action_begin(a, true);
        if (r == EXIT_OK && a->o.value['o']) {
                r = belief_slot_version(a->t, e.name, &newest, &a->d);
                if (r == 0 && newest < 2)
                        r = diag(&a->d, ENGINE_E_NO_VALUE, "slot %s has no older version", e.name);
                if (r != 0)
                        return action_end(a, r);
                e.to = newest - 1;
        }
        r = r ?: action_end(a, engine_slot_erase(a->t, &e, &seq, &n, &a->d));
        return r ?: action_tell(a,
                                json_pack("{s:s, s:o, s:o}", "slot", e.name, "erased", json_u64(n), "seq",
                                          json_u64(seq)),
                                "%" PRIu64 " value%s of %s %s erased (seq %" PRIu64 ")\n"
                                "`lethe compact` removes the erased bytes from the file", n, n == 1 ? "" : "s",
                                e.name, n == 1 ? "is" : "are", seq);
}

typedef struct SlotWatch {
        ActionArgs *a;
        Store *store;
        uint64_t seen;        /* the version last printed, or of the begin */
        uint64_t left, count; /* versions to print; count 0: no end */
        Diag d;
} SlotWatch;

/* Prints each version after w->seen. */
static int slot_print_since(void *userdata, bool *ret_end) {
        SlotWatch *w = userdata;
        _cleanup_txn_ Txn *t = NULL;
        uint64_t version;
        int r = store_begin(w->store, false, &t, &w->d) ?: belief_slot_version(t, w->a->argv[0], &version, &w->d);

        while (r == 0 && w->seen < version && !*ret_end) {
                _cleanup_json_ json_t *o = NULL;

                r = belief_slot_get(t, w->a->argv[0], ++w->seen, &o, &w->d);
                if (r == ENGINE_E_ERASED) {
                        r = 0;
                        continue;
                }
                r = r ?: slot_print_value(o, w->a->o.json);
                *ret_end = w->count > 0 && --w->left == 0;
        }
        return r;
}

static int slot_watch(ActionArgs *a) {
        _cleanup_store_ Store *s = NULL;
        SlotWatch w = {.a = a};
        Txn *t;
        int r = cli_number("slot", "--count", a->o.value['n'], 1, COUNT_MOST, &w.count)
                        ?: with_store("slot", &a->o, STORE_READ, &s),
            code;

        if (r != EXIT_OK)
                return r;
        w.store = s;
        w.left = w.count;
        r = store_begin(s, false, &t, &w.d);
        if (r == 0) {
                r = belief_slot_version(t, a->argv[0], &w.seen, &w.d);
                store_abort(t);
        }
        r = r ?: cli_follow("slot", slot_print_since, &w, &code);
        return r != 0 ? action_failed(a, s, r, &w.d) : code;
}

int cmd_slot(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("schema", 'S'), OPTION("arbitrate", 'R'),
                                                OPTION("expect", 'e'), OPTION("version", 'v'), OPTION("count", 'n'),
                                                OPTION_FLAG("older", 'o'), OPTION("reason", 'w'),
                                                OPTION("question", 'Q'), OPTION("deadline", 'D'),
                                                OPTION("judge", 'J'), OPTION("timeout", 'T'), OPTION("policy", 'P'),
                                                {0}};
        static const Action actions[] = {
                {"define", "1 argument, NAME", 1, 1, "SR", slot_define, true},
                {"put", "2 arguments, NAME and VALUE|-", 2, 2, "e", slot_put},
                {"get", "1 argument, NAME", 1, 1, "v", slot_get},
                {"list", "", 0, 0, "", slot_list},
                {"show", "1 argument, NAME", 1, 1, "", slot_show},
                {"history", "1 argument, NAME", 1, 1, "", slot_history},
                {"ask", "1 argument, NAME", 1, 1, "QD", slot_ask},
                {"decide", "1 argument, NAME", 1, 1, "JTP", slot_decide},
                {"erase", "1 argument, NAME", 1, 1, "vow", slot_erase},
                {"watch", "1 argument, NAME", 1, 1, "n", slot_watch},
        };

        return actions_main("slot", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
