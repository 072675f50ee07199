#include "engine/delete.h"

#include "record/event.h"
#include "refs/graph.h"
#include "engine/mutate.h"
#include "engine/scope.h"
#include "engine/dead-letter.h"

#include <errno.h>
#include <string.h>

/* The fields of a deletion's event: the dependents of the record, and the ledger's hash of the payload (M-55). */
static int delete_fields(Txn *t, const Record *rec, const Dependent *deps, size_t n, const RecordKey *root,
                         const char *retention, json_t **ret) {
        _cleanup_json_ json_t *list = json_array(), *entry = NULL;
        int r = event_get(t, rec->content, &entry);

        if (r < 0)
                return r;
        for (size_t i = 0; i < MIN(n, (size_t)DELETE_DEPENDENTS_MAX); i++) {
                const RecordKey *k = &deps[i].ref.source;

                if (json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "kind", kind_name(k->kind), "id", k->id,
                                                          "strength", deps[i].ref.strong ? "strong" : "weak")) < 0)
                        return -ENOMEM;
        }
        *ret = json_pack("{s:O, s:O, s:o*, s:o*, s:s*}", "dependents", list, "payload", json_object_get(entry, "body"),
                         "dependents_more", n > DELETE_DEPENDENTS_MAX ? json_u64(n - DELETE_DEPENDENTS_MAX) : NULL,
                         "with", root ? json_pack("{s:s, s:s}", "kind", kind_name(root->kind), "id", root->id) : NULL,
                         "retention", retention);
        return *ret ? 0 : -ENOMEM;
}

static int delete_scan(const Deletion *d, Diag *reterr) {
        const char *const texts[] = {d->scope, d->id, d->reason};
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
                r = texts[i] ? keyscan_text(d->keys, texts[i], strlen(texts[i])) : 0;
        return r > 0 ? diag(reterr, ENGINE_E_KEY_ESCAPE, "a text of the deletion holds the key of a living region") : r;
}

/* Erases the payloads first: the event of the deletion keeps its own payload, the reason. known: the root's dependents
 * from before the deletion. NULL: records only the remaining direct dependents. A search for all dependents of each
 * deleted record would take quadratic time or worse. */
static int delete_one(Txn *t, const Deletion *d, const RecordKey *k, const RecordKey *root, const Dependent *known,
                      size_t n_known, json_t *went, Diag *reterr) {
        _cleanup_json_ json_t *fields = NULL, *more = d->reason ? json_pack("{s:s}", "reason", d->reason) : NULL;
        _cleanup_free_ Dependent *deps = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t erased = 0;
        Mutated m;
        size_t n = 0;
        int r = d->reason && !more ? -ENOMEM : record_get(t, k, &rec);

        if (r == 0 && !known)
                r = graph_dependents_most(t, k, true, SIZE_MAX, &deps, &n);
        if (r == 0)
                r = delete_fields(t, &rec, known ? known : deps, known ? n_known : n, root, d->retention,
                                  &fields);
        if (r == 0)
                r = engine_erase(t, k, &erased);
        if (r == 0)
                r = mutate_judged(t,
                                  &(Mutation){.scope = d->scope, .kind = k->kind, .op = OP_DELETE, .id = k->id,
                                              .expect = MUTATION_ANY, .more = more, .fields = fields, .who = d->who,
                                              .region = d->region}, &m, reterr);
        if (r == 0 && !m.applied)
                r = -EUCLEAN;
        if (r == 0 &&
            json_array_append_new(went, json_pack("{s:s, s:s, s:o, s:o}", "kind", kind_name(k->kind), "id", k->id,
                                                  "seq", json_u64(m.seq), "erased", json_u64(erased))) < 0)
                r = -ENOMEM;
        return r;
}

/* Refuses a deletion with holding dependents, unless `cascade`; never deletes a record that a kernel refers to. */
static int delete_check(const Deletion *d, const Dependent *deps, size_t n, Diag *reterr) {
        const Dependent *first = NULL, *kernel = NULL;
        size_t holding = 0;

        for (size_t i = 0; i < n; i++) {
                if (!deps[i].holds)
                        continue;
                holding++;
                first = first ? first : &deps[i];
                if (kind_class(deps[i].ref.source.kind) == CLASS_KERNEL && !kernel)
                        kernel = &deps[i];
        }
        if (kernel)
                return diag(reterr, ENGINE_E_DEPENDENTS,
                            "%s refers to %s %s: a record with a kernel's reference is not deleted",
                            kind_name(kernel->ref.source.kind), kind_name(kernel->ref.target.kind),
                            kernel->ref.target.id);
        if (holding > 0 && !d->cascade)
                return diag(reterr, ENGINE_E_DEPENDENTS,
                            "%zu record%s hold%s on to it, first %s %s: delete those, or all of it with cascade",
                            holding, holding == 1 ? "" : "s", holding == 1 ? "s" : "",
                            kind_name(first->ref.source.kind), first->ref.source.id);
        return 0;
}

int engine_delete(Txn *t, const Deletion *given, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *went = json_array();
        _cleanup_free_ Dependent *deps = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        Deletion d = *given;
        uint64_t scope, seq;
        RecordKey k;
        size_t n = 0;
        int r;

        d.scope = d.scope ? d.scope : SCOPE_DEFAULT;
        if (!went)
                return -ENOMEM;
        r = delete_scan(&d, reterr) ?: scope_find(t, d.scope, &scope, reterr);
        if (r == 0 && !kind_has_op(d.kind, OP_DELETE))
                r = diag(reterr, ENGINE_E_BAD_OPERATION, "a record of %s is not deleted: %s", kind_name(d.kind),
                         kind_class(d.kind) == CLASS_KERNEL ? "a kernel goes with its scope"
                                                            : "the kind has no such operation");
        if (r == 0 && !record_id_valid(d.kind, d.id))
                r = diag(reterr, ENGINE_E_BAD_NAME, "\"%s\" is not an id of %s: %s",
                         DIAG_QUOTED(d.id), kind_name(d.kind), record_id_rule(d.kind));
        if (r == 0) {
                k = record_key_of(scope, d.kind, d.id);
                r = record_get(t, &k, &rec);
                if (r == -ENOENT)
                        r = diag(reterr, ENGINE_E_NO_RECORD, "there is no record %s of %s in scope %s", d.id,
                                 kind_name(d.kind), d.scope);
        }
        if (r == 0)
                r = dead_letter_of(t, &k, &seq);
        if (r == 0)
                r = diag(reterr, ENGINE_E_BLOCKED,
                         "%s %s: the projection of an earlier event failed, and comes first: see `lethe verify`",
                         kind_name(d.kind), d.id);
        else if (r == -ENOENT)
                r = graph_dependents_most(t, &k, false, d.bounded ? DELETE_DEPENDENTS_MAX : SIZE_MAX, &deps, &n);
        if (r == ENGINE_E_TOO_MANY)
                r = diag(reterr, ENGINE_E_DEPENDENTS,
                         "more than %d records depend on the record: the operator may delete such a record",
                         DELETE_DEPENDENTS_MAX);
        if (r == 0)
                r = delete_check(&d, deps, n, reterr);
        if (r > 0) {
                int e = engine_mutation_refused(t, &(Mutation){.scope = d.scope, .kind = d.kind, .op = OP_DELETE,
                                                               .id = d.id, .who = d.who, .region = d.region}, r);

                return e < 0 ? e : r;
        }
        for (size_t i = n; r == 0 && i > 0; i--) /* farthest dependents first */
                if (deps[i - 1].holds)
                        r = delete_one(t, &d, &deps[i - 1].ref.source, &k, NULL, 0, went, reterr);
        if (r == 0)
                r = delete_one(t, &d, &k, NULL, deps, n, went, reterr);
        if (r > 0) /* a deleted record has an event without projection: abort the transaction */
                return -EUCLEAN;
        if (r == 0)
                *ret = TAKE_PTR(went);
        return r;
}
