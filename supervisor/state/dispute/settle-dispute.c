#include "dispute/settle-dispute.h"

#include "belief/end-row.h"
#include "engine/dispute.h"
#include "engine/scope.h"
#include "ledger/ledger.h"
#include "memory/digest.h"
#include "memory/ruleset.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SETTLED_MAX 1024 /* pairs of one call */

static bool dispute_same(const Party *a, const Party *b) {
        return record_key_compare(&a->key, &b->key) == 0 && strcmp(a->rule, b->rule) == 0;
}

/* The event since which the party says so; 0: unknown. */
static int dispute_age(Txn *t, const Party *p, uint64_t *ret) {
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = *p->rule ? 0 : record_get(t, &p->key, &rec);

        *ret = *p->rule ? 0 : rec.content;
        return r;
}

static int dispute_tell(Txn *t, const Party *a, const Party *b, json_t *list) {
        char one[PARTY_NAME_MAX], two[PARTY_NAME_MAX];
        uint64_t of_a = 0, of_b = 0;
        int r = dispute_age(t, a, &of_a) ?: dispute_age(t, b, &of_b);

        if (r < 0)
                return r;
        party_name(a, one);
        party_name(b, two);
        return json_array_append_new(list, json_pack("{s:s, s:s, s:s*}", "a", one, "b", two, "keep",
                                                     of_a == 0 || of_b == 0 ? NULL
                                                     : of_a > of_b          ? one
                                                                            : two)) < 0
                       ? -ENOMEM
                       : 0;
}

/* The pairs of a record, each from the side whose name comes first. */
static int dispute_list_of(Txn *t, const Record *rec, json_t *list, bool *more) {
        Disputes d;
        int r = disputes_of(t, rec, NULL, &d);

        *more |= r == 0 && d.more;
        for (size_t i = 0; r == 0 && i < d.n; i++) {
                Party self = {.key = rec->key};
                int c;

                strcpy(self.rule, d.of[i]);
                c = record_key_compare(&self.key, &d.v[i].key) ?: strcmp(self.rule, d.v[i].rule);
                if (c < 0)
                        r = dispute_tell(t, &self, &d.v[i], list);
        }
        return r;
}

int dispute_list(Txn *t, const char *scope, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        _cleanup_record_walk_ RecordWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t number;
        bool more = false;
        int r = list ? scope_find(t, scope, &number, reterr) : -ENOMEM;

        if (r == 0)
                r = record_walk(t, number, KIND_NONE, &w);
        if (r != 0)
                return r;
        while (r == 0 && (r = record_walk_next(&w, &rec)) == 0) {
                if (json_array_size(list) >= DISPUTES_LISTED_MAX) {
                        more = true;
                        r = -ENOENT;
                } else
                        r = dispute_list_of(t, &rec, list, &more);
        }
        if (r != -ENOENT)
                return r;
        *ret = json_pack("{s:s, s:O, s:o*}", "scope", scope, "disputes", list, "more", more ? json_true() : NULL);
        return *ret ? 0 : -ENOMEM;
}

/* "constraints/x"; "memory/x" and "world/rule" for short; or an id alone. */
static int dispute_party(Txn *t, uint64_t scope, const char *name, Party *ret, Diag *reterr) {
        static const Kind tried[] = {KIND_CONSTRAINT, KIND_DECISION, KIND_MEMORY};
        const char *slash = strchr(name, '/');
        char full[PARTY_NAME_MAX];
        size_t found = 0;

        if (slash && strncmp(name, "memory/", 7) == 0)
                snprintf(full, sizeof(full), "%s%s", kind_name(KIND_MEMORY), slash);
        else if (slash && strncmp(name, "agent/", 6) == 0)
                snprintf(full, sizeof(full), "%s%s", kind_name(KIND_AGENT_KERNEL), slash);
        else if (slash && strncmp(name, "world/", 6) == 0)
                snprintf(full, sizeof(full), "%s%s", kind_name(KIND_WORLD_KERNEL), slash);
        else
                snprintf(full, sizeof(full), "%s", name);
        for (size_t i = 0; !slash && i < ARRAY_SIZE(tried); i++) {
                _cleanup_record_ Record rec = RECORD_NULL;
                RecordKey k;
                int r;

                if (!record_id_valid(tried[i], name))
                        continue;
                k = record_key_of(scope, tried[i], name);
                r = record_get(t, &k, &rec);
                if (r < 0 && r != -ENOENT)
                        return r;
                if (r == 0) {
                        *ret = (Party){.key = k};
                        found++;
                }
        }
        if (found == 1 || (slash && strlen(name) < sizeof(full) && party_parse(scope, full, ret) == 0))
                return 0;
        return diag(reterr, ENGINE_E_BAD_NAME, "\"%s\" %s: a name is FAMILY/ID, as `lethe canon disputes` prints it",
                    DIAG_QUOTED(name), found ? "is several records" : "names no record");
}

static int dispute_end_rule(Txn *t, const Settlement *s, const Party *p, uint64_t *ret, Diag *reterr) {
        _cleanup_json_ json_t *rules = NULL, *patch = NULL, *conflicts = NULL;
        uint64_t version;
        json_t *rule, *ends = NULL;
        Mutated m;
        size_t i;
        int r = ruleset_rules(t, s->scope, p->key.kind, 0, &rules, NULL, &version, reterr);

        if (r != 0)
                return r;
        json_array_foreach(rules, i, rule)
                if (json_text_is(json_object_get(rule, "id"), p->rule))
                        ends = rule;
        if (!ends)
                return -EUCLEAN;
        if (json_object_set_new(ends, "lifecycle", json_string("superseded")) < 0)
                return -ENOMEM;
        patch = json_pack("{s:[O]}", "set", ends);
        if (!patch)
                return -ENOMEM;
        r = ruleset_patch(
                t,
                &(RulesetPatch){
                        .scope = s->scope, .kind = p->key.kind, .base = version, .patch = patch, .who = s->by->who},
                &m, &conflicts, reterr);
        *ret = r == 0 ? m.seq : 0;
        return r;
}

/* A pass of the digest with a single step, approved by name (M-34). */
static int dispute_archive(Txn *t, const Settlement *s, const Party *p, const Party *kept, uint64_t *ret,
                           Diag *reterr) {
        _cleanup_json_ json_t *scan = NULL, *proposed = NULL, *done = NULL;
        char name[PARTY_NAME_MAX];
        const char *names[] = {party_name(p, name)};
        Digest d = {.scope = s->scope,
                    .reasons = 1U << REASON_DISPUTED_BY,
                    .names = names,
                    .n_names = 1,
                    .apply = true,
                    .approval = "settle",
                    .who = s->by->who};
        int r = memory_scan(t, s->scope, 0, &scan, reterr);

        if (r != 0)
                return r;
        proposed =
                json_pack("{s:i, s:O, s:[{s:s, s:s, s:s, s:{s:s, s:s, s:s}}], s:[]}", "version", 1, "pass",
                          json_object_get(scan, "pass"), "proposals", "op", "archive", "kind", kind_name(p->key.kind),
                          "id", p->key.id, "reason", "reason", reason_name(REASON_DISPUTED_BY), "kind",
                          kind_name(kept->key.kind), "id", kept->key.id, "blocked");
        d.scan = scan;
        d.proposed = proposed;
        r = proposed ? memory_digest(t, &d, &done, reterr) : -ENOMEM;
        *ret = r == 0 ? json_number(done, "seq") : 0;
        return r;
}

static int dispute_end(Txn *t, const Settlement *s, const Party *p, const Party *kept, json_t *list, Diag *reterr) {
        bool decisions = p->key.kind == KIND_DECISION && kept->key.kind == KIND_DECISION;
        char stays[PARTY_NAME_MAX], ends[PARTY_NAME_MAX], why[2 * PARTY_NAME_MAX];
        uint64_t seq = 0;
        int r;

        party_name(kept, stays);
        party_name(p, ends);
        snprintf(why, sizeof(why), "settled: %s stays", stays);
        if (*p->rule)
                r = dispute_end_rule(t, s, p, &seq, reterr);
        else if (p->key.kind == KIND_MEMORY)
                r = dispute_archive(t, s, p, kept, &seq, reterr);
        else
                r = belief_end_row(t,
                                   &(RowEnd){.scope = p->key.scope,
                                             .scope_name = s->scope,
                                             .kind = p->key.kind,
                                             .id = p->key.id,
                                             .for_row = stays,
                                             .successor = decisions ? kept->key.id : NULL,
                                             .why = s->why ?: why,
                                             .by = s->by},
                                   &seq, reterr);
        if (r == 0 && json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "kept", stays, "ended", ends, "seq",
                                                            json_u64(seq))) < 0)
                r = -ENOMEM;
        return r;
}

static int dispute_both(Txn *t, const Settlement *s, const Party *a, const Party *b, json_t *list, Diag *reterr) {
        char one[PARTY_NAME_MAX], two[PARTY_NAME_MAX];
        uint64_t seq;
        int r = engine_dispute_settled(t, s->by->who, NULL, a, b, &seq, reterr) ?: ledger_want_anchor(t);

        if (r == 0 && json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "kept", party_name(a, one), "with",
                                                            party_name(b, two), "seq", json_u64(seq))) < 0)
                r = -ENOMEM;
        return r;
}

static int dispute_look(Txn *t, const Party *p, Disputes *ret) {
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = record_get(t, &p->key, &rec);

        *ret = (Disputes){0};
        return r == -ENOENT ? 0 : r ?: disputes_of(t, &rec, *p->rule ? p->rule : NULL, ret);
}

/* The pairs of the party, some after the others: each settled pair makes place for the next. */
static int dispute_all(Txn *t, const Settlement *s, const Party *p, bool both, json_t *list, Diag *reterr) {
        Disputes d;
        int r = dispute_look(t, p, &d);

        while (r == 0 && d.n > 0) {
                if (json_array_size(list) >= SETTLED_MAX)
                        return diag(reterr, ENGINE_E_TOO_MANY, "%s: more than %d records say the opposite", s->name,
                                    SETTLED_MAX);
                r = both ? dispute_both(t, s, p, &d.v[0], list, reterr) : dispute_end(t, s, &d.v[0], p, list, reterr);
                if (r == 0)
                        r = dispute_look(t, p, &d);
        }
        return r;
}

int dispute_settle(Txn *t, const Settlement *s, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        Party p, keep;
        uint64_t scope;
        Disputes d;
        char name[PARTY_NAME_MAX];
        size_t i = 0;
        int r = list ? scope_find(t, s->scope, &scope, reterr) : -ENOMEM;

        if (r == 0)
                r = dispute_party(t, scope, s->name, &p, reterr);
        if (r == 0 && s->keep)
                r = dispute_party(t, scope, s->keep, &keep, reterr);
        if (r == 0)
                r = dispute_look(t, &p, &d);
        if (r != 0)
                return r;
        if (d.n == 0)
                return diag(reterr, ENGINE_E_NO_RECORD, "%s: no record says the opposite, or both stay already",
                            party_name(&p, name));
        while (s->keep && !dispute_same(&keep, &p) && i < d.n && !dispute_same(&keep, &d.v[i]))
                i++;
        if (i == d.n)
                return diag(reterr, ENGINE_E_NO_RECORD, "%s does not say the opposite of %s", s->keep, s->name);
        r = s->keep && !dispute_same(&keep, &p) ? dispute_end(t, s, &p, &keep, list, reterr)
                                                : dispute_all(t, s, &p, s->both, list, reterr);
        if (r == 0)
                *ret = json_pack("{s:s, s:s, s:O}", "scope", s->scope, "name", party_name(&p, name), "settled", list);
        return r == 0 && !*ret ? -ENOMEM : r;
}

static bool dispute_has_end(const Party *p) {
        return !*p->rule && (p->key.kind == KIND_MEMORY || kind_has_op(p->key.kind, OP_INVALIDATE));
}

/* A pair that an earlier end of this call has settled counts as settled. */
static int dispute_pair_by_age(Txn *t, const Settlement *s, const json_t *pair, bool younger, json_t *list,
                               uint64_t *left, Diag *reterr) {
        Party a, b, *stays, *ends;
        uint64_t scope, of_a = 0, of_b = 0;
        Disputes d;
        int r = scope_find(t, s->scope, &scope, reterr)
                ?: dispute_party(t, scope, json_str(pair, "a"), &a, reterr)
                ?: dispute_party(t, scope, json_str(pair, "b"), &b, reterr)
                ?: dispute_look(t, &a, &d);
        size_t i = 0;

        while (r == 0 && i < d.n && !dispute_same(&d.v[i], &b))
                i++;
        if (r != 0 || i == d.n)
                return r;
        r = dispute_age(t, &a, &of_a) ?: dispute_age(t, &b, &of_b);
        if (r < 0)
                return r;
        stays = (of_a > of_b) == younger ? &a : &b;
        ends = stays == &a ? &b : &a;
        if (of_a == 0 || of_b == 0 || !dispute_has_end(ends)) {
                ++*left;
                return 0;
        }
        return dispute_end(t, s, ends, stays, list, reterr);
}

int dispute_settle_by_age(Txn *t, const char *scope, bool younger, const Trying *by, json_t **ret, Diag *reterr) {
        const Settlement s = {
                .scope = scope, .by = by, .why = younger ? "settled: the younger stays" : "settled: the elder stays"};
        _cleanup_json_ json_t *pairs = NULL, *list = json_array();
        json_t *pair;
        uint64_t left = 0;
        size_t i;
        int r = list ? dispute_list(t, scope, &pairs, reterr) : -ENOMEM;

        json_array_foreach(json_object_get(pairs, "disputes"), i, pair)
                if (r == 0)
                        r = dispute_pair_by_age(t, &s, pair, younger, list, &left, reterr);
        if (r == 0)
                *ret = json_pack("{s:s, s:O, s:o}", "scope", scope, "settled", list, "left", json_u64(left));
        return r == 0 && !*ret ? -ENOMEM : r;
}
