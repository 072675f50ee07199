/* Runs: tests. Random histories of governed memory through the pipeline: rows that are reopened, items that wait and expire, disputes that are settled in each
 * way, rounds, erasures. Then the tables are the fold of the ledger, to the byte, the audit holds, no item changed another incarnation of a row than it could
 * mean, none that had expired changed anything, and no proposal of another round became a value.
 * LETHE_HISTORIES: how many (6). */
#include "audit/audit.h"
#include "dispute/settle-dispute.h"
#include "engine/erase-row.h"
#include "engine/project.h"
#include "engine/wait.h"
#include "tests/governed/history-rounds.h"
#include "tests/governed/pipeline.h"
#include "record/event.h"

#include <stdio.h>

#define STEPS 160
#define COMMITS_MOST 24 /* of the scope, in which an item of these histories may be decided */

typedef struct Story {
        Pipe p;
        uint64_t state;
        WaitLimits limits;
        Rounds rounds;
        unsigned settled, erased, bound, dropped, reopened, expired;
} Story;

static unsigned roll(void *user, unsigned sides) {
        Story *s = user;

        s->state ^= s->state << 13; /* xorshift64 */
        s->state ^= s->state >> 7;
        s->state ^= s->state << 17;
        return (unsigned)((s->state >> 11) % sides);
}

/* Few names and few things: rows of one name end and come back, statements meet their opposites. */
static void note(Story *s) {
        static const char *const issues[] = {"disk_full", "login_bug", "fan_stuck"}, *const things[] = {"the disk of the rack is full", "the login fails", "the fan is stuck"};
        static const char *const ids[] = {"rule_a", "rule_b", "rule_c", "rule_d"}, *const moods[] = {"must", "must not", "may", "need not", "may only"};
        static const char *const deeds[] = {"use the network", "use TLS", "log requests", "wait at least 10 seconds", "wait at most 5 seconds"};
        unsigned i = roll(s, 3), k = roll(s, 4);
        char text[200];

        switch (roll(s, 10)) {
        case 0:
        case 1:
                snprintf(text, sizeof(text), "issue %s: %s", issues[i], things[i]);
                break;
        case 2:
                snprintf(text, sizeof(text), "resolve %s: done", issues[i]);
                break;
        case 3:
                snprintf(text, sizeof(text), "resolved: done\nref: %s", roll(s, 2) ? things[i] : "the thing of yesterday");
                break;
        case 4:
                snprintf(text, sizeof(text), "issue: %s again", things[i]);
                break;
        case 5:
                snprintf(text, sizeof(text), "invalidate constraint %s: no more", ids[k]);
                break;
        case 6:
                snprintf(text, sizeof(text), "decision: skills %s %s", moods[roll(s, 5)], deeds[roll(s, 5)]);
                break;
        case 7:
                snprintf(text, sizeof(text), "constraint: skills %s %s", moods[roll(s, 5)], deeds[roll(s, 5)]);
                break;
        default:
                snprintf(text, sizeof(text), "constraint %s: skills %s %s", ids[k], moods[roll(s, 5)], deeds[roll(s, 5)]);
        }
        pipe_note(&s->p, s->p.run.id, NOTE_AGENT, text);
}

static void promote(Story *s) {
        bool of_store;
        Promoted now;

        /* Seldom, all that waits is too old. */
        s->limits.age_usec = roll(s, 16) ? WAIT_AGE_USEC : 0;
        cr_assert_eq(belief_promote(s->p.f.store, &(Promoting){.run = s->p.run.id, .batch = PROMOTE_BATCH_MAX, .policy = &RESOLVE_POLICY_DEFAULT,
                                                               .who = PIPE_WHO, .limits = &s->limits}, &now, &of_store, &s->p.f.d), 0, "%s", s->p.f.d.text);
}

/* What is refused changes nothing: the transaction is dropped. */
static void end(Story *s, Txn *t, int r, unsigned *done) {
        cr_assert_geq(r, 0, "%d", r);
        *done += r == 0;
        if (r == 0)
                store_fixture_commit(&s->p.f, t);
        else
                store_abort(t);
}

static void settle(Story *s) {
        static const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        const Trying by = {.policy = &policy, .who = PIPE_WHO, .limits = &s->limits};
        _cleanup_json_ json_t *found = NULL, *done = NULL;
        Txn *t = store_fixture_begin(&s->p.f, true);
        const json_t *pairs, *pair;
        Diag d;
        int r = dispute_list(t, SCOPE_DEFAULT, &found, &d);

        if (r == ENGINE_E_NO_SCOPE) {
                store_abort(t);
                return;
        }
        cr_assert_eq(r, 0);
        pairs = json_object_get(found, "disputes");
        pair = json_array_size(pairs) ? json_array_get(pairs, roll(s, (unsigned)json_array_size(pairs))) : NULL;
        if (!pair || roll(s, 6) == 0)
                r = dispute_settle_by_age(t, SCOPE_DEFAULT, roll(s, 2), &by, &done, &d);
        else
                r = dispute_settle(t, &(Settlement){.scope = SCOPE_DEFAULT, .name = json_str(pair, roll(s, 2) ? "a" : "b"), .both = roll(s, 2), .by = &by,
                                                    .keep = NULL}, &done, &d);
        end(s, t, r, &s->settled);
}

static void keep(Story *s) {
        static const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        const Trying by = {.policy = &policy, .who = PIPE_WHO, .limits = &s->limits};
        _cleanup_json_ json_t *found = NULL, *done = NULL;
        Txn *t = store_fixture_begin(&s->p.f, true);
        const json_t *pair;
        Diag d;

        cr_assert_eq(dispute_list(t, SCOPE_DEFAULT, &found, &d), 0, "%s", d.text);
        pair = json_array_get(json_object_get(found, "disputes"), 0);
        if (!pair) {
                store_abort(t);
                return;
        }
        end(s, t, dispute_settle(t, &(Settlement){.scope = SCOPE_DEFAULT, .name = json_str(pair, "a"), .keep = json_str(pair, roll(s, 2) ? "a" : "b"), .by = &by},
                                 &done, &d), &s->settled);
}

static void erase(Story *s) {
        static const struct {
                Kind kind;
                const char *id;
        } rows[] = {{KIND_ISSUE, "disk_full"}, {KIND_ISSUE, "login_bug"}, {KIND_CONSTRAINT, "rule_a"}, {KIND_CONSTRAINT, "rule_b"}};
        unsigned i = roll(s, ARRAY_SIZE(rows));
        _cleanup_json_ json_t *done = NULL;
        Txn *t = store_fixture_begin(&s->p.f, true);
        Diag d;

        end(s, t, engine_row_erase(t, &(RowErasure){.scope = SCOPE_DEFAULT, .kind = rows[i].kind, .id = rows[i].id, .cascade = roll(s, 2), .who = PIPE_WHO},
                                   &done, &d), &s->erased);
}

static void decide(Story *s) {
        static const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        const Trying by = {.policy = &policy, .who = PIPE_WHO, .limits = &s->limits};
        Txn *t = store_fixture_begin(&s->p.f, true);
        _cleanup_applied_ Applied done = {0};
        uint64_t scope, seq;
        Retried tried;
        Diag d;
        Wait w;

        if (scope_get(t, SCOPE_DEFAULT, &scope) < 0 || wait_next(t, 0, scope, WAIT_OPEN, &w) < 0) {
                store_abort(t);
                return;
        }
        switch (roll(s, 3)) {
        case 0:
                end(s, t, belief_bind(t, w.id, roll(s, 2) ? "disk_full" : "fan_stuck", &by, &done, &d), &s->bound);
                break;
        case 1:
                end(s, t, engine_wait_drop(t, PIPE_WHO, w.id, "no more", &seq, &d), &s->dropped);
                break;
        default:
                cr_assert_eq(belief_retry(t, scope, 0, &by, &tried, &d), 0, "%s", d.text);
                store_fixture_commit(&s->p.f, t);
        }
}

/* G-62: a change of a waiting item that no person chose is of a row that was open when the item began to wait. */
static void incarnations(Story *s, Txn *t) {
        _cleanup_json_ json_t *opened = json_object();
        uint64_t n, last;

        cr_assert_eq(ledger_state(t, &n, &last), 0);
        for (uint64_t seq = 0; seq < n; seq++) {
                _cleanup_json_ json_t *e = NULL, *body = NULL;
                char name[128];
                uint64_t pending, since;
                bool live, person;

                cr_assert_eq(event_get(t, seq, &e), 0);
                if (strncmp(json_str(e, "type"), "canon.", 6) != 0)
                        continue;
                snprintf(name, sizeof(name), "%s/%s", json_str(e, "kind"), json_str(e, "id"));
                live = json_get_u64(json_object_get(opened, name), &since) == 0;
                cr_assert(record_body(t, seq, &body) <= 0);
                person = !body || json_text_is(json_object_get(json_object_get(body, "source_ref"), "resolution_reason"), "person");
                if (!person && live && json_get_u64(json_object_get(e, "pending"), &pending) == 0)
                        cr_expect_lt(since, pending, "seq %lu: %s was opened by %lu", seq, name, since);
                if (strcmp(json_str(e, "type"), "canon.delete") == 0 || !record_state_live(record_state_from_name(json_str(e, "state"))))
                        json_object_del(opened, name);
                else if (!live) {
                        s->reopened++;
                        json_object_set_new(opened, name, json_u64(seq));
                }
        }
}

/* G-63: an item that has expired changes nothing, nor does one beyond the limit of commits; none expires within both limits. */
static void expiries(Story *s, Txn *t) {
        _cleanup_json_ json_t *since = json_object(), *expired = json_object();
        uint64_t n, last, commits = 0, pending, then;
        bool counts = false;

        cr_assert_eq(ledger_state(t, &n, &last), 0);
        for (uint64_t seq = 0; seq < n; seq++) {
                _cleanup_json_ json_t *e = NULL;
                const json_t *id;
                char name[24];
                size_t i;

                cr_assert_eq(event_get(t, seq, &e), 0);
                snprintf(name, sizeof(name), "%lu", seq);
                if (strcmp(json_str(e, "type"), "note.pending") == 0) {
                        counts = true;
                        json_object_set_new(since, name, json_u64(commits));
                }
                json_array_foreach(json_object_get(e, "expired"), i, id) {
                        cr_assert_eq(json_get_u64(id, &pending), 0);
                        snprintf(name, sizeof(name), "%lu", pending);
                        cr_assert_eq(json_get_u64(json_object_get(since, name), &then), 0, "event %lu: %s", seq, name);
                        cr_expect(json_text_is(json_object_get(e, "limit"), "age") || commits - then > COMMITS_MOST, "event %lu: %s is not old", seq, name);
                        cr_expect_null(json_object_get(expired, name), "event %lu: %s expires again", seq, name);
                        json_object_set_new(expired, name, json_true());
                        s->expired++;
                }
                if (strncmp(json_str(e, "type"), "canon.", 6) != 0)
                        continue;
                if (json_get_u64(json_object_get(e, "pending"), &pending) == 0) {
                        snprintf(name, sizeof(name), "%lu", pending);
                        cr_expect_null(json_object_get(expired, name), "event %lu is of item %s, which had expired", seq, name);
                        cr_assert_eq(json_get_u64(json_object_get(since, name), &then), 0);
                        cr_expect_leq(commits - then, COMMITS_MOST, "event %lu is of item %s, which is overdue", seq, name);
                }
                commits += counts;
        }
}

static void holds(Story *s, uint64_t seed) {
        _cleanup_json_ json_t *found = NULL;
        Txn *t = store_fixture_begin(&s->p.f, true);
        FoldResult fold;
        Diag d;

        cr_assert_eq(engine_fold_compare(t, &fold, &d), 0, "%s", d.text);
        cr_expect_eq(fold.differ, 0, "seed %lu: %s %s is %s", seed, fold.how ? table_name(fold.table) : "", fold.key, fold.how);
        cr_assert_eq(audit_state(t, &found, &d), 0, "%s", d.text);
        cr_expect(json_is_true(json_object_get(found, "intact")), "seed %lu: %s", seed, json_dumps(found, 0));
        incarnations(s, t);
        expiries(s, t);
        rounds_hold(&s->rounds, t);
        for (const Table *table = projected_tables; *table != TABLE_COUNT_; table++)
                cr_assert_eq(table_del_prefix(t, *table, BYTES(NULL, 0)), 0);
        cr_assert_eq(engine_fold_rebuild(t, &fold, &d), 0, "%s", d.text);
        cr_assert_eq(engine_fold_compare(t, &fold, &d), 0, "%s", d.text);
        cr_expect_eq(fold.differ, 0, "seed %lu", seed);
        store_abort(t);
}

/* As pipe_init(), for a store with regions. */
static void begin(Story *s) {
        s->limits = (WaitLimits){.age_usec = WAIT_AGE_USEC, .commits = COMMITS_MOST};
        store_fixture_init(&s->p.f, STORE_SUPERVISE);
        s->p.run = pipe_begin(&s->p, "alice");
        gather_define(&s->p.f, ROUND_SLOT, "quorum:2/2");
        gather_define(&s->p.f, "b", NULL);
        gather_define(&s->p.f, "plain", NULL);
}

// G-29, G-30, G-62, G-63, G-69, G-74, M-65, M-66
Test(histories, are_folds_of_the_ledger) {
        const char *many = getenv("LETHE_HISTORIES");
        unsigned histories = many ? (unsigned)atoi(many) : 6, settled = 0, erased = 0, decided = 0, reopened = 0, expired = 0, asked = 0,
                 written = 0, discarded = 0, refused = 0;

        for (uint64_t seed = 1; seed <= histories; seed++) {
                Story s = {.state = seed * UINT64_C(0x9e3779b97f4a7c15)};

                begin(&s);
                for (unsigned i = 0; i < STEPS; i++) {
                        note(&s);
                        if (roll(&s, 4) == 0)
                                promote(&s);
                        if (roll(&s, 12) == 0)
                                settle(&s);
                        if (roll(&s, 20) == 0 && i > 20)
                                keep(&s);
                        if (roll(&s, 16) == 0)
                                erase(&s);
                        if (roll(&s, 12) == 0)
                                decide(&s);
                        if (roll(&s, 2) == 0)
                                rounds_step(&s.p.f, &s.rounds, roll, &s);
                }
                rounds_end(&s.p.f, &s.rounds);
                promote(&s);
                holds(&s, seed);
                settled += s.settled;
                erased += s.erased;
                decided += s.bound + s.dropped;
                reopened += s.reopened;
                expired += s.expired;
                asked += s.rounds.asked;
                written += s.rounds.written;
                discarded += s.rounds.discarded;
                refused += s.rounds.refused;
                gather_audit(&s.p.f);
                pipe_deinit(&s.p);
        }
        /* the histories have what they are about */
        cr_expect(settled > histories && erased > histories && decided > histories && reopened > 4 * histories && expired > histories, "%u %u %u %u %u", settled,
                  erased, decided, reopened, expired);
        cr_log_info("%u settled, %u erased, %u decided, %u reopened, %u expired; %u questions, %u values, %u proposals discarded, %u refused", settled, erased,
                    decided, reopened, expired, asked, written, discarded, refused);
        cr_expect(asked > histories && written > histories / 2 && discarded > histories && refused > histories, "%u %u %u %u", asked, written, discarded, refused);
}
