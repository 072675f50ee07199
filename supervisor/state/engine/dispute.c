#include "engine/dispute.h"

#include <errno.h>
#include <string.h>

static int dispute_live(Txn *t, const Party *p, Diag *reterr) {
        _cleanup_record_ Record rec = RECORD_NULL;
        char name[PARTY_NAME_MAX];
        int r = record_get(t, &p->key, &rec);

        if (r == -ENOENT || (r == 0 && !record_state_live(rec.state)))
                return diag(reterr, ENGINE_E_NO_RECORD, "%s is not there, or has ended", party_name(p, name));
        return r;
}

int engine_dispute_settled(Txn *t, const char *who, const char *region, const Party *a, const Party *b,
                           uint64_t *ret_seq, Diag *reterr) {
        int r = dispute_live(t, a, reterr) ?: dispute_live(t, b, reterr);
        json_t *fields;

        if (r != 0)
                return r;
        fields = json_pack("{s:o, s:s, s:s, s:s*, s:s, s:s, s:s*}", "scope", json_u64(a->key.scope), "kind",
                           kind_name(a->key.kind), "id", a->key.id, "rule", *a->rule ? a->rule : NULL, "with_kind",
                           kind_name(b->key.kind), "with_id", b->key.id, "with_rule", *b->rule ? b->rule : NULL);
        return project_append(t, &(Event){.type = "dispute.settled", .who = who, .region = region, .fields = fields},
                              ret_seq);
}

static int dispute_party(const json_t *entry, const char *kind, const char *id, const char *rule, Party *ret) {
        const char *k = json_text(json_object_get(entry, kind)), *i = json_text(json_object_get(entry, id)),
                   *of = json_text(json_object_get(entry, rule));
        Kind is = k ? kind_from_name(k) : KIND_NONE;
        uint64_t scope;

        if (!is || !i || !record_id_valid(is, i) || (of && strlen(of) >= sizeof(ret->rule)) ||
            json_get_u64(json_object_get(entry, "scope"), &scope) < 0)
                return -EUCLEAN;
        *ret = (Party){.key = record_key_of(scope, is, i)};
        strcpy(ret->rule, of ? of : "");
        return 0;
}

int dispute_project(Txn *t, const Projection *p) {
        Party a, b;
        int r = dispute_party(p->entry, "kind", "id", "rule", &a)
                        ?: dispute_party(p->entry, "with_kind", "with_id", "with_rule", &b);

        if (r == 0)
                r = claims_project_settled(t, p->seq, &a, &b);
        return r == -ENOENT ? -EUCLEAN : r;
}
