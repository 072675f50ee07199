/* Runs: CLI. */
#include "belief/region-events.h"
#include "belief/slot-view.h"
#include "cli/region-selector.h"
#include "cli/why-session.h"
#include "cli/with-store.h"
#include "ledger/ledger.h"
#include "ledger/proof.h"
#include "manifest/vocabulary.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe why [OPTIONS] REGION\n"
        "       lethe why [OPTIONS] --last\n"
        "       lethe why [OPTIONS] --session SESSION\n\n"
        "Tells how a region ended: the rule behind the end with limit and use, the denials and the manifest\n"
        "line that would allow each, the refused wishes of the manifest, and the entries in the ledger.\n"
        "With --session: how a session ended, and each of its turns.\n"
        HELP_REGION
        HELP_STORE
        HELP_LAST
        "  --session SESSION the session of that id, and its turns\n"
        "  --json            as JSON\n"
        "  -h, --help        print the help\n";

/* The events of a region that explain its end. */
typedef struct Story {
        /* with "seq", borrowed from `events`; NULL: absent */
        const json_t *allocated, *denied, *released, *recovered, *ended, *refused;
        json_t *events, *slots; /* arrays; slots: of slot.* events */
} Story;

static void why_story_deinit(Story *s) {
        json_decref(s->events);
        json_decref(s->slots);
}

/* Adds the verdict on a gathered proposal, once decided:
 * {"seq","reason","verdict","winner":{"seq","region","skill"}|null}. */
static int why_add_verdict(Txn *t, uint64_t gathered, json_t *o, Diag *reterr) {
        const char *slot = cli_text(o, "slot");
        _cleanup_json_ json_t *verdict = NULL, *said = NULL, *taken = NULL;
        const json_t *list, *winner;
        uint64_t seq;
        Bytes entry;
        int r = slot ? belief_verdict_after(t, slot, gathered, &verdict) : -EUCLEAN;

        if (r == -ENOENT)
                return 0;
        if (r == 0 && json_get_u64(json_object_get(verdict, "seq"), &seq) < 0)
                r = -EUCLEAN;
        if (r == 0)
                r = ledger_get(t, seq, &entry) ?: proof_entry(t, seq, entry, reterr);
        if (r != 0)
                return r;
        list = json_object_get(verdict, "proposals");
        winner = json_object_get(verdict, "winner");
        for (size_t i = 0; i < json_array_size(list); i++) {
                json_t *p = json_array_get(list, i), *at = json_object_get(p, "seq");

                if (!said && json_equal(at, json_object_get(o, "proposed")))
                        said = json_incref(json_object_get(p, "verdict"));
                if (!taken && json_equal(at, winner))
                        taken = json_pack("{s:O, s:O?, s:O?}", "seq", at, "region", json_object_get(p, "region"),
                                          "skill", json_object_get(p, "skill"));
        }
        return json_object_set_new(o, "verdict",
                                   json_pack("{s:o, s:O?, s:O?, s:O?}", "seq", json_u64(seq), "reason",
                                             json_object_get(verdict, "reason"), "verdict", said, "winner", taken)) < 0
                       ? -ENOMEM
                       : 0;
}

/* Only signed events are told. */
static int why_story_take(Story *s, Txn *t, uint64_t seq, Bytes entry, json_t *o, Diag *reterr) {
        const struct {
                const char *type;
                const json_t **place;
        } places[] = {
                {"region.allocated", &s->allocated}, {"region.denied", &s->denied},
                {"region.released", &s->released},   {"region.recovered", &s->recovered},
                {"invocation.ended", &s->ended},     {"region.refused", &s->refused},
        };
        const char *type = cli_text(o, "type");
        int r;

        if (!type)
                return 0;
        r = proof_entry(t, seq, entry, reterr);
        if (r != 0)
                return r;
        if (json_object_set_new(o, "seq", json_u64(seq)) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                if (strcmp(places[i].type, type) == 0) {
                        if (json_array_append(s->events, o) < 0)
                                return -ENOMEM;
                        *places[i].place = o;
                        return 0;
                }
        if (strncmp(type, "slot.", 5) != 0)
                return 0;
        if (json_array_append(s->slots, o) < 0)
                return -ENOMEM;
        return strcmp(type, "slot.gathered") == 0 ? why_add_verdict(t, seq, o, reterr) : 0;
}

static int why_story_read(Store *s, const char *region, Story *ret, Diag *reterr) {
        _cleanup_region_events_ RegionEvents w = REGION_EVENTS_NULL;
        _cleanup_txn_ Txn *t = NULL;
        int r = store_begin(s, false, &t, reterr);

        ret->events = json_array();
        ret->slots = json_array();
        if (r == 0)
                r = ret->events && ret->slots ? region_events(t, region, &w) : -ENOMEM;
        if (r == REGION_EVENTS_E_NONE)
                return 0;
        while (r == 0) {
                _cleanup_json_ json_t *o = NULL;
                uint64_t seq;
                Bytes e;

                r = region_events_next(&w, &seq, &e, &o) ?: why_story_take(ret, t, seq, e, o, reterr);
        }
        return r == -ENOENT ? 0 : r;
}

/* NULL: the resource is none of lethe.json's budgets. */
static const BudgetField *why_budget(const char *resource) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++)
                if (strcmp(budget_fields[i].name, resource) == 0)
                        return &budget_fields[i];
        return NULL;
}

/* The rule behind an end, in the words of lethe.json: owned or NULL. */
static char *why_rule(const Story *s) {
        const char *resource = cli_text(s->ended, "limiting_resource");
        char *out;

        if (resource)
                return asprintf(&out, "%s%s", why_budget(resource) ? "budgets." : "", resource) < 0 ? NULL : out;
        if (json_text_is(json_object_get(s->ended, "outcome"), "denied"))
                return strdup(s->denied ? "on_denial" : "policy");
        return NULL;
}

/* A member of an event, or null. */
static json_t *why_member(const json_t *event, const char *key) {
        json_t *v = json_object_get(event, key);

        return v ? json_incref(v) : json_null();
}

static json_t *why_story_json(const Story *s, const char *region) {
        static const char *const of_end[] = {"outcome", "exit_code", "signal", "limiting_resource", "limit",
                                             "used", "lent", "asked", "refused", "cause", "here"};
        _cleanup_free_ char *rule = why_rule(s);
        _cleanup_json_ json_t *o =
                json_pack("{s:i, s:s, s:b, s:O?, s:O?, s:s?, s:O?, s:b, s:o, s:O?, s:O?, s:O, s:{s:o, s:o, s:o, s:o}}",
                          "version", 1, "region", region, "alive", s->allocated && !s->ended, "skill",
                          json_object_get(s->allocated ? s->allocated : s->refused, "skill"), "tier",
                          json_object_get(s->allocated, "tier"), "rule", rule, "reason",
                          json_object_get(s->refused ? s->refused : s->ended, s->refused ? "message" : "reason"),
                          "recovered", s->recovered != NULL, "denials",
                          s->denied ? json_incref(json_object_get(s->denied, "denials")) : json_array(), "usage",
                          json_object_get(s->released, "usage"), "teardown", json_object_get(s->released, "teardown"),
                          "slots", s->slots, "ledger", "allocated", why_member(s->allocated, "seq"), "released",
                          why_member(s->released, "seq"), "ended", why_member(s->ended, "seq"), "refused",
                          why_member(s->refused, "seq"));

        if (o && cli_text(s->allocated, "session") &&
            (json_object_set(o, "session", json_object_get(s->allocated, "session")) < 0 ||
             json_object_set(o, "turn", json_object_get(s->allocated, "turn")) < 0))
                return NULL;
        for (size_t i = 0; o && i < ARRAY_SIZE(of_end); i++)
                if (json_object_set_new(o, of_end[i], why_member(s->ended, of_end[i])) < 0)
                        return NULL;
        return TAKE_PTR(o);
}

/* Prints a line: a name and hostile text. */
static void why_print_line(const char *name, const char *value) {
        printf("  %-10s  ", name);
        cli_print_safe(value);
        putchar('\n');
}

/* The way to a larger limit of the broken budget. */
static void why_print_allows(const Story *s, const BudgetField *f) {
        const char *by = cli_text(s->ended, "limit_by");

        printf("  %-10s  ", "");
        if (by && strcmp(by, "manifest") == 0)
                printf("lethe.json says so (budgets.%s); --%s can only lower the limit\n", f->name, f->option);
        else if (by && strcmp(by, "policy") == 0)
                printf("the operator's policy says so (max.%s); more is not to be had otherwise\n", f->name);
        else if (by && strcmp(by, "region_above") == 0)
                printf("the limit is a part of the limit of the region above\n");
        else
                printf("more with --%s, up to the limits of lethe.json and the operator's policy\n", f->option);
}

static void why_print_budget(const Story *s) {
        static const char *const numbers[] = {"limit", "used", "lent", "asked", "refused"};
        const char *resource = cli_text(s->ended, "limiting_resource"), *sep = ":";
        const BudgetField *field;
        uint64_t v;

        if (!resource || json_get_u64(json_object_get(s->ended, "limit"), &v) < 0)
                return;
        field = why_budget(resource);
        printf("  %-10s  %s%s", "rule", field ? "budgets." : "", resource);
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                char text[BUDGET_TEXT_MAX];

                if (json_get_u64(json_object_get(s->ended, numbers[i]), &v) < 0) /* only measured values are recorded */
                        continue;
                if (field && strcmp(numbers[i], "refused") != 0)
                        budget_format(field, v, text);
                else
                        snprintf(text, sizeof(text), "%" PRIu64, v);
                printf("%s %s %s%s", sep, numbers[i], text, strcmp(numbers[i], "refused") == 0 ? " times" : "");
                sep = ",";
        }
        if (field && (json_text_is(json_object_get(s->ended, "limit_by"), "default") ||
                      json_text_is(json_object_get(s->ended, "limit_by"), "option")))
                printf("; --%s allows more", field->option);
        putchar('\n');
        if (field)
                why_print_allows(s, field);
}

static void why_print_denials(const Story *s) {
        const json_t *list = json_object_get(s->denied, "denials");
        const uint64_t n = cli_u64(s->released, "denials");

        if (json_array_size(list) == 0) {
                if (n > 0)
                        printf("  %-10s  %" PRIu64 " times; not recorded in detail at lineage detail stats\n", "denied",
                               n);
                return;
        }
        printf("  denied\n");
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *d = json_array_get(list, i);
                const char *allow = cli_text(d, "allow_with");

                printf("    ");
                cli_print_safe(cli_text(d, "operation") ?: "?");
                putchar(' ');
                cli_print_safe(cli_text(d, "object") ?: "");
                printf("  (%" JSON_INTEGER_FORMAT " times, rule %s)\n", cli_integer(d, "count"),
                       cli_text(d, "rule") ?: "?");
                printf("      %s", allow ? "allowed by: " : "no manifest line allows the operation");
                cli_print_safe(allow ?: "");
                putchar('\n');
        }
}

/* Prints the requests that were not granted, or those raised by a floor of the policy. */
static void why_print_changes(const Story *s, const char *member, const char *title) {
        const json_t *list = json_object_get(json_object_get(s->allocated, "grant"), member);

        if (json_is_object(list)) /* too long for an entry: only the number is recorded */
                printf("  %-10s  %" JSON_INTEGER_FORMAT " fields without room in the record\n", title,
                       cli_integer(list, "cut"));
        for (size_t i = 0; i < json_array_size(list); i++) {
                const bool standard = json_is_true(json_object_get(json_array_get(list, i), "default"));
                const char *const keys[] = {"field", "asked", "granted", "rule"}, *const before[] = {
                                                                                          "",
                                                                                          standard ? ": default "
                                                                                                   : ": asked ",
                                                                                          ", granted ", "; rule: "};

                printf("  %-10s  ", i == 0 ? title : "");
                for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
                        printf("%s", before[k]);
                        cli_print_safe(cli_text(json_array_get(list, i), keys[k]) ?: "?");
                }
                putchar('\n');
        }
}

static void why_print_end(const Story *s) {
        const char *outcome = cli_text(s->ended, "outcome"), *reason = cli_text(s->ended, "reason");
        const json_t *code = json_object_get(s->ended, "exit_code"), *sig = json_object_get(s->ended, "signal");

        printf("  %-10s  %s", "ended", outcome ? outcome : "?");
        if (json_is_integer(code))
                printf(" with code %" JSON_INTEGER_FORMAT, json_integer_value(code));
        if (json_is_integer(sig))
                printf(" by signal %" JSON_INTEGER_FORMAT " (%s)", json_integer_value(sig),
                       strsignal((int)json_integer_value(sig)));
        if (reason && *reason) {
                printf(": ");
                cli_print_safe(reason);
        }
        putchar('\n');
}

static void why_print_here(const Story *s) {
        const char *here = cli_text(s->ended, "here");

        if (!here)
                return;
        printf("  %-10s  --here would give \"", "hint");
        cli_print_safe(here);
        printf("\" of the caller's folder\n");
}

/* Prints the region's proposal for a slot with a rule, and the verdict. */
static void why_print_gathered(const json_t *e) {
        const json_t *verdict = json_object_get(e, "verdict"), *winner = json_object_get(verdict, "winner");
        const char *said = cli_text(verdict, "verdict"), *region = cli_text(winner, "region"),
                   *skill = cli_text(winner, "skill"), *reason = cli_text(verdict, "reason");

        if (!verdict) {
                printf(": gathered, and not decided yet");
                return;
        }
        printf(": %s", said ? said : "?");
        if (said && strcmp(said, "won") != 0 && region) {
                printf("; the value of region %s was taken, skill ", region);
                cli_print_safe(skill ? skill : "?");
        } else if (!region)
                printf("; no value was taken (%s)", reason ? reason : "?");
        printf("  (verdict %" JSON_INTEGER_FORMAT ")", cli_integer(verdict, "seq"));
}

static void why_print_slots(const Story *s) {
        bool first = true;

        for (size_t i = 0; i < json_array_size(s->slots); i++) {
                const json_t *e = json_array_get(s->slots, i);
                const char *type = cli_text(e, "type"), *slot = cli_text(e, "slot"), *code = cli_text(e, "code"),
                           *message = cli_text(e, "message");

                if (strcmp(type, "slot.refused") != 0 && strcmp(type, "slot.discarded") != 0 &&
                    strcmp(type, "slot.gathered") != 0)
                        continue;
                printf("  %-10s  %s ", first ? "slots" : "", type);
                first = false;
                cli_print_safe(slot ? slot : "");
                if (strcmp(type, "slot.gathered") == 0)
                        why_print_gathered(e);
                else if (cli_text(e, "reason"))
                        printf(": %s", cli_text(e, "reason"));
                if (code)
                        printf(": %s", code);
                if (message) {
                        printf(": ");
                        cli_print_safe(message);
                }
                putchar('\n');
        }
}

/* The reasons for a grade "partial" although each byte that was held was overwritten. */
static void why_print_unstopped(const json_t *counts) {
        const json_int_t processes = cli_integer(counts, "processes_missed"), threads = cli_integer(counts, "registers_missed");

        if (processes > 0)
                printf("  %-10s  missed: the memory of %" JSON_INTEGER_FORMAT " process%s, killed just while exiting\n", "", processes,
                       processes == 1 ? "" : "es");
        if (threads > 0)
                printf("  %-10s  missed: the registers of %" JSON_INTEGER_FORMAT " thread%s, killed just while exiting (a few hundred bytes in the kernel)\n",
                       "", threads, threads == 1 ? "" : "s");
}

static void why_print_teardown(const json_t *t) {
        const char *reason;
        const json_t *missed = json_object_get(t, "bytes_missed"), *not_covered = json_object_get(t, "not_covered");
        json_t *n;

        printf("  %-10s  discipline %s, grade %s: %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
               " bytes overwritten and read back\n",
               "teardown", cli_text(t, "discipline") ?: "?", cli_text(t, "grade") ?: "?",
               cli_integer(t, "bytes_verified"), cli_integer(t, "bytes_held"));
        json_object_foreach((json_t *)missed, reason, n)
                printf("  %-10s  missed: %" JSON_INTEGER_FORMAT " bytes (%s)\n", "", json_integer_value(n), reason);
        why_print_unstopped(json_object_get(t, "counts"));
        if (json_array_size(not_covered) > 0) {
                printf("  %-10s  not covered:", "");
                for (size_t i = 0; i < json_array_size(not_covered); i++)
                        printf("%s %s", i > 0 ? "," : "", json_text(json_array_get(not_covered, i)));
                putchar('\n');
        }
        if (cli_integer(t, "bound_usec") > 0 && cli_integer(t, "usec") > cli_integer(t, "bound_usec"))
                printf("  %-10s  took %" JSON_INTEGER_FORMAT " us, longer than the bound of %" JSON_INTEGER_FORMAT " us\n",
                       "", cli_integer(t, "usec"), cli_integer(t, "bound_usec"));
}

/* Prints a refusal by a gate: the region never began, and so has no end. */
static void why_print_refusal(const Story *s, const char *region) {
        printf("region %s\n", region);
        why_print_line("skill", cli_text(json_object_get(s->refused, "skill"), "name") ?: "?");
        why_print_line("refused", cli_text(s->refused, "message") ?: "?");
        printf("  %-10s  no program ran, and no memory was held\n", "");
        printf("  %-10s  refused %" JSON_INTEGER_FORMAT "\n", "ledger", cli_integer(s->refused, "seq"));
}

static void why_print_story(const Story *s, const char *region) {
        const json_t *skill = json_object_get(s->allocated, "skill"), *t = json_object_get(s->released, "teardown");
        const char *digest = cli_text(skill, "digest"), *tier = cli_text(s->allocated, "tier");

        printf("region %s\n", region);
        why_print_line("skill", cli_text(skill, "name") ?: "?");
        if (digest)
                why_print_line("", digest);
        if (tier)
                why_print_line("tier", tier);
        if (cli_text(s->allocated, "session"))
                printf("  %-10s  %s, turn %" PRIu64 "\n", "session", cli_text(s->allocated, "session"),
                       cli_u64(s->allocated, "turn"));
        if (!s->ended) {
                printf("  %-10s  not yet: alive, or the supervisor died ('lethe ps' tells)\n", "ended");
        } else {
                why_print_end(s);
                why_print_budget(s);
                why_print_here(s);
        }
        why_print_changes(s, "raised", "raised");
        why_print_changes(s, "reductions", "not given");
        why_print_denials(s);
        why_print_slots(s);
        if (t)
                why_print_teardown(t);
        printf("  %-10s  allocated %" PRIu64, "ledger", cli_u64(s->allocated, "seq"));
        if (s->ended)
                printf(", released %" PRIu64 ", ended %" PRIu64, cli_u64(s->released, "seq"), cli_u64(s->ended, "seq"));
        putchar('\n');
}

int cmd_why(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION_LAST, OPTION("session", 'N'), {0}};
        _cleanup_(why_story_deinit) Story story = {0};
        _cleanup_store_ Store *s = NULL;
        StoreOptions o = {.help = help};
        RegionSelector selector = {0};
        RegionId region;
        Diag d = {0};
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        selector.last = o.value['L'];
        if (o.value['N'] && (selector.last || optind < argc || !region_id_valid(o.value['N'])))
                return cli_usage("why", "--session takes a session's id, and does not go with REGION or --last");
        if (o.value['N'])
                return with_store("why", &o, STORE_READ, &s) ?: why_session(s, o.value['N'], o.json);
        r = selector_argument("why", &selector, argc, argv)
                        ?: with_store("why", &o, STORE_READ, &s)
                        ?: selector_region("why", s, &selector, region);
        if (r != EXIT_OK)
                return r;
        r = why_story_read(s, region, &story, &d);
        if (r != 0)
                return with_store_failed("why", s, r, &d);
        if (!story.allocated && !story.refused)
                return cli_fail("why", EXIT_NOT, "region %s is not in this store's ledger", region);
        if (story.ended && !story.released)
                return cli_fail("why", EXIT_NOT, "region %s ended without a release; `lethe audit` tells more", region);
        if (o.json)
                return cli_print("why", EXIT_OK, why_story_json(&story, region));
        if (story.refused)
                why_print_refusal(&story, region);
        else
                why_print_story(&story, region);
        return cli_done("why", EXIT_OK);
}
