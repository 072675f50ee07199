#include "engine/judge.h"

#include "engine/quorum.h"
#include "engine/round.h"
#include "engine/slot.h"
#include "ledger/ledger.h"
#include "record/event.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A value of the question. */
typedef struct JudgeValue {
        char sha256[HASH_HEX_MAX];
        uint64_t seq;
        json_t *value, *skills; /* owned */
        size_t regions;
        double confidence; /* negative: none */
} JudgeValue;

typedef struct JudgeValues {
        size_t n;
        JudgeValue v[ARBITRATION_PROPOSALS_MAX];
} JudgeValues;

static void judge_values_freep(JudgeValues **values) {
        for (size_t i = 0; *values && i < (*values)->n; i++) {
                json_decref((*values)->v[i].value);
                json_decref((*values)->v[i].skills);
        }
        free(*values);
}

static int judge_by_hash(const void *a, const void *b) {
        return strcmp(((const JudgeValue *)a)->sha256, ((const JudgeValue *)b)->sha256);
}

/* The entry of this value; a new one at the end. */
static JudgeValue *judge_value_of(JudgeValues *values, Bytes body, uint64_t seq) {
        uint8_t hash[HASH_BYTES];
        char hex[HASH_HEX_MAX];
        JudgeValue *v;

        hash_bytes(body.p, body.n, hash);
        hex_encode(hash, sizeof(hash), hex);
        for (v = values->v; v < values->v + values->n; v++)
                if (strcmp(v->sha256, hex) == 0)
                        return v;
        *v = (JudgeValue){.seq = seq, .skills = json_array(), .confidence = -1};
        strcpy(v->sha256, hex);
        values->n++;
        return v;
}

static int judge_add_skill(json_t *skills, const char *name) {
        const json_t *one;
        size_t i;

        json_array_foreach(skills, i, one)
                if (strcmp(json_text(one), name) == 0)
                        return 0;
        return json_array_append_new(skills, json_string(name)) < 0 ? -ENOMEM : 0;
}

/* Adds a gathered proposal, unless the proposal is for another version than the slot has. */
static int judge_add(Txn *t, const QuorumRow *row, uint64_t version, JudgeValues *values, JudgeQuestion *q) {
        _cleanup_json_ json_t *gathered = NULL, *proposed = NULL;
        const json_t *confidence;
        const char *skill;
        uint64_t expect;
        JudgeValue *v;
        Bytes body;
        int r = event_get(t, row->gathered, &gathered)
                ?: event_get(t, row->seq, &proposed)
                ?: body_get(t, row->seq, NULL, &body);

        if (r != 0)
                return r == -ENOENT ? -EUCLEAN : r;
        skill = json_text(json_object_get(gathered, "skill"));
        if (!skill || (json_object_get(proposed, "expect") &&
                       json_get_u64(json_object_get(proposed, "expect"), &expect) < 0))
                return -EUCLEAN;
        if (json_object_get(proposed, "expect") && expect != version)
                return 0;
        q->seen[q->n_seen++] = row->seq;
        v = judge_value_of(values, body, row->seq);
        v->seq = MIN(v->seq, row->seq);
        v->regions++;
        confidence = json_object_get(proposed, "confidence");
        if (confidence)
                v->confidence = MAX(v->confidence, json_number_value(confidence));
        r = v->value ? 0 : json_row_parse(body, SLOT_VALUE_MAX, &v->value);
        return r ?: !v->skills ? -ENOMEM : judge_add_skill(v->skills, skill);
}

static int judge_line(const char *name, const json_t *asked, JudgeValues *values, JudgeQuestion *q, char **ret,
                      Diag *reterr) {
        _cleanup_json_ json_t *o = json_pack("{s:i, s:s, s:O?, s:o, s:[]}", "version", 1, "slot", name, "question",
                                             json_object_get(asked, "question"), "round", json_u64(q->round),
                                             "proposals");
        json_t *list = json_object_get(o, "proposals");
        size_t n;
        int r;

        qsort(values->v, values->n, sizeof(values->v[0]), judge_by_hash);
        for (size_t i = 0; i < values->n; i++) {
                const JudgeValue *v = &values->v[i];

                q->seq[i] = v->seq;
                strcpy(q->sha256[i], v->sha256);
                if (json_array_append_new(
                            list, json_pack("{s:I, s:s, s:I, s:O, s:O, s:o*}", "proposal", (json_int_t)i + 1, "sha256",
                                            v->sha256, "regions", (json_int_t)v->regions, "skills", v->skills, "value",
                                            v->value, "confidence",
                                            v->confidence < 0 ? NULL : json_real(v->confidence))) < 0)
                        return -ENOMEM;
        }
        q->n = values->n;
        r = o ? json_canonical(o, ret, &n) : -ENOMEM;
        if (r == 0 && n > JUDGE_LINE_MAX) {
                free(TAKE_PTR(*ret));
                r = diag(reterr, ENGINE_E_TOO_LARGE,
                         "slot %s: the round's values have %zu bytes; a judge's question has at most %d", name, n,
                         JUDGE_LINE_MAX);
        }
        return r;
}

int judge_question(Txn *t, const char *name, JudgeQuestion *ret, char **ret_line, Diag *reterr) {
        _cleanup_(judge_values_freep) JudgeValues *values = calloc(1, sizeof(*values));
        QuorumRow rows[ARBITRATION_PROPOSALS_MAX];
        _cleanup_json_ json_t *asked = NULL;
        Round round;
        SlotRow row;
        int n, r;

        *ret = (JudgeQuestion){0};
        if (!values)
                return -ENOMEM;
        r = slot_row_for_verdict(t, name, &row, reterr) ?: round_get(t, name, &round);
        if (r != 0)
                return r;
        if (!round.open)
                return diag(reterr, ENGINE_E_RULE,
                            "slot %s: no round is open: a judge answers a question, which `lethe slot ask` opens", name);
        ret->round = round.asked;
        n = gather_rows(t, name, rows, ARRAY_SIZE(rows));
        for (int i = 0; r == 0 && i < n; i++)
                r = judge_add(t, &rows[i], row.version, values, ret);
        if (r < 0 || n < 0)
                return r < 0 ? r : n;
        if (values->n == 0)
                return diag(reterr, ENGINE_E_NO_VALUE,
                            "slot %s: no valid proposal is gathered in the round: a judge has nothing to choose from",
                            name);
        r = event_get(t, round.asked, &asked);
        return r < 0 ? r == -ENOENT ? -EUCLEAN : r : judge_line(name, asked, values, ret, ret_line, reterr);
}

#define JUDGE_REFUSE(reterr, ...) diag(reterr, JUDGE_E_ANSWER, "the judge's answer: " __VA_ARGS__)

int judge_answer(const JudgeQuestion *q, const char *line, uint64_t *ret_seq, Diag *reterr) {
        _cleanup_json_ json_t *o = NULL;
        const json_t *which, *hash;
        const char *key;
        json_t *v;
        Diag d = {0};
        json_int_t i;
        int r = json_parse(line, strlen(line), JUDGE_LINE_MAX, 2, &o, &d);

        if (r != 0)
                return r < 0 ? r : JUDGE_REFUSE(reterr, "not JSON: %s", d.text);
        if (!json_is_object(o))
                return JUDGE_REFUSE(reterr, "an object with the member proposal is expected");
        json_object_foreach(o, key, v)
                if (strcmp(key, "proposal") != 0 && strcmp(key, "sha256") != 0)
                        return JUDGE_REFUSE(reterr, "member \"%s\": proposal and sha256 are the only members",
                                            DIAG_QUOTED(key));
        which = json_object_get(o, "proposal");
        hash = json_object_get(o, "sha256");
        if (json_text(which) && strcmp(json_text(which), "none") == 0 && !hash) {
                *ret_seq = 0;
                return 0;
        }
        i = json_is_integer(which) ? json_integer_value(which) : 0;
        if (i < 1 || (uint64_t)i > q->n)
                return JUDGE_REFUSE(reterr, "proposal is to be a whole number from 1 to %zu, or \"none\" alone", q->n);
        if (hash && strcmp(json_text(hash) ?: "", q->sha256[i - 1]) != 0)
                return JUDGE_REFUSE(reterr, "sha256 is not that of proposal %lld", (long long)i);
        *ret_seq = q->seq[i - 1];
        return 0;
}

int engine_slot_judge(Txn *t, const char *who, const char *name, const JudgeQuestion *q, const Judgement *j,
                      uint64_t *ret_seq, json_t **ret, Diag *reterr) {
        SlotRow row;
        Round round;
        int r = slot_row_for_verdict(t, name, &row, reterr) ?: round_get(t, name, &round);

        if (r == 0 && (!round.open || round.asked != q->round))
                r = diag(reterr, ENGINE_E_CONFLICT,
                         "slot %s: the judged round (asked at seq %" PRIu64 ") was closed while the judge ran; the "
                         "judge's answer counts for nothing", name, q->round);
        r = r ?: quorum_judge(t, name, who, q, j, ret_seq, ret);
        if (r > 0)
                return engine_refuse(t, NULL, NULL, who, name, r, reterr);
        return r == 0 ? ledger_want_anchor(t) : r;
}
