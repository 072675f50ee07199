/* Runs: CLI. */
#include "belief/own-notes.h"
#include "belief/promote.h"
#include "cli/actions.h"
#include "engine/scope.h"
#include "engine/wait-age.h"
#include "invoke/run.h"
#include "region/region-key.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe pending list [--scope SCOPE] [--all|--expired]\n"
        "       lethe pending show ID\n"
        "       lethe pending retry [--scope SCOPE] [--most N]\n"
        "       lethe pending bind ID TARGET\n"
        "       lethe pending drop ID --reason TEXT\n"
        "       lethe pending erase ID\n\n"
        "Requests for changes without a decision: the row that each request means is not clear. A change that\n"
        "touches a request's row starts a new attempt; after 20 attempts an item is stuck. retry tries all\n"
        "open items now. bind names the row of an item, drop states that no row fits: a person decides, and\n"
        "the ledger records the person. erase removes note and request of a dropped or expired item for ever.\n"
        "Beyond a limit of age (policy: pending.age, pending.commits) an item is overdue: the next change of its\n"
        "scope, or retry, closes the item as expired.\n\n" HELP_STORE
        "  --scope SCOPE     with list and retry: items of the scope (default: all)\n"
        "  --all             with list: also resolved, dropped and expired items\n"
        "  --expired         with list: the expired items alone\n"
        "  --most N          with retry: at most N, oldest first\n"
        "  --reason TEXT     with drop\n"
        "  --policy FILE     the policy file (default: $LETHE_POLICY, else the usual places)\n"
        HELP_JSON "\nExit status: 0; 1 refused, or no such item; 2 usage.\n";

static int pending_scope(const ActionArgs *a, uint64_t *ret, Diag *reterr) {
        *ret = 0;
        return a->o.value['S'] ? scope_find(a->t, a->o.value['S'], ret, reterr) : 0;
}

/* A decision of a person, with thresholds and limits as pending_read_policy() read them. */
static WaitLimits pending_limits;
static ResolvePolicy pending_thresholds;
static Trying pending_by_person(void) {
        return (Trying){.policy = &pending_thresholds, .who = action_who(), .keys = &region_keys, .limits = &pending_limits};
}

static int pending_read_policy(const ActionArgs *a) {
        _cleanup_policy_ Policy *policy = NULL;
        Diag d = {0};
        int r = policy_load(a->o.value['P'], &policy, &d);

        if (r != 0)
                return cli_refuse(a->verb, EXIT_NOT, "policy", "%s", r > 0 ? d.text : strerror(-r));
        pending_limits = run_wait_limits(policy);
        pending_thresholds = run_resolve_policy(policy);
        return EXIT_OK;
}

/* own_pending_show(), with the thresholds of the policy. */
static int pending_tell(Txn *t, Bucket *b, const Wait *w, json_t **ret) {
        const Trying by = pending_by_person();

        return own_pending_show(t, b, w, &by, ret);
}

static int pending_read_list(ActionArgs *a, json_t *list) {
        _cleanup_bucket_ Bucket b = {0};
        uint64_t scope, from = 0;
        Wait w;
        int r = pending_scope(a, &scope, &a->d);

        for (; r == 0 && (r = wait_next(a->t, from, scope, 0, &w)) == 0; from = w.id + 1) {
                json_t *o = NULL;

                if (a->o.value['E'] ? w.state != WAIT_EXPIRED : !a->o.value['L'] && !wait_state_waits(w.state))
                        continue;
                r = pending_tell(a->t, &b, &w, &o);
                if (r == 0 && json_array_append_new(list, o) < 0)
                        r = -ENOMEM;
        }
        return r == -ENOENT ? 0 : r;
}

static void pending_print(const json_t *o) {
        const json_t *now = json_object_get(o, "now"), *expired = json_object_get(o, "expired"), *candidate;
        size_t i;

        printf("%8" JSON_INTEGER_FORMAT " %-8s %-11s %-10s %-13s %2" JSON_INTEGER_FORMAT, cli_integer(o, "pending"),
               cli_text(o, "state"), cli_text(o, "kind"), cli_text(o, "operation"), cli_text(now ?: o, "reason"),
               cli_integer(o, "attempts"));
        cli_print_text("  ", json_object_get(o, "note"));
        json_array_foreach(json_object_get(now, "candidates"), i, candidate) {
                printf("         %s  score %.3f", cli_text(candidate, "id"),
                       json_number_value(json_object_get(candidate, "score")));
                if (json_object_get(candidate, "probability"))
                        printf("  probability %.3f",
                               (double)cli_integer(candidate, "probability") / RESOLVE_WHOLE);
                putchar('\n');
        }
        if (json_object_get(now, "message"))
                cli_print_text("         ", json_object_get(now, "message"));
        if (expired)
                printf("         expired at %s: beyond the limit pending.%s\n", cli_text(expired, "time"),
                       cli_text(expired, "limit"));
}

static int pending_list(ActionArgs *a) {
        _cleanup_json_ json_t *list = json_array();
        int r;

        if (a->o.value['L'] && a->o.value['E'])
                return cli_usage(a->verb, "list takes --all (each item) or --expired (these alone), not both");
        r = pending_read_policy(a) ?: action_begin(a, false) ?: action_end(a, pending_read_list(a, list));
        return r ?: action_rows(a, json_pack("{s:O}", "items", list), "items", pending_print);
}

static int pending_read(Txn *t, uint64_t id, json_t **ret, Diag *reterr) {
        _cleanup_bucket_ Bucket b = {0};
        Wait w;
        int r = wait_get(t, id, &w);

        return r == -ENOENT ? diag(reterr, ENGINE_E_NO_RECORD, "there is no pending item %" PRIu64, id)
               : r < 0      ? r
                            : pending_tell(t, &b, &w, ret);
}

static int pending_show(ActionArgs *a) {
        json_t *found = NULL;
        uint64_t id;
        int r = action_number(a, "ID", a->argv[0], &id)
                        ?: pending_read_policy(a)
                        ?: action_begin(a, false)
                        ?: action_end(a, pending_read(a->t, id, &found, &a->d));

        return r ?: action_dump(a, found);
}

static int pending_try_again(ActionArgs *a, uint64_t most, Retried *ret) {
        const Trying by = pending_by_person();
        uint64_t scope;
        int r = pending_scope(a, &scope, &a->d);

        return r ?: belief_retry(a->t, scope, most, &by, ret, &a->d);
}

static int pending_retry(ActionArgs *a) {
        Retried tried = {0};
        uint64_t most = 0;
        int r = action_number(a, "--most", a->o.value['M'], &most);

        if (r == EXIT_OK && a->o.value['M'] && most == 0) /* 0 means all items, in belief_retry() */
                r = cli_usage(a->verb, "--most: '%s' is not a number from 1", a->o.value['M']);
        r = r ?: pending_read_policy(a) ?: action_begin(a, true) ?: action_end(a, pending_try_again(a, most, &tried));
        if (r != EXIT_OK)
                return r;
        r = action_tell(a,
                        json_pack("{s:o, s:o, s:o, s:o}", "tried", json_u64(tried.tried), "resolved",
                                  json_u64(tried.resolved), "expired", json_u64(tried.expired), "damaged",
                                  json_u64(tried.damaged)),
                        "%" PRIu64 " looked at, %" PRIu64 " resolved, %" PRIu64 " expired", tried.tried, tried.resolved,
                        tried.expired);
        if (r != EXIT_OK || a->o.json || !tried.damaged)
                return r;
        printf("%" PRIu64
               " cannot be decided, because the items or their candidate rows cannot be read: `lethe verify` names the damage\n",
               tried.damaged);
        return cli_done(a->verb, EXIT_OK);
}

static int pending_bind(ActionArgs *a) {
        const Trying by = pending_by_person();
        Applied applied = {0};
        uint64_t id;
        int r = action_number(a, "ID", a->argv[0], &id)
                        ?: pending_read_policy(a)
                        ?: action_begin(a, true)
                        ?: action_end(a, belief_bind(a->t, id, a->argv[1], &by, &applied, &a->d));

        if (r == EXIT_OK && applied.outcome != NOTE_COMMITTED)
                r = action_refused(a, applied.code, applied.why.text);
        else if (r == EXIT_OK)
                r = action_tell(a, applied_json(&applied), "%s %s is %s, event %" PRIu64, kind_name(applied.kind),
                                applied.id, record_state_name(applied.state), applied.seq);
        applied_deinit(&applied);
        return r;
}

static int pending_drop(ActionArgs *a) {
        uint64_t id, seq = 0;
        int r = action_number(a, "ID", a->argv[0], &id);

        if (r == EXIT_OK && !a->o.value['R'])
                r = cli_usage(a->verb, "drop needs --reason TEXT");
        r = r ?: action_line(a, "--reason", a->o.value['R'])
              ?: action_begin(a, true)
              ?: action_end(a, engine_wait_drop(a->t, action_who(), id, a->o.value['R'], &seq, &a->d));
        return r ?: action_tell(a, json_pack("{s:o, s:o}", "pending", json_u64(id), "seq", json_u64(seq)),
                                "dropped, event %" PRIu64, seq);
}

/* A resolved item goes with its row. */
static int pending_erase_dropped(ActionArgs *a, uint64_t id, uint64_t *ret_seq) {
        Wait w;
        int r = wait_get(a->t, id, &w);

        if (r == -ENOENT)
                return diag(&a->d, ENGINE_E_NO_RECORD, "there is no pending item %" PRIu64, id);
        if (r < 0)
                return r;
        if (w.erased || (w.state != WAIT_DROPPED && w.state != WAIT_EXPIRED))
                return diag(&a->d, ENGINE_E_BAD_STATE, "pending item %" PRIu64 " is %s: %s", id,
                            w.erased ? "erased" : wait_state_name(w.state),
                            w.erased                      ? "nothing is left to erase"
                            : w.state == WAIT_RESOLVED ? "its text goes with its row (`lethe canon erase`)"
                                                       : "drop the item first");
        return engine_wait_erase(a->t, action_who(), id, NULL, ret_seq);
}

static int pending_erase(ActionArgs *a) {
        uint64_t id, seq = 0;
        int r = action_number(a, "ID", a->argv[0], &id)
                        ?: action_begin(a, true) ?: action_end(a, pending_erase_dropped(a, id, &seq));

        return r ?: action_tell(a, json_pack("{s:o, s:o}", "pending", json_u64(id), "seq", json_u64(seq)),
                                "erased, event %" PRIu64 "\n`lethe compact` removes the erased bytes from the file",
                                seq);
}

int cmd_pending(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,       OPTION("scope", 'S'),  OPTION_FLAG("all", 'L'),
                                                OPTION("most", 'M'), OPTION("reason", 'R'),
                                                OPTION_FLAG("expired", 'E'), OPTION("policy", 'P'), {0}};
        static const Action actions[] = {
                {"list", "", 0, 0, "SLEP", pending_list},   {"show", "ID", 1, 1, "P", pending_show},
                {"retry", "", 0, 0, "SMP", pending_retry}, {"bind", "ID TARGET", 2, 2, "P", pending_bind},
                {"drop", "ID", 1, 1, "R", pending_drop},
                {"erase", "ID", 1, 1, "", pending_erase},
        };

        return actions_main("pending", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
