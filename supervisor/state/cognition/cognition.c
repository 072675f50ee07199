#include "cognition/cognition.h"

#include "cognition/advised.h"
#include "cognition/ccs-text.h"
#include "cognition/turn.h"
#include "engine/mutate.h"
#include "engine/scope.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A failure after the first write of a transaction: no refusal is committed half. */
static int cognition_whole(int r) {
        return r > 0 ? -EUCLEAN : r;
}

/* Stores a text. The verdict of the clauses that look at the text alone is stored with it (qualify.h). */
static int cognition_keep(Txn *t, const char *who, const char *session, const char *id, EvidenceSource source,
                          const ObservedText *text, uint64_t turn, json_t *ids, uint64_t *ret_seq) {
        QualifyClause clause = qualify_text(source, text->text, text->n);
        _cleanup_json_ json_t *payload = json_pack("{s:s%}", "text", text->text, text->n),
                              *more = json_pack("{s:s, s:s, s:s*}", "source", evidence_source_name(source), "label",
                                                text->label, "refused",
                                                clause == QUALIFY_OK ? NULL : qualify_clause_name(clause)),
                              *fields = json_pack("{s:o}", "turn", json_u64(turn));
        Mutated done;
        int r;

        if (!payload || !more || !fields)
                return -ENOMEM;
        r = engine_mutate_ccs(t,
                          &(Mutation){.scope = session, .kind = KIND_EVIDENCE, .op = OP_SAVE, .id = id, .expect = 0,
                                      .payload = payload, .more = more, .fields = fields, .who = who, .takes = true,
                                      .one_of_many = true}, &done, NULL);
        if (r == 0 && ids && json_array_append_new(ids, json_string(id)) < 0)
                r = -ENOMEM;
        if (r == 0)
                *ret_seq = done.seq;
        return cognition_whole(r);
}

/* prefix: of the id; the turn's number and the position follow. */
static int cognition_keep_list(Txn *t, const char *who, const char *session, const char *prefix, EvidenceSource source,
                               const Observed *o, uint64_t turn, json_t *ids, uint64_t *ret_seq) {
        char id[RECORD_ID_MAX];
        int r = 0;

        for (size_t i = 0; i < o->n && r == 0; i++) {
                snprintf(id, sizeof(id), "%s%" PRIu64 "_%zu", prefix, turn, i + 1);
                r = cognition_keep(t, who, session, id, source, &o->list[i], turn, ids, ret_seq);
        }
        return r;
}

/* Replaces the state (C-2). more: taken over. */
static int cognition_commit(Txn *t, const char *who, const char *session, uint64_t version, const Ccs *state, json_t *more,
                            json_t *fields, Buf *text, Mutated *ret) {
        _cleanup_json_ json_t *m = more, *f = fields, *payload = NULL;
        int r = m && f ? ccs_print(state, text) : -ENOMEM;

        if (r < 0)
                return r;
        payload = json_pack("{s:s%}", "text", text->data, text->n);
        if (!payload || json_put(f, "schema", json_string(ccs_schema_hash())) < 0 ||
            json_put(f, "tokens", json_u64(ccs_tokens(text->data, text->n))) < 0)
                return -ENOMEM;
        return cognition_whole(engine_mutate_ccs(
                t,
                &(Mutation){.scope = session, .kind = KIND_CCS, .op = OP_SAVE, .id = SESSION_RECORD, .expect = version,
                            .payload = payload, .more = m, .fields = f, .who = who, .takes = true}, ret, NULL));
}

int cognition_begin(Txn *t, const CognitionBegin *b, json_t **ret, Diag *reterr) {
        char session[SESSION_NAME_MAX] = "ccs-";
        _cleanup_ccs_ Ccs state = CCS_NULL;
        _cleanup_buf_ Buf text = {0};
        uint64_t scope, other;
        CcsBound bound;
        json_t *more;
        Mutated done;
        int r = b->recall ? scope_find(t, b->recall, &other, reterr) : 0;

        if (r == 0)
                r = turn_code(ccs_begin_within(b->role, b->n_role, b->bound, &state, &bound, NULL, reterr)
                                      ?: ccs_validate(&state, &bound, reterr));
        if (r == 0 && b->of)
                snprintf(session + 4, sizeof(session) - 4, "%s", b->of);
        else if (r == 0)
                r = region_id_new(b->now_usec, session + 4);
        if (r != 0)
                return r;
        r = cognition_whole(engine_scope_create(t, b->who, session, &scope, reterr));
        if (r < 0)
                return r;
        more = json_pack("{s:{s:o, s:o}, s:s*, s:s*, s:O*, s:o*}", "bound", "bytes", json_u64(bound.bytes), "tokens",
                         json_u64(bound.tokens), "recall", b->recall, "of", b->of, "compressor", b->compressor, "k",
                         b->k ? json_u64(b->k) : NULL);
        r = cognition_commit(t, b->who, session, 0, &state, more, json_pack("{s:i}", "turn", 0), &text, &done);
        if (r < 0)
                return r;
        *ret = json_pack("{s:s, s:i, s:s%, s:o, s:{s:o, s:o}, s:s, s:o, s:O*}", "session", session, "turn", 0, "ccs",
                         text.data, text.n, "tokens", json_u64(ccs_tokens(text.data, text.n)), "bound", "bytes",
                         json_u64(bound.bytes), "tokens", json_u64(bound.tokens), "schema", ccs_schema_hash(), "seq",
                         json_u64(done.seq), "compressor", json_object_get(b->compressor, "skill"));
        return *ret ? 0 : -ENOMEM;
}

static json_t *cognition_evidence(const Recalled *g) {
        _cleanup_json_ json_t *list = json_array();

        for (size_t i = 0; i < g->n; i++) {
                QualifyClause clause = g->item[i].clause;
                json_t *one = json_pack("{s:s, s:s, s:o, s:s, s:s, s:b, s:s*}", "kind", kind_name(g->item[i].kind), "id",
                                        g->item[i].id, "version", json_u64(g->item[i].version), "label",
                                        g->item[i].label, "source", evidence_source_name(g->item[i].source), "qualified",
                                        clause == QUALIFY_OK, "clause",
                                        clause == QUALIFY_OK ? NULL : qualify_clause_name(clause));

                if (json_array_append_new(list, one) < 0)
                        return NULL;
        }
        return TAKE_PTR(list);
}

/* What the compressor did to the fields, for the auditor; the evidence of each is the turn's input. */
static json_t *cognition_acts(const CognitionTurn *c) {
        _cleanup_json_ json_t *list = json_array();

        for (size_t i = 0; i < c->report.n; i++) {
                const CompressEvent *e = &c->report.event[i];

                if (json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s*}", "act", compress_act_name(e->act),
                                                          "field", ccs_field_name(e->field), "atom", e->atom, "reason",
                                                          e->reason)) < 0)
                        return NULL;
        }
        return TAKE_PTR(list);
}

/* A turn that changes nothing is an event, too (C-33). */
static int cognition_refuse(Txn *t, const char *who, const CognitionTurn *c, int code) {
        int r = engine_mutation_refused(t,
                                        &(Mutation){.scope = c->s.name, .kind = KIND_CCS, .op = OP_SAVE,
                                                    .id = SESSION_RECORD, .who = who}, (EngineCode)code);

        return r < 0 ? r : code;
}

/* Who proposed the state, for the auditor: {"by","region"?,"repaired","degraded","fault"?}. */
static json_t *cognition_proposed(const CognitionProposal *p) {
        return json_pack("{s:s, s:s*, s:b, s:b, s:o*}", "by", p->by, "region", *p->region ? p->region : NULL,
                         "repaired", p->repaired, "degraded", p->degraded, "fault", advised_fault(p));
}

/* The artifacts with an influence on the state, for `lethe audit derived`: {scope: ["KIND/ID@VERSION"]}. */
static json_t *cognition_from(const CognitionTurn *c) {
        _cleanup_json_ json_t *from = json_object();

        for (size_t i = 0; i < c->got.n_good; i++) {
                bool own = c->got.item[i].kind == KIND_EVIDENCE;
                char scope[24];
                json_t *list;

                snprintf(scope, sizeof(scope), "%" PRIu64, own ? c->s.scope : c->other);
                list = json_object_get(from, scope);
                if (!list && json_object_set_new(from, scope, list = json_array()) < 0)
                        return NULL;
                if (json_array_append_new(list, json_sprintf("%s/%s@%" PRIu64, kind_name(c->got.item[i].kind),
                                                             c->got.item[i].id, c->got.item[i].version)) < 0)
                        return NULL;
        }
        return json_object_size(from) > 0 ? TAKE_PTR(from) : json_null();
}

static int cognition_write(Txn *t, const char *who, CognitionTurn *c, const CognitionProposal *p, json_t **ret) {
        uint64_t turn = c->s.turn + 1, seq = 0;
        _cleanup_json_ json_t *evidence = cognition_evidence(&c->got), *acts = cognition_acts(c), *from = cognition_from(c);
        _cleanup_buf_ Buf text = {0};
        bool degraded = p && p->degraded;
        char id[RECORD_ID_MAX];
        Mutated done = {0};
        int r = evidence && acts && from ? 0 : -ENOMEM;

        strcpy(c->in->main.label, compress_source_name(c->in->source));
        snprintf(id, sizeof(id), "in%" PRIu64, turn);
        if (r == 0 && c->in->main.n > 0)
                r = cognition_keep(t, who, c->s.name, id,
                                   evidence_source_from_name(compress_source_name(c->in->source)), &c->in->main, turn,
                                   NULL, &seq);
        if (r == 0)
                r = cognition_keep_list(t, who, c->s.name, "tool", EVIDENCE_TOOL, c->in, turn, NULL, &seq);
        if (r == 0)
                r = cognition_commit(t, who, c->s.name, c->s.rec.version, &c->next,
                                     json_pack("{s:O, s:O, s:o*}", "evidence", evidence, "acts", acts, "proposal",
                                               p ? cognition_proposed(p) : NULL),
                                     json_pack("{s:o, s:O*, s:b, s:o, s:o*, s:s*}", "turn", json_u64(turn), "from",
                                               json_is_object(from) ? from : NULL, "degraded", degraded,
                                               "dropped", json_u64(c->dropped), "undecided",
                                               c->undecided ? json_u64(c->undecided) : NULL, "compressor",
                                               p ? p->by : NULL), &text, &done);
        if (r < 0)
                return r;
        *ret = json_pack("{s:o, s:s%, s:o, s:O, s:b, s:o, s:o, s:o*}", "turn", json_u64(turn), "ccs", text.data, text.n,
                         "tokens", json_u64(ccs_tokens(text.data, text.n)), "evidence", evidence, "degraded", degraded,
                         "dropped", json_u64(c->dropped), "seq", json_u64(done.seq), "fault",
                         degraded ? advised_fault(p) : NULL);
        return *ret ? 0 : -ENOMEM;
}

/* May this caller drive the turns? */
static int cognition_driver(const CognitionSession *s, const CognitionTurnOf *of, Diag *reterr) {
        if (strcmp(s->of, of->of ?: "") == 0)
                return 0;
        return *s->of ? diag(reterr, ENGINE_E_DRIVEN, "%s belongs to session %s: `lethe session turn` drives it",
                             of->session, s->of)
                      : diag(reterr, ENGINE_E_DRIVEN, "%s belongs to no session: `lethe ccs turn` drives it", of->session);
}

/* ... and is the proposal about the present state? */
static int cognition_admit(const CognitionTurn *c, const CognitionTurnOf *of, Diag *reterr) {
        int r = cognition_driver(&c->s, of, reterr);

        if (r != 0)
                return r;
        if (c->s.compressor && !of->proposal)
                return diag(reterr, ENGINE_E_ADVISED, "the advisor %s compresses the turns of %s: it is to be asked first",
                            json_str(c->s.compressor, "skill"), of->session);
        if (of->proposal && of->proposal->before != c->s.turn)
                return diag(reterr, ENGINE_E_NOT_NEXT, "turn %" PRIu64 " was committed while the advisor was asked for "
                            "turn %" PRIu64 ": read the state, and ask again", c->s.turn, of->proposal->before + 1);
        return 0;
}

int cognition_advised(Txn *t, const CognitionTurnOf *of, json_t **ret, Diag *reterr) {
        _cleanup_cognition_turn_ CognitionTurn *c = NULL;
        CognitionProposal p = {0}; /* borrows the state */
        int r = turn_read(t, of->session, of->input, &c, reterr) ?: cognition_admit(c, of, reterr);

        if (r != 0)
                return r;
        r = turn_compress(c, reterr);
        if (r > 0)
                return cognition_refuse(t, of->who, c, r);
        if (r == 0 && of->proposal) {
                p = *of->proposal;
                r = advised_take(t, c, &p);
        }
        return r < 0 ? r : cognition_write(t, of->who, c, of->proposal ? &p : NULL, ret);
}

int cognition_turn(Txn *t, const char *who, const char *session, const json_t *input, json_t **ret, Diag *reterr) {
        return cognition_advised(t, &(CognitionTurnOf){.who = who, .session = session, .input = input}, ret, reterr);
}

int cognition_decided(Txn *t, const CognitionTurnOf *of, json_t **ret, Diag *reterr) {
        const char *who = of->who, *session = of->session;
        _cleanup_free_ Observed *o = calloc(1, sizeof(*o));
        _cleanup_session_ CognitionSession s = SESSION_NULL;
        _cleanup_json_ json_t *ids = json_array();
        char id[RECORD_ID_MAX];
        uint64_t seq = 0;
        int r;

        if (!o || !ids)
                return -ENOMEM;
        r = observe(of->input, "decision", "tools", o, reterr)
                        ?: session_open(t, session, &s, reterr)
                        ?: cognition_driver(&s, of, reterr);
        if (r == 0 && s.turn == 0)
                r = diag(reterr, ENGINE_E_NO_TURN, "session %s has no turn yet: a decision follows a turn", session);
        if (r == 0 && o->turn != COGNITION_NEWEST && o->turn != s.turn)
                r = diag(reterr, ENGINE_E_NOT_NEXT, "turn is %" PRIu64 ": the session is in turn %" PRIu64, o->turn,
                         s.turn);
        if (r == 0 && o->main.n == 0)
                r = diag(reterr, ENGINE_E_BAD_PAYLOAD, "decision is empty: a text is needed");
        if (r != 0)
                return r;
        snprintf(id, sizeof(id), "said%" PRIu64, s.turn);
        r = session_has(t, &s, id);
        if (r != 0)
                return r < 0 ? r : diag(reterr, ENGINE_E_DECIDED, "turn %" PRIu64 " has a decision already", s.turn);
        strcpy(o->main.label, "decision");
        r = cognition_keep(t, who, session, id, EVIDENCE_MODEL, &o->main, s.turn, ids, &seq)
                ?: cognition_keep_list(t, who, session, "out", EVIDENCE_TOOL, o, s.turn, ids, &seq)
                ?: ledger_want_anchor(t);
        if (r < 0)
                return r;
        *ret = json_pack("{s:o, s:O, s:o}", "turn", json_u64(s.turn), "evidence", ids, "seq", json_u64(seq));
        return *ret ? 0 : -ENOMEM;
}

int cognition_decide(Txn *t, const char *who, const char *session, const json_t *input, json_t **ret, Diag *reterr) {
        return cognition_decided(t, &(CognitionTurnOf){.who = who, .session = session, .input = input}, ret, reterr);
}

/* The first free number of a document of the turn: the numbers in use stand in a row. */
static int cognition_document_free(Txn *t, const CognitionSession *s, uint64_t *ret) {
        uint64_t used = 0, unused = 1;
        char id[RECORD_ID_MAX];
        bool doubling = true;

        while (doubling || unused - used > 1) {
                uint64_t at = doubling ? unused : used + (unused - used) / 2;
                int r;

                snprintf(id, sizeof(id), "doc%" PRIu64 "_%" PRIu64, s->turn, at);
                r = session_has(t, s, id);
                if (r < 0)
                        return r;
                if (r > 0)
                        used = at;
                else
                        unused = at;
                doubling &= r > 0;
                if (doubling)
                        unused *= 2;
        }
        *ret = unused;
        return 0;
}

int cognition_store(Txn *t, const char *who, const char *session, const json_t *input, json_t **ret, Diag *reterr) {
        _cleanup_free_ Observed *o = calloc(1, sizeof(*o));
        _cleanup_session_ CognitionSession s = SESSION_NULL;
        _cleanup_json_ json_t *ids = json_array();
        uint64_t seq = 0, next = 0;
        int r;

        if (!o || !ids)
                return -ENOMEM;
        r = observe(input, NULL, "documents", o, reterr) ?: session_open(t, session, &s, reterr);
        if (r == 0 && o->turn != COGNITION_NEWEST && o->turn != s.turn)
                r = diag(reterr, ENGINE_E_NOT_NEXT, "turn is %" PRIu64 ": the session is in turn %" PRIu64, o->turn,
                         s.turn);
        r = r ?: cognition_document_free(t, &s, &next);
        for (size_t i = 0; i < o->n && r == 0; i++) {
                char id[RECORD_ID_MAX];

                snprintf(id, sizeof(id), "doc%" PRIu64 "_%" PRIu64, s.turn, next + i);
                r = cognition_keep(t, who, session, id, o->of, &o->list[i], s.turn, ids, &seq);
        }
        if (r == 0)
                r = ledger_want_anchor(t);
        if (r != 0)
                return r;
        *ret = json_pack("{s:O, s:o}", "evidence", ids, "seq", json_u64(seq));
        return *ret ? 0 : -ENOMEM;
}
