#include "tests/eval/cognition/request.h"

#include <errno.h>

/* The end of a text, from a line's beginning, at most REQUEST_TEXT_MAX bytes: what is newest counts most. */
static const char *request_cut(const char *text) {
        size_t n = strlen(text);
        const char *at = n > REQUEST_TEXT_MAX ? strchr(text + n - REQUEST_TEXT_MAX, '\n') : NULL;

        if (n <= REQUEST_TEXT_MAX)
                return text;
        at = at ? at + 1 : text + n - REQUEST_TEXT_MAX;
        while (((unsigned char)*at & 0xC0) == 0x80)
                at++;
        return at;
}

static json_t *request_answers(const Agents *agents, const AgentKind order[static AGENTS]) {
        json_t *list = json_array();

        for (unsigned i = 0; list && i < AGENTS; i++) {
                const char *text = agents_context(agents, order[i]), *cut = request_cut(text);

                if (json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "label", (char[]){(char)('A' + i), 0},
                                                          "text", cut, "cut", cut != text)) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
        return list;
}

int request_write(const MeasureRow *row, const Agents *agents, const AgentKind order[static AGENTS], FILE *f) {
        _cleanup_json_ json_t *o = json_pack("{s:i, s:s, s:s, s:i, s:s, s:O, s:o}", "version", 1, "question", "judge",
                                             "dialogue", row->dialogue->id, "turn", (int)row->turn, "input",
                                             row->at->text, "memory", row->at->state, "answers",
                                             request_answers(agents, order));

        return !o || json_dumpf(o, f, JSON_COMPACT) < 0 || fputc('\n', f) == EOF ? -ENOMEM : 0;
}
