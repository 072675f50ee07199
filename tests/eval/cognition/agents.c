#include "tests/eval/cognition/agents.h"

#include <errno.h>

struct Agents {
        unsigned k;
        Buf transcript, retrieved;
        Shelf *shelf;
        Mind *mind;
};

const char *agent_name(AgentKind k) {
        static const char *const names[AGENTS] = {"transcript", "retrieval", "ccs"};

        return names[k];
}

int agents_new(unsigned k, Agents **ret) {
        _cleanup_agents_ Agents *a = calloc(1, sizeof(*a));
        int r;

        if (!a)
                return -ENOMEM;
        a->k = k;
        r = shelf_new(&a->shelf) ?: mind_new(&a->mind) ?: buf_add_str(&a->transcript, "")
                ?: buf_add_str(&a->retrieved, "");
        if (r == 0)
                *ret = TAKE_PTR(a);
        return r;
}

void agents_free(Agents *a) {
        if (!a)
                return;
        buf_deinit(&a->transcript);
        buf_deinit(&a->retrieved);
        shelf_free(a->shelf);
        mind_free(a->mind);
        free(a);
}

static int agents_say(Agents *a, const char *text) {
        int r = buf_add_str(&a->transcript, text);

        return r ?: buf_add_str(&a->transcript, "\n");
}

int agents_hear(Agents *a, const DialogueTurn *turn) {
        json_t *tool;
        size_t i;
        int r = agents_say(a, turn->text);

        json_array_foreach(turn->tools, i, tool)
                r = r ?: agents_say(a, json_str(tool, "text"));
        if (r == 0 && turn->user) {
                a->retrieved.n = 0;
                r = shelf_find(a->shelf, turn->text, a->k, &a->retrieved) ?: buf_add_str(&a->retrieved, turn->text);
        }
        r = r ?: shelf_add(a->shelf, turn->text);
        json_array_foreach(turn->tools, i, tool)
                r = r ?: shelf_add(a->shelf, json_str(tool, "text"));
        return r ?: mind_hear(a->mind, turn);
}

const char *agents_context(const Agents *a, AgentKind k) {
        const char *const texts[AGENTS] = {a->transcript.data, a->retrieved.data, mind_text(a->mind)};

        return texts[k];
}

size_t agents_refused(const Agents *a) {
        return mind_refused(a->mind);
}
