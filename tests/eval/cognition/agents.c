#include "tests/eval/cognition/agents.h"
#include "tests/eval/cognition/judge.h"

#include <errno.h>

struct Agents {
        unsigned k;
        int64_t behind; /* tokens of the states so far, less those of the retrieved texts */
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

static int agents_retrieve(Agents *a, const DialogueTurn *turn) {
        int r;

        a->behind += (int64_t)judge_tokens(mind_text(a->mind));
        a->retrieved.n = 0;
        r = shelf_find(a->shelf, turn->text, a->k, a->behind, &a->retrieved) ?: buf_add_str(&a->retrieved, "");
        if (r < 0)
                return r;
        a->behind -= (int64_t)judge_tokens(a->retrieved.data);
        return buf_add_str(&a->retrieved, turn->text);
}

int agents_hear(Agents *a, const DialogueTurn *turn) {
        json_t *tool;
        size_t i;
        int r = agents_say(a, turn->text);

        json_array_foreach(turn->tools, i, tool)
                r = r ?: agents_say(a, json_str(tool, "text"));
        r = r ?: mind_hear(a->mind, turn);
        if (r == 0 && turn->user)
                r = agents_retrieve(a, turn);
        r = r ?: shelf_add(a->shelf, turn->text);
        json_array_foreach(turn->tools, i, tool)
                r = r ?: shelf_add(a->shelf, json_str(tool, "text"));
        return r;
}

const char *agents_context(const Agents *a, AgentKind k) {
        const char *const texts[AGENTS] = {a->transcript.data, a->retrieved.data, mind_text(a->mind)};

        return texts[k];
}

size_t agents_refused(const Agents *a) {
        return mind_refused(a->mind);
}
