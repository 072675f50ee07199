#include "cognition/gather.h"

#include "engine/payload.h"
#include "index/index.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A record, and the owned memory of an artifact. */
typedef struct GatherOne {
        Record rec;
        json_t *body;
        char *text, *subject;
        const char *label;
} GatherOne;

typedef struct GatherAll {
        RecallHits hits;
        size_t n_seen; /* hits that were read */
        size_t n, n_good;
        GatherOne one[RECALL_FLOOD];
        Artifact artifact[RECALL_FLOOD];
} GatherAll;

static void gather_one_deinit(GatherOne *one) {
        record_deinit(&one->rec);
        json_decref(one->body);
        free(one->text);
        free(one->subject);
        *one = (GatherOne){.body = NULL};
}

static void gather_all_free(GatherAll *all) {
        for (size_t i = 0; all && i < all->n; i++)
                gather_one_deinit(&all->one[i]);
        free(all);
}
static inline void gather_all_freep(GatherAll **all) {
        gather_all_free(*all);
}

static int gather_record(Txn *t, const RecallHit *hit, Record *ret) {
        char id[INDEX_ID_MAX + 1];
        DocReader doc;
        RecordKey key;
        Bytes row;
        int r = index_doc(t, hit->scope, (uint8_t)hit->kind, hit->number, &row) ?: doc_open(row, &doc);

        if (r < 0 || doc.n_id >= RECORD_ID_MAX)
                return r == -ENOENT || r == 0 ? -EUCLEAN : r;
        memcpy(id, doc.id, doc.n_id);
        id[doc.n_id] = '\0';
        key = record_key_of(hit->scope, hit->kind, id);
        r = record_get(t, &key, ret);
        return r == -ENOENT ? -EUCLEAN : r;
}

/* Governed memory has passed rules before; saved memory and knowledge are documents. */
static EvidenceSource gather_source(const GatherOne *one) {
        EvidenceSource s;

        if (one->rec.key.kind != KIND_EVIDENCE)
                return kind_class(one->rec.key.kind) == CLASS_CANON ? EVIDENCE_OPERATOR : EVIDENCE_DOCUMENT;
        s = evidence_source_from_name(json_str(one->body, "source"));
        return s == EVIDENCE_SOURCES ? EVIDENCE_DOCUMENT : s;
}

static int gather_load(Txn *t, const RecallHit *hit, GatherOne *one, Artifact *ret) {
        const json_t *payload;
        size_t n = 0;
        int r = gather_record(t, hit, &one->rec) ?: record_body(t, one->rec.content, &one->body);

        if (r < 0)
                return r;
        payload = json_object_get(one->body, "payload");
        r = payload_text(payload, &one->text, &n);
        if (r < 0)
                return r;
        if (json_object_get(payload, "predicate") &&
            asprintf(&one->subject, "%s %s: ", json_str(payload, "subject"), json_str(payload, "predicate")) < 0) {
                one->subject = NULL;
                return -ENOMEM;
        }
        one->label = one->rec.key.kind == KIND_EVIDENCE ? json_str(one->body, "label")
                     : kind_class(one->rec.key.kind) == CLASS_CANON ? kind_name(one->rec.key.kind)
                                                                    : class_name(kind_class(one->rec.key.kind));
        *ret = (Artifact){.text = one->text, .n = n, .source = gather_source(one), .state = one->rec.state,
                          .judged = one->rec.key.kind == KIND_EVIDENCE, .last = one->rec.last, .subject = one->subject};
        return 0;
}

static void gather_add(const GatherOne *one, EvidenceSource source, QualifyClause clause, Recalled *ret) {
        snprintf(ret->item[ret->n].id, sizeof(ret->item[0].id), "%s", one->rec.key.id);
        snprintf(ret->item[ret->n].label, sizeof(ret->item[0].label), "%s", *one->label ? one->label : "evidence");
        ret->item[ret->n].version = one->rec.version;
        ret->item[ret->n].kind = one->rec.key.kind;
        ret->item[ret->n].source = source;
        ret->item[ret->n++].clause = clause;
}

/* Evidence with a stored refusal: for the record alone. */
static int gather_refused(Txn *t, uint64_t scope, const RecallQuery *q, uint64_t newest, size_t k, RecallHits *hits,
                          Recalled *ret) {
        int r;

        hits->n = 0;
        hits->most = RECALL_CANDIDATES;
        r = recall_read(t, scope, KIND_EVIDENCE, INDEX_REFUSED, q, newest, hits);
        for (size_t i = 0; i < hits->n && r == 0 && ret->n - ret->n_good < k; i++) {
                GatherOne one = {.body = NULL};
                Artifact artifact;

                r = gather_load(t, &hits->hit[i], &one, &artifact);
                if (r == 0)
                        gather_add(&one, artifact.source,
                                   strcmp(json_str(one.body, "refused"), "trusted") == 0 ? QUALIFY_TRUSTED : QUALIFY_CLEAN,
                                   ret);
                gather_one_deinit(&one);
                r = r == -ENOENT ? 0 : r;
        }
        return r;
}

/* Finds the best `most` hits; reads and judges those not seen before, until k are good. The best hits begin with the
 * best of a smaller number. */
static int gather_judge(Txn *t, uint64_t scope, uint64_t other, const Ccs *state, const RecallQuery *q, uint64_t newest,
                        size_t most, size_t k, GatherAll *all) {
        int r;

        all->hits.n = 0;
        all->hits.most = most;
        r = recall_read(t, scope, KIND_EVIDENCE, INDEX_TEXT, q, newest, &all->hits);
        for (const Kind *kind = kinds; r == 0 && other && *kind; kind++)
                if (kind_class(*kind) == CLASS_CANON || *kind == KIND_MEMORY || *kind == KIND_KNOWLEDGE)
                        r = recall_read(t, other, *kind, INDEX_TEXT, q, newest, &all->hits);
        for (; r == 0 && all->n_seen < all->hits.n && all->n_good < k; all->n_seen++) {
                const RecallHit *hit = &all->hits.hit[all->n_seen];

                r = gather_load(t, hit, &all->one[all->n], &all->artifact[all->n]);
                if (r == 0) {
                        all->artifact[all->n].relevant = recall_is_relevant(q, hit);
                        qualify(state, all->artifact, all->n++, &all->n_good);
                } else
                        gather_one_deinit(&all->one[all->n]); /* an erased text */
                r = r == -ENOENT ? 0 : r;
        }
        return r;
}

int gather(Txn *t, uint64_t scope, uint64_t other, const Ccs *state, const RecallQuery *q, size_t k, Recalled *ret) {
        _cleanup_(gather_all_freep) GatherAll *all = calloc(1, sizeof(*all));
        uint64_t newest = 0, usec;
        int r = all ? ledger_state(t, &newest, &usec) : -ENOMEM;

        ret->n = ret->n_good = 0;
        if (r == 0)
                r = gather_judge(t, scope, other, state, q, newest, RECALL_CANDIDATES, k, all);
        if (r == 0 && all->hits.n == RECALL_CANDIDATES && all->n_good < k)
                r = gather_judge(t, scope, other, state, q, newest, RECALL_FLOOD, k, all);
        if (r < 0)
                return r;
        for (size_t i = 0; i < all->n; i++)
                if (all->artifact[i].clause == QUALIFY_OK)
                        gather_add(&all->one[i], all->artifact[i].source, QUALIFY_OK, ret);
        ret->n_good = ret->n;
        for (size_t i = 0; i < all->n && ret->n - ret->n_good < k; i++)
                if (all->artifact[i].clause != QUALIFY_OK && all->artifact[i].clause != QUALIFY_RELEVANT)
                        gather_add(&all->one[i], all->artifact[i].source, all->artifact[i].clause, ret);
        r = ret->n - ret->n_good < k ? gather_refused(t, scope, q, newest, k, &all->hits, ret) : 0;
        for (size_t i = 0; i < all->n && ret->n - ret->n_good < k; i++)
                if (all->artifact[i].clause == QUALIFY_RELEVANT)
                        gather_add(&all->one[i], all->artifact[i].source, QUALIFY_RELEVANT, ret);
        return r;
}
