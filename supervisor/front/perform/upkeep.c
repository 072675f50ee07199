#include "perform/upkeep.h"

#include "base/clock.h"
#include "engine/pass-history.h"
#include "engine/retention.h"
#include "engine/scope.h"
#include "memory/digest.h"
#include "record/event.h"
#include "spawn/find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_USEC UINT64_C(3600000000)
#define RETENTION_EVERY (HOUR_USEC / 6) /* between two looks for what is beyond its stay */
#define DELAY_FIRST UINT64_C(60000000)  /* after a failure; doubled after each further one */
#define DELAY_MOST (24 * HOUR_USEC)
#define ANSWER_MAX (1024 * 1024)
#define MESSAGE_MAX 256
#define UPKEEP_TOLD 100 /* a failure that is recorded */

static unsigned upkeep_reasons(unsigned said) {
        unsigned reasons = 0;

        for (size_t i = 0; policy_reason_words[i]; i++)
                if (said & 1U << i)
                        reasons |= 1U << reason_from_name(policy_reason_words[i]);
        return reasons;
}

static int upkeep_of_store(int r, Diag *reterr) {
        if (r < 0)
                return r;
        if (!*reterr->text)
                diag(reterr, r, "%s", store_strerror(r));
        return UPKEEP_E_STORE;
}

static int upkeep_scan(Upkeep *u, const Digest *d, json_t **ret, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        int r = store_begin(u->store, false, &t, reterr);

        if (r != 0)
                return upkeep_of_store(r, reterr);
        r = memory_scan(t, d->scope, d->reasons, ret, reterr);
        return r > 0 ? UPKEEP_E_REFUSED : r;
}

/* The routine runs in a region of its own: reads the scan, answers with proposals. */
static int upkeep_ask(Upkeep *u, const json_t *scan, const char *routine, json_t **ret, Diag *reterr) {
        bool own = !routine || strcmp(routine, POLICY_ROUTINE_OWN) == 0;
        _cleanup_free_ char *line = NULL, *answer = NULL, *skill = own ? find_skill("digest") : strdup(routine);
        size_t n;
        int r = skill ? json_canonical(scan, &line, &n) : -ENOENT;

        if (r < 0)
                return diag(reterr, UPKEEP_E_ROUTINE, "routine %s: %s", routine ? routine : POLICY_ROUTINE_OWN,
                            strerror(-r));
        u->advise.store = u->store;
        u->advise.policy = u->policy;
        u->advise.ask.skill = skill;
        u->advise.ask.foreign = own; /* the skill comes with Lethe, and is as trusted as the running program */
        r = advise_ask(&u->advise, line, &answer, reterr);
        u->advise.ask.skill = NULL;
        if (r == -ECANCELED)
                return diag(reterr, UPKEEP_E_CANCELLED, "ended by a signal");
        if (r == -EIO)
                return diag(reterr, UPKEEP_E_STORE, "the store failed");
        if (r != 0) {
                if (r < 0)
                        diag(reterr, 0, "%s", strerror(-r));
                diag_prefix(reterr, "routine %s", routine ? routine : POLICY_ROUTINE_OWN);
                return UPKEEP_E_ROUTINE;
        }
        r = json_parse(answer, strlen(answer), ANSWER_MAX, JSON_DEPTH_DEFAULT, ret, reterr);
        return r > 0 ? UPKEEP_E_ROUTINE : r;
}

/* Scans again within the writing transaction: the evidence is of the moment of the change. */
static int upkeep_decide(Upkeep *u, Digest *d, json_t **ret_found, Diag *reterr) {
        _cleanup_json_ json_t *scan = NULL;
        Diag own = {0};
        Txn *t;
        int r = store_begin(u->store, true, &t, reterr), e;

        if (r != 0)
                return upkeep_of_store(r, reterr);
        r = memory_scan(t, d->scope, d->reasons, &scan, reterr);
        d->scan = scan;
        r = r ?: memory_digest(t, d, ret_found, reterr);
        if (r < 0) {
                store_abort(t);
                return r;
        }
        e = store_commit(t, &own); /* a refusal, too, is recorded */
        if (e != 0) {
                *reterr = own;
                return upkeep_of_store(e, reterr);
        }
        return r > 0 ? UPKEEP_E_REFUSED : 0;
}

int upkeep_pass(Upkeep *u, const DigestPolicy *row, const char *routine, json_t **ret_found, Diag *reterr) {
        _cleanup_json_ json_t *scan = NULL, *proposed = NULL;
        Digest d = {.scope = row->scope, .automatic = upkeep_reasons(row->archive),
                    .automatic_removal = upkeep_reasons(row->remove), .approval = "policy_file", .apply = true,
                    .who = u->who, .routine = routine && strcmp(routine, POLICY_ROUTINE_OWN) != 0 ? routine : NULL,
                    .scheduled = true, .stay_usec = row->stay_usec, .now_usec = clock_real_usec()};
        int r;

        d.reasons = d.automatic | d.automatic_removal | REASONS_DEFAULT;
        r = upkeep_scan(u, &d, &scan, reterr) ?: upkeep_ask(u, scan, routine, &proposed, reterr);
        if (r != 0)
                return r;
        d.proposed = proposed;
        d.proposer = u->advise.region;
        return upkeep_decide(u, &d, ret_found, reterr);
}

/* A failure is recorded, and its work is not tried again before a growing delay is over. */
static int upkeep_fail(Upkeep *u, json_t *failed, const char *key, json_t *event, json_t *report, Diag *reterr) {
        _cleanup_json_ json_t *fields = event;
        const json_t *had = json_object_get(failed, key);
        uint64_t delay = had ? MIN((uint64_t)json_integer_value(json_array_get(had, 1)) * 2, DELAY_MOST) : DELAY_FIRST;
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r;

        if (!fields)
                return -ENOMEM;
        if (failed && json_object_set_new(failed, key, json_pack("[I, I]", (json_int_t)clock_mono_usec() + (json_int_t)delay,
                                                                 (json_int_t)delay)) < 0)
                return -ENOMEM;
        if (json_array_append(json_object_get(report, "failed"), fields) < 0)
                return -ENOMEM;
        r = store_begin(u->store, true, &t, &d)
                    ?: event_append(
                               t, &(Event){.type = "schedule.failed", .who = u->who, .fields = TAKE_PTR(fields)}, NULL)
                    ?: store_commit(TAKE_PTR(t), &d);
        if (r > 0)
                *reterr = d;
        return r > 0 ? upkeep_of_store(r, reterr) : r;
}

/* *ret_wait: usec until the next try; 0: at once. */
static void upkeep_wait(const json_t *failed, const char *key, uint64_t *ret_wait) {
        const json_t *had = json_object_get(failed, key);
        const uint64_t until = had ? (uint64_t)json_integer_value(json_array_get(had, 0)) : 0, now = clock_mono_usec();

        *ret_wait = until > now ? until - now : 0;
}

static const char *upkeep_code(int r) {
        return r == UPKEEP_E_ROUTINE ? "routine" : r == UPKEEP_E_REFUSED ? "refused" : "internal";
}

/* When the scope's next pass is due, CLOCK_REALTIME; UINT64_MAX: there is no such scope. */
static int upkeep_due(Upkeep *u, const DigestPolicy *row, uint64_t *ret, Diag *reterr) {
        _cleanup_json_ json_t *entry = NULL;
        _cleanup_txn_ Txn *t = NULL;
        uint64_t scope, number, seq, last;
        int r = store_begin(u->store, false, &t, reterr);

        if (r != 0)
                return upkeep_of_store(r, reterr);
        r = scope_get(t, row->scope, &scope);
        if (r == -ENOENT) {
                *ret = UINT64_MAX;
                return 0;
        }
        *ret = 0;
        r = r ?: pass_last(t, scope, &number, &seq);
        if (r == 0 && seq) {
                r = event_get(t, seq, &entry);
                if (r == 0)
                        r = clock_parse(json_str(entry, "time"), &last) < 0 ? -EUCLEAN : 0;
                if (r == 0)
                        *ret = last + row->every_usec;
        }
        return r;
}

static int upkeep_pass_told(Upkeep *u, const DigestPolicy *row, const char *routine, json_t *failed, json_t *report,
                            Diag *reterr) {
        _cleanup_json_ json_t *found = NULL;
        char key[SCOPE_NAME_MAX + 16];
        Diag d = {0};
        int r = upkeep_pass(u, row, routine, &found, &d);

        snprintf(key, sizeof(key), "digest %s", row->scope);
        if (r == UPKEEP_E_STORE || r == UPKEEP_E_CANCELLED || r == -ENOMEM) {
                *reterr = d;
                return r;
        }
        if (r != 0)
                return upkeep_fail(u, failed, key,
                                   json_pack("{s:s, s:s, s:s, s:s, s:s%}", "what", "digest", "scope", row->scope,
                                             "routine", routine, "code", upkeep_code(r), "message",
                                             r < 0 ? strerror(-r) : d.text,
                                             strnlen(r < 0 ? strerror(-r) : d.text, MESSAGE_MAX)),
                                   report, reterr)
                               ?: UPKEEP_TOLD;
        json_object_del(failed, key);
        return json_array_append_new(json_object_get(report, "passes"),
                                     json_pack("{s:s, s:s, s:O, s:O, s:O}", "scope", row->scope, "routine", routine,
                                               "pass", json_object_get(found, "pass"), "archived",
                                               json_object_get(found, "archived"), "removed",
                                               json_object_get(found, "removed"))) < 0
                       ? -ENOMEM
                       : 0;
}

/* The passes of a scope, a routine after the other. Of several failures the first ends the scope's turn. */
static int upkeep_scope(Upkeep *u, const DigestPolicy *row, json_t *failed, uint64_t *next, json_t *report,
                        Diag *reterr) {
        static char own[] = POLICY_ROUTINE_OWN, *const only[] = {own, NULL};
        char *const *routines = row->routines && *row->routines ? row->routines : only;
        char key[SCOPE_NAME_MAX + 16];
        uint64_t due = 0, wait, now = clock_real_usec();
        int r = upkeep_due(u, row, &due, reterr);

        if (r != 0 || due == UINT64_MAX)
                return r;
        snprintf(key, sizeof(key), "digest %s", row->scope);
        upkeep_wait(failed, key, &wait);
        due = MAX(due, now + wait);
        if (due > now) {
                *next = MIN(*next, due);
                return 0;
        }
        for (size_t i = 0; r == 0 && routines[i]; i++)
                r = upkeep_pass_told(u, row, routines[i], failed, report, reterr);
        if (r == UPKEEP_E_STORE || r == UPKEEP_E_CANCELLED)
                return r;
        if (r > 0) { /* recorded */
                upkeep_wait(failed, key, &wait);
                *next = MIN(*next, now + MAX(wait, (uint64_t)1000000));
                return 0;
        }
        *next = MIN(*next, now + row->every_usec);
        return r;
}

/* A turn: at most RETENTION_TURN rows or slots. Without anything beyond the stay nothing is written. */
static int upkeep_turn(Upkeep *u, const RetentionRule *rule, uint64_t *erased, bool *ret_more, bool *ret_store,
                       Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        uint64_t n = 0;
        int r = store_begin(u->store, false, &t, reterr);

        *ret_more = false;
        *ret_store = r != 0;
        if (r == 0)
                r = retention_any(t, rule);
        store_abort(TAKE_PTR(t));
        if (r != 1 || *ret_store)
                return r;
        r = store_begin(u->store, true, &t, reterr);
        *ret_store = r != 0;
        if (r == 0)
                r = engine_retention(t, rule, u->who, &n, ret_more, reterr);
        if (r == 0 && !*ret_store && n > 0) {
                r = store_commit(TAKE_PTR(t), reterr);
                *ret_store = r != 0;
        }
        *erased += r == 0 ? n : 0;
        return r;
}

static int upkeep_rule(Upkeep *u, const RetentionPolicy *p, json_t *failed, bool (*over)(void *userdata),
                       void *userdata, uint64_t *next, uint64_t *erased, json_t *report, Diag *reterr) {
        const uint64_t now = clock_real_usec();
        RetentionRule rule = {.scope = p->scope, .kind = p->bucket ? kind_from_name(p->bucket) : KIND_NONE,
                              .slots = p->slots, .stay = p->stay,
                              .before = now > p->stay_usec ? now - p->stay_usec : 0};
        char key[256];
        bool more = true, of_store = false;
        uint64_t wait;
        Diag d = {0};
        int r = 0;

        snprintf(key, sizeof(key), "retention %s %s", p->scope ? p->scope : "", p->bucket ? p->bucket : p->slots);
        upkeep_wait(failed, key, &wait);
        *next = MIN(*next, now + (wait ? wait : MIN(RETENTION_EVERY, p->stay_usec)));
        if (wait)
                return 0;
        while (r == 0 && more && !(over && over(userdata)))
                r = upkeep_turn(u, &rule, erased, &more, &of_store, &d);
        if (r == 0) {
                json_object_del(failed, key);
                return 0;
        }
        if (of_store) {
                *reterr = d;
                return upkeep_of_store(r, reterr);
        }
        return upkeep_fail(u, failed, key,
                           json_pack("{s:s, s:s*, s:s*, s:s*, s:s, s:s%}", "what", "retention", "scope", p->scope,
                                     "bucket", p->bucket, "slots", p->slots, "code",
                                     r > 0 ? engine_code_name((EngineCode)r) : "internal", "message",
                                     r < 0 ? strerror(-r) : d.text,
                                     strnlen(r < 0 ? strerror(-r) : d.text, MESSAGE_MAX)),
                           report, reterr);
}

int upkeep_run(Upkeep *u, json_t *failed, bool (*over)(void *userdata), void *userdata, uint64_t *ret_next,
               json_t **ret_report, Diag *reterr) {
        _cleanup_json_ json_t *report = json_pack("{s:[], s:[]}", "passes", "failed");
        uint64_t erased = 0, next = UINT64_MAX;
        int r = report ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < u->policy->n_retention && !(over && over(userdata)); i++)
                r = upkeep_rule(u, &u->policy->retention[i], failed, over, userdata, &next, &erased, report, reterr);
        for (size_t i = 0; r == 0 && i < u->policy->n_digest && !(over && over(userdata)); i++)
                if (u->policy->digest[i].every_usec > 0)
                        r = upkeep_scope(u, &u->policy->digest[i], failed, &next, report, reterr);
        *ret_next = next;
        if (r == 0 && json_object_set_new(report, "erased", json_u64(erased)) < 0)
                r = -ENOMEM;
        if (r == 0 && ret_report)
                *ret_report = TAKE_PTR(report);
        return r;
}
