#include "cognition/ccs-text.h"
#include "cognition/compress.h"
#include "tests/eval/cognition/agents.h"

#include <errno.h>

/* Texts of a turn of the system are kept until the user's next turn: x_t has the decision of the turn before and the
 * tools' outputs (C-20). */
struct Mind {
        Ccs state;
        CcsBound bound;
        Buf text, decision;
        CompressText *tools; /* borrowed texts of the dialogue */
        size_t n_tools, refused;
};

static int mind_print(Mind *m) {
        m->text.n = 0;
        return ccs_print(&m->state, &m->text);
}

int mind_new(Mind **ret) {
        Mind *m = calloc(1, sizeof(*m));
        int r;

        *ret = m;
        if (!m)
                return -ENOMEM;
        r = ccs_begin(NULL, 0, &m->state, &m->bound, NULL, NULL);
        return r ?: buf_add_str(&m->decision, "") ?: mind_print(m);
}

void mind_free(Mind *m) {
        if (!m)
                return;
        ccs_deinit(&m->state);
        buf_deinit(&m->text);
        buf_deinit(&m->decision);
        free(m->tools);
        free(m);
}

static int mind_keep(Mind *m, const DialogueTurn *turn) {
        json_t *tool;
        size_t i;

        json_array_foreach(turn->tools, i, tool) {
                const char *text = json_str(tool, "text");

                if (!GROW(m->tools, m->n_tools))
                        return -ENOMEM;
                m->tools[m->n_tools++] = (CompressText){text, strlen(text)};
        }
        if (turn->user)
                return 0;
        return m->decision.n > 0 ? buf_add_str(&m->decision, "\n") ?: buf_add_str(&m->decision, turn->text)
                                 : buf_add_str(&m->decision, turn->text);
}

int mind_hear(Mind *m, const DialogueTurn *turn) {
        _cleanup_ccs_ Ccs next = CCS_NULL;
        int r = mind_keep(m, turn);

        if (r < 0 || !turn->user)
                return r;
        r = ccs_compress(&(CompressInput){.previous = &m->state,
                                          .input = {turn->text, strlen(turn->text)},
                                          .source = COMPRESS_USER,
                                          .decision = {m->decision.data, m->decision.n},
                                          .tools = m->tools,
                                          .n_tools = m->n_tools,
                                          .bound = m->bound},
                         &next, NULL, NULL);
        if (r < 0)
                return r;
        m->decision.n = m->n_tools = 0;
        m->decision.data[0] = 0;
        if (r > 0) {
                m->refused++;
                return 0;
        }
        ccs_deinit(&m->state);
        m->state = next;
        next = CCS_NULL;
        return mind_print(m);
}

const char *mind_text(const Mind *m) {
        return m->text.data;
}

size_t mind_refused(const Mind *m) {
        return m->refused;
}
