#include "cognition/cognition.h"

#include "cognition/ccs-check.h"
#include "cognition/ccs-text.h"
#include "cognition/gather.h"
#include "cognition/observe.h"
#include "cognition/session.h"
#include "engine/mutate.h"
#include "engine/scope.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define COGNITION_NO_GOAL "assist(user)" /* stands until somebody names a goal */

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

static int cognition_code(int r) {
        return r <= 0 ? r : r == CCS_E_OVER_BUDGET ? ENGINE_E_OVER_BUDGET : r == CCS_E_LOST ? ENGINE_E_LOST
                                                                                            : ENGINE_E_BAD_STATE_TEXT;
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
                r = cognition_code(ccs_begin(b->role, b->n_role, &state, &bound, NULL, reterr));
        if (r == 0 && b->bound)
                bound = *b->bound;
        if (r == 0)
                r = cognition_code(ccs_fit(&state, &bound, NULL, reterr) ?: ccs_validate(&state, &bound, reterr));
        if (r == 0)
                r = region_id_new(b->now_usec, session + 4);
        if (r != 0)
                return r;
        r = cognition_whole(engine_scope_create(t, b->who, session, &scope, reterr));
        if (r < 0)
                return r;
        more = json_pack("{s:{s:o, s:o}, s:s*}", "bound", "bytes", json_u64(bound.bytes), "tokens",
                         json_u64(bound.tokens), "recall", b->recall);
        r = cognition_commit(t, b->who, session, 0, &state, more, json_pack("{s:i}", "turn", 0), &text, &done);
        if (r < 0)
                return r;
        *ret = json_pack("{s:s, s:i, s:s%, s:o, s:{s:o, s:o}, s:s, s:o}", "session", session, "turn", 0, "ccs", text.data,
                         text.n, "tokens", json_u64(ccs_tokens(text.data, text.n)), "bound", "bytes",
                         json_u64(bound.bytes), "tokens", json_u64(bound.tokens), "schema", ccs_schema_hash(), "seq",
                         json_u64(done.seq));
        return *ret ? 0 : -ENOMEM;
}

/* x_t, with what is borrowed from the evidence of the turn before (C-20). */
typedef struct CognitionTurn {
        CognitionSession s;
        Observed *in;
        json_t *bodies[1 + COGNITION_TEXTS_MAX]; /* owned; the first is the decision's */
        CompressText decision;
        CompressText tools[2 * COGNITION_TEXTS_MAX];
        size_t n_bodies, n_tools;
        Recalled got;
        CompressReport report;
        Ccs next;
        size_t dropped;
        uint64_t undecided; /* the turn before, if nobody decided; else 0 */
} CognitionTurn;

static void cognition_turn_free(CognitionTurn *c) {
        if (!c)
                return;
        for (size_t i = 0; i < c->n_bodies; i++)
                json_decref(c->bodies[i]);
        session_deinit(&c->s);
        ccs_deinit(&c->next);
        free(c->in);
        free(c);
}
static inline void cognition_turn_freep(CognitionTurn **c) {
        cognition_turn_free(*c);
}

/* Reads a text of the session's evidence; -ENOENT: none, or erased. */
static int cognition_read(Txn *t, CognitionTurn *c, const char *id, CompressText *ret) {
        RecordKey key = record_key_of(c->s.scope, KIND_EVIDENCE, id);
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_json_ json_t *body = NULL;
        const json_t *text;
        int r = record_get(t, &key, &rec) ?: record_body(t, rec.content, &body);

        if (r < 0)
                return r;
        text = json_object_get(json_object_get(body, "payload"), "text");
        if (!json_is_string(text))
                return -EUCLEAN;
        *ret = (CompressText){.text = json_bytes(text), .n = json_string_length(text)};
        c->bodies[c->n_bodies++] = TAKE_PTR(body);
        return 0;
}

static int cognition_read_before(Txn *t, CognitionTurn *c) {
        uint64_t turn = c->s.turn;
        char id[RECORD_ID_MAX];
        int r;

        if (turn == 0)
                return 0;
        snprintf(id, sizeof(id), "said%" PRIu64, turn);
        r = session_has(t, &c->s, id);
        if (r <= 0) {
                c->undecided = r == 0 ? turn : 0;
                return r;
        }
        r = cognition_read(t, c, id, &c->decision);
        r = r == -ENOENT ? 0 : r;
        for (size_t i = 1; i <= COGNITION_TEXTS_MAX && r == 0; i++) {
                snprintf(id, sizeof(id), "out%" PRIu64 "_%zu", turn, i);
                r = cognition_read(t, c, id, &c->tools[c->n_tools]);
                if (r == 0)
                        c->n_tools++;
                else if (r == -ENOENT)
                        return 0;
        }
        return r;
}

static int cognition_recall(Txn *t, CognitionTurn *c) {
        RecallText input = {c->in->main.text, c->in->main.n}, others[1 + ARRAY_SIZE(c->tools)];
        size_t n = 0;
        RecallQuery q;
        uint64_t other = 0;
        int r;

        if (c->decision.n > 0)
                others[n++] = (RecallText){c->decision.text, c->decision.n};
        for (size_t i = 0; i < c->n_tools; i++)
                others[n++] = (RecallText){c->tools[i].text, c->tools[i].n};
        r = recall_query(t, &c->s.state, &input, others, n, &q);
        if (r == 0 && *c->s.recall) {
                r = scope_get(t, c->s.recall, &other);
                r = r == -ENOENT ? 0 : r; /* a deleted scope has nothing */
        }
        return r ?: gather(t, c->s.scope, other, &c->s.state, &q, RECALL_K, &c->got);
}

/* All checks of the validator (C-6, C-30..C-33), the same for each compressor. */
static int cognition_check(CognitionTurn *c, Diag *reterr) {
        static const CcsRank ranks[] = {CCS_RANK_USER, CCS_RANK_OPERATOR, CCS_RANK_POLICY};
        CcsSource sources[2 + 2 * COGNITION_TEXTS_MAX + RECALL_K_MAX];
        char refs[RECALL_K_MAX][RECORD_ID_MAX + 64];
        const char *lifted[COMPRESS_EVENTS_MAX + 1];
        CcsGround ground = {.before = &c->s.state, .sources = sources};
        size_t n_lifted = 0, changed = 0;
        int r;

        lifted[n_lifted++] = COGNITION_NO_GOAL;
        sources[ground.n++] = (CcsSource){c->in->main.text, c->in->main.n, ranks[c->in->source], true};
        if (c->decision.n > 0)
                sources[ground.n++] = (CcsSource){c->decision.text, c->decision.n, CCS_RANK_UNVERIFIED, true};
        for (size_t i = 0; i < c->n_tools; i++)
                sources[ground.n++] = (CcsSource){c->tools[i].text, c->tools[i].n, CCS_RANK_VERIFIED, true};
        for (size_t i = 0; i < c->got.n_good; i++) {
                int n = snprintf(refs[i], sizeof(refs[i]), "%s@%" PRIu64, c->got.item[i].id, c->got.item[i].version);

                sources[ground.n++] = (CcsSource){refs[i], (size_t)n, CCS_RANK_VERIFIED, false};
        }
        for (size_t i = 0; i < c->report.n; i++)
                if (c->report.event[i].act == COMPRESS_LIFTED || c->report.event[i].act == COMPRESS_REPLACED)
                        lifted[n_lifted++] = c->report.event[i].atom;
        r = ccs_check_grounding(&c->next, &ground, false, &c->dropped, reterr);
        if (r == 0)
                r = ccs_check_episodic(&c->next, &ground, reterr);
        if (r == CCS_E_CARRIED) {
                while (c->next.field[CCS_EPISODIC_TRACE].n > 0)
                        ccs_remove(&c->next, CCS_EPISODIC_TRACE, 0);
                r = 0;
        }
        return r ?: ccs_check_verified(&c->next, &ground, false, &changed, reterr)
                ?: ccs_check_retention(&c->s.state, &c->next, lifted, n_lifted, reterr)
                ?: ccs_fit(&c->next, &c->s.bound, NULL, reterr)
                ?: ccs_validate(&c->next, &c->s.bound, reterr);
}

static int cognition_compress(CognitionTurn *c, Diag *reterr) {
        CompressArtifact artifacts[RECALL_K_MAX];
        CompressInput in = {.previous = &c->s.state, .input = {c->in->main.text, c->in->main.n}, .source = c->in->source,
                            .decision = c->decision, .tools = c->tools, .n_tools = c->n_tools, .artifacts = artifacts,
                            .n_artifacts = c->got.n_good, .bound = c->s.bound};

        for (size_t i = 0; i < c->got.n_good; i++)
                artifacts[i] = (CompressArtifact){.label = c->got.item[i].label, .id = c->got.item[i].id,
                                                  .version = c->got.item[i].version};
        return cognition_code(ccs_compress(&in, &c->next, &c->report, reterr) ?: cognition_check(c, reterr));
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

static int cognition_write(Txn *t, const char *who, CognitionTurn *c, json_t **ret) {
        uint64_t turn = c->s.turn + 1, seq = 0;
        _cleanup_json_ json_t *evidence = cognition_evidence(&c->got), *acts = cognition_acts(c);
        _cleanup_buf_ Buf text = {0};
        char id[RECORD_ID_MAX];
        Mutated done = {0};
        int r = evidence && acts ? 0 : -ENOMEM;

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
                                     json_pack("{s:O, s:O}", "evidence", evidence, "acts", acts),
                                     json_pack("{s:o, s:b, s:o, s:o*}", "turn", json_u64(turn), "degraded", 0, "dropped",
                                               json_u64(c->dropped), "undecided",
                                               c->undecided ? json_u64(c->undecided) : NULL), &text, &done);
        if (r < 0)
                return r;
        *ret = json_pack("{s:o, s:s%, s:o, s:O, s:b, s:o, s:o}", "turn", json_u64(turn), "ccs", text.data, text.n,
                         "tokens", json_u64(ccs_tokens(text.data, text.n)), "evidence", evidence, "degraded", 0,
                         "dropped", json_u64(c->dropped), "seq", json_u64(done.seq));
        return *ret ? 0 : -ENOMEM;
}

int cognition_turn(Txn *t, const char *who, const char *session, const json_t *input, json_t **ret, Diag *reterr) {
        _cleanup_(cognition_turn_freep) CognitionTurn *c = calloc(1, sizeof(*c));
        int r;

        if (!c || !(c->in = calloc(1, sizeof(*c->in))))
                return -ENOMEM;
        r = observe(input, "input", "tools", c->in, reterr) ?: session_open(t, session, &c->s, reterr);
        if (r == 0 && c->in->turn != COGNITION_NEWEST && c->in->turn != c->s.turn + 1)
                r = diag(reterr, ENGINE_E_NOT_NEXT, "turn is %" PRIu64 ": the next turn of the session is %" PRIu64,
                         c->in->turn, c->s.turn + 1);
        if (r == 0)
                r = cognition_read_before(t, c);
        for (size_t i = 0; r == 0 && i < c->in->n; i++)
                c->tools[c->n_tools++] = (CompressText){.text = c->in->list[i].text, .n = c->in->list[i].n};
        r = r ?: cognition_recall(t, c);
        if (r != 0)
                return r;
        r = cognition_compress(c, reterr);
        return r > 0 ? cognition_refuse(t, who, c, r) : r < 0 ? r : cognition_write(t, who, c, ret);
}

int cognition_decide(Txn *t, const char *who, const char *session, const json_t *input, json_t **ret, Diag *reterr) {
        _cleanup_free_ Observed *o = calloc(1, sizeof(*o));
        _cleanup_session_ CognitionSession s = SESSION_NULL;
        _cleanup_json_ json_t *ids = json_array();
        char id[RECORD_ID_MAX];
        uint64_t seq = 0;
        int r;

        if (!o || !ids)
                return -ENOMEM;
        r = observe(input, "decision", "tools", o, reterr) ?: session_open(t, session, &s, reterr);
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
