/* Runs: CLI. `lethe why --session`: how a session went, turn by turn (I-87). Only entries that are proved to stand
 * under the signed checkpoint are told. */
#include "cli/why-session.h"

#include "base/id.h"
#include "belief/region-events.h"
#include "ledger/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Borrowed from their owners in `turns` and `between`. */
typedef struct SessionStory {
        const char *session;
        json_t *allocated, *opened, *ended, *over; /* owned; NULL: absent. over: invocation.ended of the session */
        json_t *turns;   /* owned: [{"turn","region","seq","carried":[],"dropped",…}], in the order of the turns */
        json_t *by_region; /* owned: region -> its object of `turns` */
        json_t *between; /* owned: what an operator carried, and new hosts: [{"type","seq",…}] */
} SessionStory;

static void why_session_deinit(SessionStory *s) {
        json_t *all[] = {s->allocated, s->opened, s->ended, s->over, s->turns, s->by_region, s->between};

        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                json_decref(all[i]);
}

static int why_session_turn(SessionStory *s, const json_t *o) {
        json_t *turn = json_pack("{s:O?, s:O, s:O, s:[], s:n, s:n}", "turn", json_object_get(o, "turn"), "region",
                                 json_object_get(o, "region"), "seq", json_object_get(o, "seq"), "carried", "dropped",
                                 "outcome");

        if (json_object_set_new(s->by_region, cli_text(o, "region"), turn) < 0)
                return -ENOMEM;
        return json_array_append(s->turns, turn) < 0 ? -ENOMEM : 0;
}

static int why_session_carried(SessionStory *s, json_t *turn, json_t *o) {
        json_t *item;

        if (!turn)
                return json_array_append(s->between, o) < 0 ? -ENOMEM : 0;
        item = json_pack("{s:O?, s:O?, s:O?, s:O?}", "section", json_object_get(o, "section"), "version",
                         json_object_get(o, "version"), "bytes", json_object_get(o, "bytes"), "sha256",
                         json_object_get(o, "sha256"));
        return json_array_append_new(json_object_get(turn, "carried"), item) < 0 ? -ENOMEM : 0;
}

/* The end of a turn's region. */
static int why_session_turn_ended(json_t *turn, const json_t *o) {
        static const char *const members[] = {"outcome", "exit_code", "signal", "reason", "limiting_resource", "limit"};

        for (size_t i = 0; i < ARRAY_SIZE(members); i++)
                if (json_object_get(o, members[i]) &&
                    json_object_set(turn, members[i], json_object_get(o, members[i])) < 0)
                        return -ENOMEM;
        return json_object_set(turn, "ended", json_object_get(o, "seq")) < 0 ? -ENOMEM : 0;
}

static int why_session_take(SessionStory *s, json_t *o, const char *type) {
        const char *region = cli_text(o, "region");
        json_t *turn = region ? json_object_get(s->by_region, region) : NULL;
        const bool own = region && strcmp(region, s->session) == 0;

        if (strcmp(type, "region.allocated") == 0 && json_text_is(json_object_get(o, "session"), s->session))
                return why_session_turn(s, o);
        if (strcmp(type, "region.allocated") == 0 && own)
                s->allocated = json_incref(o);
        else if (strcmp(type, "session.opened") == 0 && own)
                s->opened = json_incref(o);
        else if (strcmp(type, "session.ended") == 0 && own)
                s->ended = json_incref(o);
        else if (strcmp(type, "invocation.ended") == 0 && own)
                s->over = json_incref(o);
        else if (strcmp(type, "session.carried") == 0)
                return why_session_carried(s, turn, o);
        else if (strcmp(type, "session.resumed") == 0)
                return json_array_append(s->between, o) < 0 ? -ENOMEM : 0;
        else if (strcmp(type, "session.dropped") == 0 && turn)
                return json_object_set_new(turn, "dropped",
                                           json_pack("{s:O?, s:O?}", "count", json_object_get(o, "count"), "reason",
                                                     json_object_get(o, "reason"))) < 0
                               ? -ENOMEM
                               : 0;
        else if (strcmp(type, "invocation.ended") == 0 && turn)
                return why_session_turn_ended(turn, o);
        return 0;
}

/* Events of the session's region, events that name the session, and ends of its turns. */
static bool why_session_is_about(const SessionStory *s, const json_t *o) {
        const char *region = cli_text(o, "region");

        return json_text_is(json_object_get(o, "session"), s->session) ||
               (region && (strcmp(region, s->session) == 0 || json_object_get(s->by_region, region)));
}

static bool why_session_may_be_about(Bytes e) {
        return memmem(e.p, e.n, "\"session", 8) || memmem(e.p, e.n, "\"region.allocated\"", 18) ||
               memmem(e.p, e.n, "\"invocation.ended\"", 18);
}

static int why_session_entry(SessionStory *s, Txn *t, uint64_t seq, Bytes e, Diag *reterr) {
        _cleanup_json_ json_t *o = NULL;
        const char *type;
        int r = why_session_may_be_about(e) ? json_parse_own(e.p, e.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o) : 0;

        type = o ? cli_text(o, "type") : NULL;
        if (r != 0 || !type || !why_session_is_about(s, o))
                return r;
        r = proof_entry(t, seq, e, reterr);
        if (r == 0 && json_object_set_new(o, "seq", json_u64(seq)) < 0)
                r = -ENOMEM;
        return r ?: why_session_take(s, o, type);
}

static int why_session_read(Store *store, SessionStory *s, Diag *reterr) {
        _cleanup_region_events_ RegionEvents first = REGION_EVENTS_NULL;
        _cleanup_walk_ LedgerWalk w = {0};
        _cleanup_txn_ Txn *t = NULL;
        int r = store_begin(store, false, &t, reterr);

        s->turns = json_array();
        s->between = json_array();
        s->by_region = json_object();
        if (r == 0)
                r = s->turns && s->between && s->by_region ? region_events(t, s->session, &first) : -ENOMEM;
        if (r == REGION_EVENTS_E_NONE)
                return 0;
        if (r == 0)
                r = ledger_walk(t, first.first, &w);
        for (uint64_t i = first.first; r == 0 && i < first.size && !s->over; i++) {
                uint64_t seq;
                Bytes e;

                r = ledger_next(&w, &seq, &e) ?: why_session_entry(s, t, seq, e, reterr);
        }
        return r;
}

static json_t *why_session_json(const SessionStory *s) {
        return json_pack("{s:i, s:s, s:b, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O*, s:O, s:O, s:{s:O?, s:O?}}", "version", 1,
                         "session", s->session, "alive", !s->ended, "skill", json_object_get(s->opened, "skill"), "uid",
                         json_object_get(s->opened, "uid"), "on_crash", json_object_get(s->opened, "on_crash"), "reason",
                         json_object_get(s->ended, "reason"), "by", json_object_get(s->ended, "by"), "carried",
                         json_object_get(s->ended, "carried"), "erased", json_object_get(s->ended, "erased"), "turns", s->turns, "between", s->between, "ledger",
                         "opened", json_object_get(s->opened, "seq"), "ended", json_object_get(s->ended, "seq"));
}

static void why_session_print_turn(const json_t *turn, const char *title) {
        const char *outcome = cli_text(turn, "outcome"), *sep = "; carried ";
        const json_t *list = json_object_get(turn, "carried"), *dropped = json_object_get(turn, "dropped"),
                     *code = json_object_get(turn, "exit_code"), *signo = json_object_get(turn, "signal");

        printf("  %-10s  %" PRIu64 "  %s  %s", title, cli_u64(turn, "turn"), cli_text(turn, "region"),
               outcome ?: "not over");
        if (json_is_integer(code))
                printf(" with code %" JSON_INTEGER_FORMAT, json_integer_value(code));
        if (json_is_integer(signo))
                printf(" by signal %" JSON_INTEGER_FORMAT, json_integer_value(signo));
        if (cli_text(turn, "limiting_resource"))
                printf(" (%s)", cli_text(turn, "limiting_resource"));
        for (size_t i = 0; i < json_array_size(list); i++, sep = ", ") {
                printf("%s", sep);
                cli_print_safe(cli_text(json_array_get(list, i), "section") ?: "?");
                printf("@%" PRIu64, cli_u64(json_array_get(list, i), "version"));
        }
        if (json_is_object(dropped))
                printf("; %" PRIu64 " dropped: %s", cli_u64(dropped, "count"), cli_text(dropped, "reason") ?: "?");
        putchar('\n');
}

static void why_session_print_between(const SessionStory *s) {
        for (size_t i = 0; i < json_array_size(s->between); i++) {
                const json_t *o = json_array_get(s->between, i);

                printf("  %-10s  ", i == 0 ? "between" : "");
                if (json_text_is(json_object_get(o, "type"), "session.resumed"))
                        printf("after turn %" PRIu64 ": goes on at host %" PRIu64, cli_u64(o, "turns"),
                               cli_u64(o, "supervisor"));
                else {
                        printf("after turn %" PRIu64 ": %s carried ", cli_u64(o, "turn"), cli_text(o, "who") ?: "?");
                        cli_print_safe(cli_text(o, "section") ?: "?");
                        printf("@%" PRIu64, cli_u64(o, "version"));
                }
                printf("  (%" PRIu64 ")\n", cli_u64(o, "seq"));
        }
}

static void why_session_print(const SessionStory *s) {
        const json_t *skill = json_object_get(s->opened, "skill");

        printf("session %s\n  %-10s  ", s->session, "skill");
        cli_print_safe(cli_text(skill, "name") ?: "?");
        printf("\n  %-10s  %s\n", "", cli_text(skill, "digest") ?: "");
        if (!s->ended)
                printf("  %-10s  not yet ('lethe session list' tells)\n", "ended");
        else
                printf("  %-10s  %s%s%s%s\n", "ended", cli_text(s->ended, "reason") ?: "?",
                       cli_text(s->ended, "by") ? " by " : "", cli_text(s->ended, "by") ?: "",
                       json_object_get(s->ended, "erased") ? "; the loop is erased" : "");
        for (size_t i = 0; i < json_array_size(s->turns); i++)
                why_session_print_turn(json_array_get(s->turns, i), i == 0 ? "turns" : "");
        why_session_print_between(s);
        printf("  %-10s  opened %" PRIu64, "ledger", cli_u64(s->opened, "seq"));
        if (s->ended)
                printf(", ended %" PRIu64, cli_u64(s->ended, "seq"));
        putchar('\n');
}

int why_session(Store *store, const char *session, bool json) {
        _cleanup_(why_session_deinit) SessionStory s = {.session = session};
        Diag d = {};
        int r = why_session_read(store, &s, &d);

        if (r != 0)
                return with_store_failed("why", store, r, &d);
        if (!s.opened)
                return cli_refuse("why", EXIT_NOT, "no_record", "%s is no session in this store's ledger", session);
        if (json)
                return cli_print("why", EXIT_OK, why_session_json(&s));
        why_session_print(&s);
        return cli_done("why", EXIT_OK);
}
