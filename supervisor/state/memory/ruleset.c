#include "memory/ruleset.h"

#include "record/event.h"
#include "record/rows.h"
#include "engine/scope.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

Kind ruleset_from_name(const char *name) {
        Kind k = strcmp(name, "agent") == 0   ? KIND_AGENT_KERNEL
                 : strcmp(name, "world") == 0 ? KIND_WORLD_KERNEL
                                              : kind_from_name(name);

        return kind_class(k) == CLASS_KERNEL ? k : KIND_NONE;
}

static int ruleset_find(Txn *t, const char *scope, Kind kind, Record *ret, Diag *reterr) {
        uint64_t number;
        RecordKey k;
        int r = scope_find(t, scope, &number, reterr);

        if (r != 0)
                return r;
        k = record_key_of(number, kind, RULESET_ID);
        r = record_get(t, &k, ret);
        return r == -ENOENT ? -EUCLEAN : r; /* each scope has its kernels from the beginning */
}

/* The event that made a version; 0 for version 1, which a new scope has. */
static int ruleset_event(Txn *t, const Record *rec, uint64_t version, uint64_t *ret, Diag *reterr) {
        _cleanup_change_walk_ ChangeWalk w = {0};
        const uint64_t asked = version;
        uint64_t seq;
        Op op;
        int r;

        *ret = 0;
        if (version <= 1)
                return 0;
        r = version > rec->version ? -ENOENT : change_walk(t, &rec->key, &w);
        while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0)
                if (version-- == 2) {
                        *ret = seq;
                        return 0;
                }
        if (r == -ENOENT)
                r = diag(reterr, ENGINE_E_NO_VALUE, "there is no version %" PRIu64 " of %s: the newest is %" PRIu64,
                         asked, kind_name(rec->key.kind), rec->version);
        return r;
}

int ruleset_version_at(Txn *t, const char *scope, Kind kind, uint64_t upto, uint64_t *ret_version, Diag *reterr) {
        _cleanup_change_walk_ ChangeWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t seq, n = 1;
        Op op;
        int r = ruleset_find(t, scope, kind, &rec, reterr) ?: change_walk(t, &rec.key, &w);

        while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0 && seq <= upto)
                n++;
        if (r != 0 && r != -ENOENT)
                return r;
        *ret_version = rec.created <= upto ? n : 0;
        return 0;
}

static int ruleset_by_id(const void *a, const void *b) {
        return strcmp(json_str(*(json_t *const *)a, "id"), json_str(*(json_t *const *)b, "id"));
}

/* id -> rule; json_sorted() gives the rules back. */
static json_t *ruleset_map(const json_t *rules) {
        _cleanup_json_ json_t *map = json_object();
        json_t *rule;
        size_t i;

        json_array_foreach((json_t *)rules, i, rule) {
                const char *id = json_text(json_object_get(rule, "id"));

                if (!map || !id || json_object_set(map, id, rule) < 0)
                        return NULL;
        }
        return TAKE_PTR(map);
}

int ruleset_rules(Txn *t, const char *scope, Kind kind, uint64_t version, json_t **ret_rules, json_t **ret_refs,
                  uint64_t *ret_version, Diag *reterr) {
        _cleanup_json_ json_t *body = NULL, *map = NULL, *rules = NULL, *refs = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t seq = 0;
        int r = ruleset_find(t, scope, kind, &rec, reterr)
                ?: ruleset_event(t, &rec, version ? version : rec.version, &seq, reterr);

        if (r == 0 && seq)
                r = record_body(t, seq, &body);
        if (r != 0)
                return r == -ENOENT ? -EUCLEAN : r;
        map = ruleset_map(json_object_get(json_object_get(body, "payload"), "rules"));
        rules = map ? json_sorted(map, ruleset_by_id) : NULL;
        refs = json_object_get(body, "refs") ? json_incref(json_object_get(body, "refs")) : json_array();
        if (!rules || !refs)
                return -ENOMEM;
        *ret_rules = TAKE_PTR(rules);
        if (ret_refs)
                *ret_refs = TAKE_PTR(refs);
        *ret_version = version ? version : rec.version;
        return 0;
}

/* All ids of three maps, in order. */
static json_t *ruleset_ids(json_t *a, json_t *b, json_t *c) {
        _cleanup_json_ json_t *all = json_object();

        if (!all || json_object_update(all, a) < 0 || json_object_update(all, b) < 0 || json_object_update(all, c) < 0)
                return NULL;
        return json_sorted(all, ruleset_by_id);
}

int ruleset_diff(const json_t *from, const json_t *to, json_t **ret) {
        _cleanup_json_ json_t *a = ruleset_map(from), *b = ruleset_map(to),
                              *ids = a && b ? ruleset_ids(a, b, b) : NULL, *diff = json_array();
        json_t *one;
        size_t i;

        if (!ids || !diff)
                return -ENOMEM;
        json_array_foreach(ids, i, one) {
                const char *id = json_text(json_object_get(one, "id"));
                json_t *x = json_object_get(a, id), *y = json_object_get(b, id);

                if (x && y && json_equal(x, y))
                        continue;
                if (json_array_append_new(diff, json_pack("{s:s, s:s, s:O*, s:O*}", "id", id, "change",
                                                          !x ? "added" : !y ? "removed" : "changed", "from", x, "to",
                                                          y)) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(diff);
        return 0;
}

static int ruleset_check_patch(const json_t *patch, Diag *reterr) {
        const char *key;
        json_t *v;

        if (!json_is_object(patch))
                return diag(reterr, ENGINE_E_BAD_PAYLOAD, "a patch is an object {\"set\",\"remove\",\"refs\"}");
        json_object_foreach((json_t *)patch, key, v) {
                if (strcmp(key, "set") && strcmp(key, "remove") && strcmp(key, "refs"))
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD, "\"%s\" is no member of a patch: set, remove, refs",
                                    DIAG_QUOTED(key));
                if (!json_is_array(v))
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD, "%s is not an array", key);
        }
        return 0;
}

/* Applies a patch {"set"?:[rule…],"remove"?:[id…],"refs"?:[…]} to the rules. Returns 0, ENGINE_E_BAD_PAYLOAD (also:
 * removes an unknown rule), -ENOMEM. */
static int ruleset_apply(const json_t *rules, const json_t *patch, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *map = ruleset_map(rules), *seen = json_object();
        json_t *v;
        size_t i;
        int r = map && seen ? ruleset_check_patch(patch, reterr) : -ENOMEM;

        if (r != 0)
                return r;
        json_array_foreach(json_object_get(patch, "remove"), i, v) {
                const char *id = json_text(v);

                if (!id || json_object_del(map, id) < 0)
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD, "remove[%zu] is \"%s\": there is no such rule", i,
                                    DIAG_QUOTED_N(id ? id : "?", id ? strlen(id) : 1));
        }
        json_array_foreach(json_object_get(patch, "set"), i, v) {
                const char *id = json_text(json_object_get(v, "id"));

                if (!id)
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD, "set[%zu] has no id", i);
                if (json_object_get(seen, id))
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD,
                                    "set[%zu] is \"%s\", which is set already: a rule is set once", i, DIAG_QUOTED(id));
                if (json_object_set(map, id, v) < 0 || json_object_set(seen, id, v) < 0)
                        return -ENOMEM;
        }
        *ret = json_sorted(map, ruleset_by_id);
        return *ret ? 0 : -ENOMEM;
}

static json_t *ruleset_or_null(json_t *v) {
        return v ? json_incref(v) : json_null();
}

static bool ruleset_is_same(const json_t *a, const json_t *b) {
        return (!a && !b) || (a && b && json_equal(a, b));
}

/* Three-way merge of rules, or of references with ids: base is the common version. resolve: {id:"mine"|"theirs"} for
 * rules that both sides changed, or NULL. *ret_conflicts: array of {"id","base","mine","theirs"} (null: absent) without
 * a decision; *ret_rules are merged only when the array is empty. Returns 0 or -ENOMEM. */
static int ruleset_merge(const json_t *base, const json_t *mine, const json_t *theirs, const json_t *resolve,
                  json_t **ret_rules, json_t **ret_conflicts) {
        _cleanup_json_ json_t *b = ruleset_map(base), *m = ruleset_map(mine), *t = ruleset_map(theirs),
                              *ids = b && m && t ? ruleset_ids(b, m, t) : NULL;
        _cleanup_json_ json_t *merged = json_object(), *conflicts = json_array();
        json_t *one;
        size_t i;

        if (!ids || !merged || !conflicts)
                return -ENOMEM;
        json_array_foreach(ids, i, one) {
                const char *id = json_text(json_object_get(one, "id")), *side = json_text(json_object_get(resolve, id));
                json_t *x = json_object_get(b, id), *y = json_object_get(m, id), *z = json_object_get(t, id), *took;

                if (ruleset_is_same(x, y) || ruleset_is_same(y, z))
                        took = z;
                else if (ruleset_is_same(x, z))
                        took = y;
                else if (side && (strcmp(side, "mine") == 0 || strcmp(side, "theirs") == 0))
                        took = *side == 'm' ? y : z;
                else {
                        if (json_array_append_new(conflicts, json_pack("{s:s, s:o, s:o, s:o}", "id", id, "base",
                                                                       ruleset_or_null(x), "mine", ruleset_or_null(y),
                                                                       "theirs", ruleset_or_null(z))) < 0)
                                return -ENOMEM;
                        continue;
                }
                if (took && json_object_set(merged, id, took) < 0)
                        return -ENOMEM;
        }
        *ret_rules = json_sorted(merged, ruleset_by_id);
        if (!*ret_rules)
                return -ENOMEM;
        *ret_conflicts = TAKE_PTR(conflicts);
        return 0;
}

static json_t *ruleset_ref_named(const json_t *ref) {
        _cleanup_json_ json_t *whole = json_pack("{s:s, s:s}", "role", "ref", "strength", "strong");
        const char *role;

        if (!whole || json_object_update(whole, (json_t *)ref) < 0)
                return NULL;
        role = json_text(json_object_get(whole, "role"));
        return json_pack("{s:s++++, s:O}", "id", json_text(json_object_get(ref, "kind")), "/",
                         json_text(json_object_get(ref, "id")), " ", role ? role : "?", "ref", whole);
}

static bool ruleset_is_ref(const json_t *ref) {
        return json_is_string(json_object_get(ref, "kind")) && json_is_string(json_object_get(ref, "id"));
}

/* An array of references {"kind","id","strength","role"} as rules {"id":"KIND/ID ROLE","ref":{…}}, with the defaults
 * filled in, so that ruleset_diff() and ruleset_merge() compare references by id (M-28). No rule has such an id. A
 * reference without kind or id is left out. NULL: out of memory. */
static json_t *ruleset_refs_named(const json_t *refs) {
        _cleanup_json_ json_t *all = json_array();
        json_t *ref;
        size_t i;

        json_array_foreach((json_t *)refs, i, ref)
                if (ruleset_is_ref(ref) && json_array_append_new(all, ruleset_ref_named(ref)) < 0)
                        return NULL;
        return TAKE_PTR(all);
}

/* The reverse of ruleset_refs_named(). */
static json_t *ruleset_refs_of(const json_t *named) {
        _cleanup_json_ json_t *refs = json_array();
        json_t *one;
        size_t i;

        json_array_foreach((json_t *)named, i, one)
                if (json_array_append(refs, json_object_get(one, "ref")) < 0)
                        return NULL;
        return TAKE_PTR(refs);
}

/* The fields "base" and "before" of the current version. */
static int ruleset_before_fields(Txn *t, const char *scope, const RulesetPatch *p, json_t **ret) {
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_json_ json_t *entry = NULL;
        json_t *body;
        int r = ruleset_find(t, scope, p->kind, &rec, NULL);

        if (r == 0 && rec.content)
                r = event_get(t, rec.content, &entry);
        if (r < 0)
                return r;
        body = json_object_get(entry, "body");
        /* null for version 1, which is empty and has no event */
        *ret = json_pack("{s:o, s:O?}", "base", json_u64(rec.version), "before", body);
        return *ret ? 0 : -ENOMEM;
}

/* A ruleset at a version, or after a patch. */
typedef struct RulesetSide {
        json_t *rules, *refs; /* refs: as ruleset_refs_named() */
} RulesetSide;

static void ruleset_side_deinit(RulesetSide *s) {
        json_decref(s->rules);
        json_decref(s->refs);
}

/* ruleset_merge() of the rules, and of the references; *ret_conflicts: of the rules first. */
static int ruleset_merge_both(const RulesetSide *base, const RulesetSide *mine, const RulesetSide *theirs,
                              const json_t *resolve, RulesetSide *ret, json_t **ret_conflicts, size_t *ret_n_rules) {
        _cleanup_json_ json_t *of_refs = NULL;
        int r = ruleset_merge(base->rules, mine->rules, theirs->rules, resolve, &ret->rules, ret_conflicts)
                ?: ruleset_merge(base->refs, mine->refs, theirs->refs, resolve, &ret->refs, &of_refs);

        if (r < 0)
                return r;
        *ret_n_rules = json_array_size(*ret_conflicts);
        return json_array_extend(*ret_conflicts, of_refs) < 0 ? -ENOMEM : 0;
}

/* Lists the changes since the patch's base version, and refuses the patch. */
static int ruleset_refuse_stale(const RulesetPatch *p, uint64_t now, const RulesetSide *base, const RulesetSide *theirs,
                                json_t **ret_conflicts, Diag *reterr) {
        _cleanup_json_ json_t *refs = NULL;
        size_t rules;
        int r = ruleset_diff(base->rules, theirs->rules, ret_conflicts)
                ?: ruleset_diff(base->refs, theirs->refs, &refs);

        if (r < 0)
                return r;
        rules = json_array_size(*ret_conflicts);
        if (json_array_extend(*ret_conflicts, refs) < 0)
                return -ENOMEM;
        return diag(reterr, ENGINE_E_CONFLICT,
                    "%s is at version %" PRIu64 ", the patch was made for %" PRIu64
                    ": %zu rule%s and %zu reference%s changed since; look, or merge",
                    kind_name(p->kind), now, p->base, rules, rules == 1 ? "" : "s", json_array_size(refs),
                    json_array_size(refs) == 1 ? "" : "s");
}

/* `resolve` may name only rules and references that both sides changed. */
static int ruleset_check_resolve(const json_t *resolve, const RulesetSide *base, const RulesetSide *mine,
                                 const RulesetSide *theirs, Diag *reterr) {
        _cleanup_(ruleset_side_deinit) RulesetSide merged = {0};
        _cleanup_json_ json_t *left = NULL;
        const char *id;
        json_t *side;
        size_t n_rules;
        int r;

        if (!resolve)
                return 0;
        if (!json_is_object(resolve))
                return diag(reterr, ENGINE_E_BAD_PAYLOAD, "resolve is not an object {\"ID\":\"mine\"|\"theirs\"}");
        r = ruleset_merge_both(base, mine, theirs, NULL, &merged, &left, &n_rules);
        if (r < 0)
                return r;
        json_object_foreach((json_t *)resolve, id, side) {
                const char *word = json_text(side);
                bool both = false;
                json_t *one;
                size_t i;

                json_array_foreach(left, i, one)
                        both = both || json_text_is(json_object_get(one, "id"), id);
                if (!both)
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD,
                                    "resolve has \"%s\": both sides changed no such rule or reference",
                                    DIAG_QUOTED(id));
                if (!word || (strcmp(word, "mine") != 0 && strcmp(word, "theirs") != 0))
                        return diag(reterr, ENGINE_E_BAD_PAYLOAD, "resolve.%s is %s%s%s: it is mine or theirs", id,
                                    word ? "\"" : "", word ? DIAG_QUOTED(word) : "no text", word ? "\"" : "");
        }
        return 0;
}

/* taken as written when no newer version exists, or when an entry is invalid (refused later) */
static int ruleset_merge_sides(const RulesetPatch *p, const RulesetSide *base, const RulesetSide *mine,
                               const RulesetSide *theirs, RulesetSide *ret, json_t **ret_conflicts, Diag *reterr) {
        _cleanup_json_ json_t *conflicts = NULL;
        size_t n_rules, n;
        int r = ruleset_check_resolve(p->resolve, base, mine, theirs, reterr)
                ?: ruleset_merge_both(base, mine, theirs, p->resolve, ret, &conflicts, &n_rules);

        n = json_array_size(conflicts);
        if (r != 0 || n == 0)
                return r;
        diag(reterr, ENGINE_E_CONFLICT,
             "%zu %s%s changed on both sides, first \"%s\": say for each whether mine or theirs", n,
             n_rules > 0 ? "rule" : "reference", n == 1 ? " was" : "s were",
             json_text(json_object_get(json_array_get(conflicts, 0), "id")));
        *ret_conflicts = TAKE_PTR(conflicts);
        return ENGINE_E_CONFLICT;
}

/* The rules at the patch's base version, the rules after the patch, and the newest rules. */
static int ruleset_three_sides(Txn *t, const RulesetPatch *p, RulesetSide *base, RulesetSide *mine, RulesetSide *theirs,
                               json_t **ret_refs, uint64_t *ret_now, Diag *reterr) {
        _cleanup_json_ json_t *base_refs = NULL;
        const json_t *refs = json_object_get(p->patch, "refs");
        uint64_t version;
        int r = ruleset_rules(t, p->scope, p->kind, 0, &theirs->rules, ret_refs, ret_now, reterr);

        if (r == 0 && p->base == 0)
                return diag(reterr, ENGINE_E_CONFLICT,
                            "the base is version %" PRIu64
                            ": a patch names the version that it was made for, from 1; the newest is %" PRIu64,
                            p->base, *ret_now);
        if (r == 0)
                r = ruleset_rules(t, p->scope, p->kind, p->base, &base->rules, &base_refs, &version, reterr)
                        ?: ruleset_apply(base->rules, p->patch, &mine->rules, reterr);
        if (r != 0)
                return r;
        theirs->refs = ruleset_refs_named(*ret_refs);
        base->refs = ruleset_refs_named(base_refs);
        mine->refs = ruleset_refs_named(refs ? refs : base_refs);
        return theirs->refs && base->refs && mine->refs ? 0 : -ENOMEM;
}

int ruleset_patch(Txn *t, const RulesetPatch *p, Mutated *ret, json_t **ret_conflicts, Diag *reterr) {
        _cleanup_(ruleset_side_deinit) RulesetSide base = {0}, mine = {0}, theirs = {0}, merged = {0};
        _cleanup_json_ json_t *refs = NULL, *fields = NULL, *payload = NULL;
        json_t *written = json_object_get(p->patch, "refs");
        uint64_t now;
        int r;

        *ret_conflicts = NULL;
        r = ruleset_three_sides(t, p, &base, &mine, &theirs, &refs, &now, reterr);
        if (r == 0 && now != p->base && !p->merge)
                return ruleset_refuse_stale(p, now, &base, &theirs, ret_conflicts, reterr);
        if (r == 0)
                r = ruleset_merge_sides(p, &base, &mine, &theirs, &merged, ret_conflicts, reterr);
        if (r != 0)
                return r;
        if (written) { /* taken unchanged when no second writer changed references; an invalid entry is refused later */
                json_decref(refs);
                refs = now == p->base || json_array_size(written) > json_array_size(mine.refs)
                               ? json_incref(written)
                               : ruleset_refs_of(merged.refs);
        }
        payload = refs ? json_pack("{s:O}", "rules", merged.rules) : NULL;
        r = payload ? ruleset_before_fields(t, p->scope, p, &fields) : -ENOMEM;
        if (r < 0)
                return r;
        return engine_mutate(t,
                             &(Mutation){.scope = p->scope, .kind = p->kind, .op = OP_PATCH, .id = RULESET_ID,
                                         .expect = now, .payload = payload, .fields = fields, .refs = refs, .who = p->who,
                                         .region = p->region},
                             ret, reterr);
}

int ruleset_log(Txn *t, const char *scope, Kind kind, json_t **ret, Diag *reterr) {
        static const char *const kept[] = {"version", "time", "who", "region", "base", "before"};
        _cleanup_json_ json_t *a = json_array();
        _cleanup_change_walk_ ChangeWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t seq;
        Op op;
        int r = a ? ruleset_find(t, scope, kind, &rec, reterr) : -ENOMEM;

        if (r == 0)
                r = change_walk(t, &rec.key, &w);
        if (r != 0)
                return r;
        while ((r = change_walk_next(&w, &seq, &op)) == 0) {
                _cleanup_json_ json_t *entry = NULL, *o = json_pack("{s:o}", "seq", json_u64(seq));

                r = o ? event_get(t, seq, &entry) ?: JSON_ROW_KEEP(o, entry, kept) : -ENOMEM;
                if (r == 0 &&
                    (json_object_set(o, "after", json_object_get(entry, "body")) < 0 || json_array_append(a, o) < 0))
                        r = -ENOMEM;
                if (r < 0)
                        return r;
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(a);
        return 0;
}
