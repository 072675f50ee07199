#include "cognition/advised.h"

#include "cognition/ccs-text.h"
#include "cognition/turn.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const CcsField advised_copied[] = {CCS_GOAL_ORIENTATION, CCS_CONSTRAINTS};

void cognition_proposal_deinit(CognitionProposal *p) {
        ccs_deinit(&p->state);
}

json_t *advised_fault(const CognitionProposal *p) {
        return *p->code ? json_pack("{s:s, s:s}", "code", p->code, "message", p->why.text) : NULL;
}

const json_t *cognition_turn_compressor(const CognitionTurn *c) {
        return c->s.compressor;
}

/* All faults of an answer; the first one is the proposal's fault. */
typedef struct AdvisedErrors {
        json_t *list;
        const char *code; /* of the first */
        Diag why;
} AdvisedErrors;

static int advised_error(AdvisedErrors *e, const char *code, const Diag *d) {
        if (!e->code) {
                e->code = code;
                e->why = *d;
        }
        return json_array_size(e->list) < ADVISED_ERRORS_MAX && json_array_append_new(e->list, json_string(d->text)) < 0
                       ? -ENOMEM
                       : 0;
}

static const char *advised_code(int r) {
        static const char *const codes[] = {
                [CCS_E_SYNTAX] = "syntax", [CCS_E_FIELD] = "field", [CCS_E_COUNT] = "count", [CCS_E_ATOM] = "atom",
                [CCS_E_OVER_BUDGET] = "over_budget", [CCS_E_LOST] = "lost", [CCS_E_UNGROUNDED] = "ungrounded",
                [CCS_E_CARRIED] = "carried", [CCS_E_UNVERIFIED] = "unverified", [CCS_E_AUTHORITY] = "authority"};

        return (size_t)r < ARRAY_SIZE(codes) && codes[r] ? codes[r] : "invalid";
}

static int advised_missing(CcsField f, const CcsList *want, const Ccs *has, AdvisedErrors *e) {
        int r = 0;

        for (size_t i = 0; i < want->n && r == 0; i++) {
                Diag d = {0};

                if (ccs_find(has, f, want->atoms[i]) < has->field[f].n)
                        continue;
                diag(&d, 0, "%s: \"%s\" is missing: goals and constraints of `keep` have to stand", ccs_field_name(f),
                     DIAG_QUOTED(want->atoms[i]));
                r = advised_error(e, "lost", &d);
        }
        return r;
}

static int advised_extra(CcsField f, const CcsList *has, const CognitionTurn *c, AdvisedErrors *e) {
        int r = 0;

        for (size_t i = 0; i < has->n && r == 0; i++) {
                Diag d = {0};

                if (ccs_find(&c->next, f, has->atoms[i]) < c->next.field[f].n)
                        continue;
                diag(&d, 0, "%s: \"%s\" %s", ccs_field_name(f), DIAG_QUOTED(has->atoms[i]),
                     ccs_find(&c->s.state, f, has->atoms[i]) < c->s.state.field[f].n
                             ? "was lifted or replaced in this turn: leave it out"
                             : "is new, and no user, operator or policy said so: leave it out");
                r = advised_error(e, "authority", &d);
        }
        return r;
}

/* Goals and constraints are the same as those of the built-in compressor, and get its order (C-24, C-30). */
static int advised_check_rules(const CognitionTurn *c, Ccs *p, AdvisedErrors *e) {
        _cleanup_ccs_ Ccs own = CCS_NULL;
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(advised_copied) && r == 0; i++) {
                CcsField f = advised_copied[i];

                r = advised_missing(f, &c->next.field[f], p, e) ?: advised_extra(f, &p->field[f], c, e);
        }
        if (r == 0 && !e->code)
                r = ccs_copy(&c->next, &own);
        for (size_t i = 0; i < ARRAY_SIZE(advised_copied) && r == 0 && !e->code; i++) {
                CcsList had = p->field[advised_copied[i]];

                p->field[advised_copied[i]] = own.field[advised_copied[i]];
                own.field[advised_copied[i]] = had;
        }
        return r;
}

/* A name is not grounded, and may speak: ignore_all_previous_instructions(gateway). */
static bool advised_speaks(const char *atom) {
        char text[CCS_ATOM_MAX + 1];
        size_t n = strnlen(atom, CCS_ATOM_MAX);

        for (size_t i = 0; i < n; i++)
                text[i] = strchr("_(),\"", atom[i]) ? ' ' : atom[i];
        text[n] = '\0';
        return qualify_has_directive(text, n);
}

static bool advised_may_refer(const CognitionTurn *c, const char *atom) {
        char ref[CCS_ATOM_MAX + 1];

        if (ccs_find(&c->s.state, CCS_RETRIEVED_ARTIFACTS, atom) < c->s.state.field[CCS_RETRIEVED_ARTIFACTS].n)
                return true;
        for (size_t i = 0; i < c->got.n_good; i++) {
                snprintf(ref, sizeof(ref), "%s(%s@%" PRIu64 ")", c->got.item[i].label, c->got.item[i].id,
                         c->got.item[i].version);
                if (strcmp(ref, atom) == 0)
                        return true;
        }
        return false;
}

/* Atoms with a directive, and references to artifacts that were not qualified. Returns how many were removed. */
static size_t advised_drop(const CognitionTurn *c, Ccs *p) {
        size_t n = 0;

        for (CcsField f = 0; f < CCS_FIELDS; f++) {
                if (f == CCS_GOAL_ORIENTATION || f == CCS_CONSTRAINTS)
                        continue;
                for (size_t i = p->field[f].n; i-- > 0;) {
                        const char *atom = p->field[f].atoms[i];

                        if (f == CCS_RETRIEVED_ARTIFACTS ? advised_may_refer(c, atom) : !advised_speaks(atom))
                                continue;
                        ccs_remove(p, f, i);
                        n++;
                }
        }
        return n;
}

/* Checks and repairs p. Returns 0, also with errors in e; -errno. */
static int advised_check(const CognitionTurn *c, Ccs *p, size_t *ret_dropped, AdvisedErrors *e) {
        size_t dropped = 0, own;
        Diag d = {0};
        int r = advised_check_rules(c, p, e);

        if (r < 0)
                return r;
        own = advised_drop(c, p);
        r = turn_check(c, p, false, &dropped, &d);
        /* a rule that is missing, or that nobody said, is named above */
        if (r > 0 && (!e->code || (r != CCS_E_LOST && r != CCS_E_AUTHORITY)))
                r = advised_error(e, advised_code(r), &d);
        *ret_dropped = own + dropped;
        return MIN(r, 0);
}

/* {"ccs": text}; other members are ignored. */
static int advised_parse(const char *answer, Ccs *ret, AdvisedErrors *e) {
        _cleanup_json_ json_t *o = NULL;
        const json_t *text;
        Diag d = {0};
        int r = json_parse(answer, strlen(answer), 2 * CCS_TEXT_MAX, JSON_DEPTH_DEFAULT, &o, &d);

        if (r < 0)
                return r;
        text = json_object_get(o, "ccs");
        if (r > 0) {
                diag_prefix(&d, "the answer is not JSON");
                return advised_error(e, "syntax", &d);
        }
        if (!json_is_string(text)) {
                diag(&d, 0, "the answer is no object {\"ccs\": TEXT}");
                return advised_error(e, "syntax", &d);
        }
        r = ccs_parse(json_bytes(text), json_string_length(text), ret, &d);
        return r > 0 ? advised_error(e, advised_code(r), &d) : r;
}

static json_t *advised_list(const CcsList *l) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; i < l->n; i++)
                if (json_array_append_new(a, json_string(l->atoms[i])) < 0)
                        return NULL;
        return TAKE_PTR(a);
}

static json_t *advised_tools(const CognitionTurn *c) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; i < c->n_tools; i++)
                if (json_array_append_new(a, json_stringn(c->tools[i].text, c->tools[i].n)) < 0)
                        return NULL;
        return TAKE_PTR(a);
}

static json_t *advised_artifacts(const CognitionTurn *c) {
        _cleanup_json_ json_t *a = json_array();
        char ref[CCS_ATOM_MAX + 1];

        for (size_t i = 0; i < c->got.n_good; i++) {
                snprintf(ref, sizeof(ref), "%s(%s@%" PRIu64 ")", c->got.item[i].label, c->got.item[i].id,
                         c->got.item[i].version);
                if (json_array_append_new(a, json_pack("{s:s, s:s, s:s}", "ref", ref, "source",
                                                       evidence_source_name(c->got.item[i].source), "text",
                                                       c->text[i] ?: "")) < 0)
                        return NULL;
        }
        return TAKE_PTR(a);
}

/* repair: {"errors","answer"}, or NULL; borrowed. */
static int advised_question(const CognitionTurn *c, const json_t *repair, char **ret) {
        _cleanup_buf_ Buf state = {0};
        _cleanup_json_ json_t *o = NULL;
        json_t *keep;
        size_t n;
        int r = ccs_print(&c->s.state, &state);

        if (r < 0)
                return r;
        keep = json_pack("{s:o, s:o}", "goal_orientation", advised_list(&c->next.field[CCS_GOAL_ORIENTATION]),
                         "constraints", advised_list(&c->next.field[CCS_CONSTRAINTS]));
        o = json_pack("{s:i, s:s, s:s, s:s, s:o, s:s%, s:{s:s%, s:s}, s:s%, s:o, s:o, s:o, s:{s:o, s:o}, s:O*}",
                      "version", ADVISED_VERSION, "task", "compress", "session", c->s.name, "schema", ccs_schema_text(),
                      "turn", json_u64(c->s.turn + 1), "ccs", state.data, state.n, "input", "text", c->in->main.text,
                      c->in->main.n, "source", compress_source_name(c->in->source), "decision",
                      c->decision.n ? c->decision.text : "", c->decision.n, "tools", advised_tools(c), "artifacts",
                      advised_artifacts(c), "keep", keep, "bound", "bytes", json_u64(c->s.bound.bytes), "tokens",
                      json_u64(c->s.bound.tokens), "repair", repair);
        return o ? json_canonical(o, ret, &n) : -ENOMEM;
}

/* The beginning of an answer, without the bytes that a JSON string cannot hold. */
static json_t *advised_kept(const char *answer) {
        _cleanup_buf_ Buf b = {0};

        if (buf_add_plain(&b, answer ?: "", answer ? strnlen(answer, ADVISED_RAW_KEPT) : 0) < 0)
                return NULL;
        return json_stringn(b.n ? b.data : "", b.n);
}

static void advised_failed(CognitionProposal *p, const char *code, const Diag *why) {
        snprintf(p->code, sizeof(p->code), "%s", code);
        p->why = *why;
}

/* Returns 0: p->state is valid; 1: p has the fault, and errors the list for a repair, or NULL; -errno. */
static int advised_ask_once(const CognitionTurn *c, const CognitionAdvisor *a, const json_t *repair,
                            CognitionProposal *p, json_t **ret_repair) {
        _cleanup_free_ char *line = NULL, *answer = NULL;
        _cleanup_json_ json_t *list = json_array();
        _cleanup_ccs_ Ccs copy = CCS_NULL;
        AdvisedErrors e = {.list = list};
        AdvisedFault fault = {.repairs = false};
        const KeySet *keys;
        size_t dropped = 0;
        int r = list ? advised_question(c, repair, &line) : -ENOMEM;

        if (r == 0)
                r = a->ask(a->userdata, line, &answer, &fault);
        snprintf(p->region, sizeof(p->region), "%s", a->region ?: "");
        if (r > 0)
                r = advised_error(&e, fault.code, &fault.why) ?: 1;
        if (r == 0) {
                keys = key_hold(a->keys);
                r = keyscan_text(keys, answer, strlen(answer));
                key_let_go(a->keys, &keys);
                if (r > 0) { /* the answer is neither stored nor quoted */
                        diag(&fault.why, 0, "the answer holds the key of a region that lives");
                        r = advised_error(&e, "key_escape", &fault.why) ?: 1;
                } else
                        fault.repairs = true;
        }
        if (r == 0)
                r = advised_parse(answer, &p->state, &e);
        if (r == 0 && !e.code)
                r = ccs_copy(&p->state, &copy) ?: advised_check(c, &copy, &dropped, &e);
        if (r < 0 || !e.code)
                return r;
        advised_failed(p, e.code, &e.why);
        ccs_deinit(&p->state);
        p->state = CCS_NULL;
        if (fault.repairs)
                *ret_repair = json_pack("{s:s, s:O, s:o}", "code", e.code, "errors", list, "answer",
                                        advised_kept(answer));
        return fault.repairs && !*ret_repair ? -ENOMEM : 1;
}

int cognition_ask(const CognitionTurn *c, const CognitionAdvisor *a, CognitionProposal *ret) {
        _cleanup_json_ json_t *repair = NULL, *again = NULL;
        int r = c->refused ? 1 : 0;

        *ret = (CognitionProposal){.before = c->s.turn};
        snprintf(ret->by, sizeof(ret->by), "%s", a->name);
        if (r == 0)
                r = advised_ask_once(c, a, NULL, ret, &repair);
        if (r > 0 && repair) {
                r = advised_ask_once(c, a, repair, ret, &again);
                ret->repaired = r == 0;
        }
        ret->degraded = r != 0;
        return MIN(r, 0);
}

int cognition_observe(Txn *t, const CognitionTurnOf *of, CognitionTurn **ret, Diag *reterr) {
        _cleanup_cognition_turn_ CognitionTurn *c = NULL;
        int r = turn_read(t, of->session, of->input, &c, reterr) ?: turn_read_texts(t, c);

        if (r != 0)
                return r;
        r = turn_compress(c, reterr);
        if (r < 0)
                return r;
        c->refused = r;
        *ret = TAKE_PTR(c);
        return 0;
}

int advised_take(Txn *t, CognitionTurn *c, CognitionProposal *p) {
        _cleanup_json_ json_t *list = NULL;
        _cleanup_ccs_ Ccs state = CCS_NULL;
        AdvisedErrors e = {.list = NULL};
        size_t dropped = 0;
        int r;

        if (p->degraded)
                return 0;
        e.list = list = json_array();
        r = !list ? -ENOMEM
                  : turn_read_texts(t, c)
                            ?: ccs_copy(&p->state, &state)
                            ?: advised_check(c, &state, &dropped, &e);
        if (r < 0)
                return r;
        if (e.code) { /* evidence came or went while the advisor was asked */
                advised_failed(p, e.code, &e.why);
                p->degraded = true;
                return 0;
        }
        ccs_deinit(&c->next);
        c->next = state;
        state = CCS_NULL;
        c->dropped = dropped;
        return 0;
}
