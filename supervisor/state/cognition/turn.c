#include "cognition/turn.h"

#include "engine/payload.h"
#include "engine/scope.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int turn_code(int r) {
        return r <= 0 ? r : r == CCS_E_OVER_BUDGET ? ENGINE_E_OVER_BUDGET : r == CCS_E_LOST ? ENGINE_E_LOST
                                                                                            : ENGINE_E_BAD_STATE_TEXT;
}

void cognition_turn_free(CognitionTurn *c) {
        if (!c)
                return;
        for (size_t i = 0; i < c->n_bodies; i++)
                json_decref(c->bodies[i]);
        for (size_t i = 0; i < ARRAY_SIZE(c->text); i++)
                free(c->text[i]);
        session_deinit(&c->s);
        ccs_deinit(&c->next);
        free(c->in);
        free(c);
}

/* Reads a text of the session's evidence; -ENOENT: missing or erased. */
static int turn_read_one(Txn *t, CognitionTurn *c, const char *id, CompressText *ret) {
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

static int turn_read_before(Txn *t, CognitionTurn *c) {
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
        r = turn_read_one(t, c, id, &c->decision);
        r = r == -ENOENT ? 0 : r;
        for (size_t i = 1; i <= COGNITION_TEXTS_MAX && r == 0; i++) {
                snprintf(id, sizeof(id), "out%" PRIu64 "_%zu", turn, i);
                r = turn_read_one(t, c, id, &c->tools[c->n_tools]);
                if (r == 0)
                        c->n_tools++;
                else if (r == -ENOENT)
                        return 0;
        }
        return r;
}

/* The number of the further scope for recall, or 0. */
static int turn_other_scope(Txn *t, const CognitionTurn *c, uint64_t *ret) {
        int r = *c->s.recall ? scope_get(t, c->s.recall, ret) : -ENOENT;

        if (r == -ENOENT) /* a deleted scope is empty */
                *ret = 0;
        return r == -ENOENT ? 0 : r;
}

static int turn_recall(Txn *t, CognitionTurn *c) {
        RecallText input = {c->in->main.text, c->in->main.n}, others[1 + ARRAY_SIZE(c->tools)];
        size_t n = 0;
        RecallQuery q;
        uint64_t other = 0;
        int r;

        if (c->decision.n > 0)
                others[n++] = (RecallText){c->decision.text, c->decision.n};
        for (size_t i = 0; i < c->n_tools; i++)
                others[n++] = (RecallText){c->tools[i].text, c->tools[i].n};
        r = recall_query(t, &c->s.state, &input, others, n, &q) ?: turn_other_scope(t, c, &other);
        c->other = other;
        return r ?: gather(t, c->s.scope, other, &c->s.state, &q, c->s.k, &c->got);
}

int turn_read(Txn *t, const char *session, const json_t *input, CognitionTurn **ret, Diag *reterr) {
        _cleanup_cognition_turn_ CognitionTurn *c = calloc(1, sizeof(*c));
        int r;

        if (!c || !(c->in = calloc(1, sizeof(*c->in))))
                return -ENOMEM;
        r = observe(input, "input", "tools", c->in, reterr) ?: session_open(t, session, &c->s, reterr);
        if (r == 0 && c->in->turn != COGNITION_NEWEST && c->in->turn != c->s.turn + 1)
                r = diag(reterr, ENGINE_E_NOT_NEXT, "turn is %" PRIu64 ": the next turn of the session is %" PRIu64,
                         c->in->turn, c->s.turn + 1);
        if (r == 0)
                r = turn_read_before(t, c);
        for (size_t i = 0; r == 0 && i < c->in->n; i++)
                c->tools[c->n_tools++] = (CompressText){.text = c->in->list[i].text, .n = c->in->list[i].n};
        r = r ?: turn_recall(t, c);
        if (r == 0)
                *ret = TAKE_PTR(c);
        return r;
}

int turn_read_texts(Txn *t, CognitionTurn *c) {
        uint64_t other = 0;
        int r = turn_other_scope(t, c, &other);

        for (size_t i = 0; i < c->got.n_good && r == 0; i++) {
                Kind kind = c->got.item[i].kind;
                RecordKey key = record_key_of(kind == KIND_EVIDENCE ? c->s.scope : other, kind, c->got.item[i].id);
                _cleanup_record_ Record rec = RECORD_NULL;
                _cleanup_json_ json_t *body = NULL;
                size_t n = 0;

                r = record_get(t, &key, &rec) ?: record_body(t, rec.content, &body);
                if (r == 0)
                        r = payload_text(json_object_get(body, "payload"), &c->text[i], &n);
        }
        return r == -ENOENT ? -EUCLEAN : r; /* recall has just read the records */
}

/* The texts of the artifacts ground a proposal; the built-in compressor reads only names. */
static size_t turn_ground(const CognitionTurn *c, CcsSource *sources, char refs[][RECORD_ID_MAX + 64]) {
        static const CcsRank ranks[] = {CCS_RANK_USER, CCS_RANK_OPERATOR, CCS_RANK_POLICY},
                             of[] = {[EVIDENCE_DOCUMENT] = CCS_RANK_UNVERIFIED, [EVIDENCE_MODEL] = CCS_RANK_UNVERIFIED,
                                     [EVIDENCE_TOOL] = CCS_RANK_VERIFIED,       [EVIDENCE_USER] = CCS_RANK_USER,
                                     [EVIDENCE_OPERATOR] = CCS_RANK_OPERATOR,   [EVIDENCE_POLICY] = CCS_RANK_POLICY};
        size_t n = 0;

        sources[n++] = (CcsSource){c->in->main.text, c->in->main.n, ranks[c->in->source], true};
        if (c->decision.n > 0)
                sources[n++] = (CcsSource){c->decision.text, c->decision.n, CCS_RANK_UNVERIFIED, true};
        for (size_t i = 0; i < c->n_tools; i++)
                sources[n++] = (CcsSource){c->tools[i].text, c->tools[i].n, CCS_RANK_VERIFIED, true};
        for (size_t i = 0; i < c->got.n_good; i++) {
                int k = snprintf(refs[i], RECORD_ID_MAX + 64, "%s@%" PRIu64, c->got.item[i].id, c->got.item[i].version);

                sources[n++] = (CcsSource){refs[i], (size_t)k, CCS_RANK_VERIFIED, false};
                if (c->text[i])
                        sources[n++] = (CcsSource){c->text[i], strlen(c->text[i]), of[c->got.item[i].source], false};
        }
        return n;
}

int turn_check(const CognitionTurn *c, Ccs *next, bool trace, size_t *ret_dropped, Diag *reterr) {
        CcsSource sources[2 + 2 * COGNITION_TEXTS_MAX + 2 * RECALL_K_MAX];
        char refs[RECALL_K_MAX][RECORD_ID_MAX + 64];
        const char *lifted[COMPRESS_EVENTS_MAX + 1];
        CcsGround ground = {.before = &c->s.state, .sources = sources};
        size_t n_lifted = 0, changed = 0;
        int r;

        ground.n = turn_ground(c, sources, refs);
        lifted[n_lifted++] = TURN_NO_GOAL;
        for (size_t i = 0; i < c->report.n; i++)
                if (c->report.event[i].act == COMPRESS_LIFTED || c->report.event[i].act == COMPRESS_REPLACED)
                        lifted[n_lifted++] = c->report.event[i].atom;
        r = ccs_check_grounding(next, &ground, false, ret_dropped, reterr);
        if (r == 0)
                r = ccs_check_episodic(next, &ground, reterr);
        if (r == CCS_E_CARRIED && trace) {
                while (next->field[CCS_EPISODIC_TRACE].n > 0)
                        ccs_remove(next, CCS_EPISODIC_TRACE, 0);
                r = 0;
        }
        return r ?: ccs_check_verified(next, &ground, false, &changed, reterr)
                ?: ccs_check_retention(&c->s.state, next, lifted, n_lifted, reterr)
                ?: ccs_fit(next, &c->s.bound, NULL, reterr)
                ?: ccs_validate(next, &c->s.bound, reterr);
}

int turn_compress(CognitionTurn *c, Diag *reterr) {
        CompressArtifact artifacts[RECALL_K_MAX];
        CompressInput in = {.previous = &c->s.state, .input = {c->in->main.text, c->in->main.n}, .source = c->in->source,
                            .decision = c->decision, .tools = c->tools, .n_tools = c->n_tools, .artifacts = artifacts,
                            .n_artifacts = c->got.n_good, .bound = c->s.bound};

        for (size_t i = 0; i < c->got.n_good; i++)
                artifacts[i] = (CompressArtifact){.label = c->got.item[i].label, .id = c->got.item[i].id,
                                                  .version = c->got.item[i].version};
        return turn_code(ccs_compress(&in, &c->next, &c->report, reterr)
                                 ?: turn_check(c, &c->next, true, &c->dropped, reterr));
}
