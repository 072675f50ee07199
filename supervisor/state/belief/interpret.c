#include "belief/interpret.h"

#include "base/buf.h"

#include <errno.h>
#include <string.h>

#define BUILT_IN "built_in"

void interpreted_deinit(Interpreted *i) {
        belief_request_deinit(&i->request);
        for (size_t k = 0; k < ARRAY_SIZE(i->raw); k++)
                free(i->raw[k]);
        *i = (Interpreted){0};
}

/* Removes the second half of the context's longest list. Returns false when all lists are empty. */
static bool interpret_cut_context(json_t *context) {
        json_t *longest = NULL, *v;
        const char *key;
        size_t n;

        json_object_foreach(context, key, v)
                if (json_array_size(v) > json_array_size(longest))
                        longest = v;
        n = json_array_size(longest);
        while (n > 0 && json_array_size(longest) > n / 2)
                json_array_remove(longest, json_array_size(longest) - 1);
        return n > 0;
}

/* raw: the refused answer, of a second question; cut again, because a replaced byte takes three. */
static json_t *interpret_message(const char *note, size_t n, CueRole role, const json_t *context,
                                 const Interpreted *i, const char *raw) {
        _cleanup_json_ json_t *o = json_pack("{s:i, s:{s:s%, s:s}, s:o}", "version", INTERPRET_VERSION, "note", "text",
                                             note, n, "role", role == CUE_AGENT ? "agent" : "tool_result", "context",
                                             context ? json_deep_copy(context) : json_object());

        if (o && i->fault) {
                _cleanup_buf_ Buf cut = {0};

                if (buf_add_plain(&cut, raw ?: "", raw ? MIN(strlen(raw), INTERPRET_RAW_KEPT) : 0) < 0 ||
                    json_put(o, "repair",
                             json_pack("{s:s, s:s, s:s%}", "code", belief_code_name(i->fault), "message",
                                       i->fault_why.text, "answer", cut.n ? cut.data : "", cut.n)) < 0)
                        return NULL;
        }
        return TAKE_PTR(o);
}

static int interpret_line(const char *note, size_t n, CueRole role, const json_t *context, const Interpreted *i,
                          const char *raw, char **ret) {
        _cleanup_json_ json_t *o = interpret_message(note, n, role, context, i, raw);
        size_t length;
        int r;

        if (!o)
                return -ENOMEM;
        for (;;) {
                _cleanup_free_ char *line = NULL;

                r = json_canonical(o, &line, &length);
                if (r < 0)
                        return r;
                if (length <= INTERPRET_LINE_MAX || !interpret_cut_context(json_object_get(o, "context"))) {
                        *ret = TAKE_PTR(line);
                        return 0;
                }
                if (json_object_set_new(o, "context_cut", json_true()) < 0)
                        return -ENOMEM;
        }
}

/* The output of a tool cannot end a row, because the words are not the agent's. */
static int interpret_check_role(const BeliefRequest *r, CueRole role, Diag *reterr) {
        if (role == CUE_TOOL_RESULT && r->accept && op_ends(r->op))
                return diag(reterr, BELIEF_E_NOT_FROM_TOOL,
                            "operation %s: a tool's output ends nothing, only an agent's own note can", op_name(r->op));
        return 0;
}

/* The beginning of an answer, without the bytes that a JSON string cannot hold. */
static char *interpret_kept(const char *line) {
        _cleanup_buf_ Buf b = {0};

        if (buf_add_plain(&b, line, MIN(strlen(line), (size_t)INTERPRET_RAW_KEPT)) < 0)
                return NULL;
        return strdup(b.n ? b.data : "");
}

/* Asks the advisor once. Returns 0 with the request, BELIEF_E_* with i->fault_why set, -errno. */
static int interpret_ask(const Advisor *a, const char *line, CueRole role, unsigned time, Interpreted *i) {
        _cleanup_canon_request_ BeliefRequest request = {0};
        _cleanup_free_ char *answer = NULL;
        const KeySet *keys;
        int r = a->ask(a->userdata, line, &answer, &i->fault_why);

        if (r != 0)
                return r;
        keys = key_hold(a->keys);
        r = keyscan_text(keys, answer, strlen(answer));
        key_let_go(a->keys, &keys);
        if (r < 0)
                return r;
        if (r > 0) /* the answer is neither stored nor quoted */
                return diag(&i->fault_why, BELIEF_E_KEY, "the answer holds the key of a region that lives");
        i->raw[time] = interpret_kept(answer);
        if (!i->raw[time])
                return -ENOMEM;
        r = belief_request_parse(answer, strlen(answer), &request, &i->fault_why)
                ?: interpret_check_role(&request, role, &i->fault_why);
        if (r != 0)
                return r;
        i->request = request;
        request = (BeliefRequest){0};
        return 0;
}

/* Tells whether a second question may repair the fault. */
static bool interpret_can_repair(int fault) {
        return fault != BELIEF_E_KEY && fault != BELIEF_E_ADVISOR_REFUSED && fault != BELIEF_E_ADVISOR_TIMEOUT &&
               fault != BELIEF_E_ADVISOR_EXIT;
}

static int interpret_by_advisor(const Advisor *a, const char *note, size_t n, CueRole role, const json_t *context,
                                Interpreted *i) {
        int r = 0;

        for (unsigned time = 0; time < ARRAY_SIZE(i->raw); time++) {
                _cleanup_free_ char *line = NULL;

                r = interpret_line(note, n, role, context, i, time > 0 ? i->raw[time - 1] : NULL, &line)
                        ?: interpret_ask(a, line, role, time, i);
                i->repaired = r == 0 && time > 0;
                if (r <= 0)
                        return r;
                i->fault = r;
                if (!interpret_can_repair(r))
                        break;
        }
        i->degraded = true;
        return r;
}

static int interpret_built_in(const char *note, size_t n, CueRole role, Interpreted *i) {
        int r = cues_interpret(note, n, role, &i->request, &i->why);

        if (r < 0)
                return r;
        i->by = BUILT_IN;
        i->code = r;
        if (r == 0 && i->degraded && !i->request.accept) {
                belief_request_deinit(&i->request);
                i->code = diag(&i->why, i->fault, "the advisor failed, and the note has no cue: %s", i->fault_why.text);
        }
        return 0;
}

int interpret(const Advisor *advisor, const char *note, size_t n, CueRole role, const json_t *context,
              Interpreted *ret) {
        _cleanup_interpreted_ Interpreted i = {.by = BUILT_IN};
        int r;

        if (advisor) /* cues_interpret() checks the note itself */
                i.code = belief_note_check(note, n, &i.why);
        if (i.code == 0 && advisor) {
                i.by = advisor->name;
                r = interpret_by_advisor(advisor, note, n, role, context, &i);
                if (r < 0)
                        return r;
        }
        if (i.code == 0 && (!advisor || i.degraded)) {
                r = interpret_built_in(note, n, role, &i);
                if (r < 0)
                        return r;
        }
        *ret = i;
        i = (Interpreted){0};
        return 0;
}

json_t *interpreted_outcome(const Interpreted *i) {
        _cleanup_json_ json_t *o = json_object(), *raw = json_array();

        if (!o || !raw || json_put(o, "by", json_string(i->by)) < 0 ||
            json_put(o, "degraded", json_boolean(i->degraded)) < 0 ||
            json_put(o, "repaired", json_boolean(i->repaired)) < 0)
                return NULL;
        for (size_t k = 0; k < ARRAY_SIZE(i->raw); k++)
                if (i->raw[k] && json_array_append_new(raw, json_string(i->raw[k])) < 0)
                        return NULL;
        if (json_array_size(raw) > 0 && json_object_set(o, "raw", raw) < 0)
                return NULL;
        if (i->fault && json_object_set_new(o, "fault",
                                            json_pack("{s:s, s:s}", "code", belief_code_name(i->fault), "message",
                                                      i->fault_why.text)) < 0)
                return NULL;
        return TAKE_PTR(o);
}
