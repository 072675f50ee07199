#include "policy/bounds.h"

#include "base/size.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const lineage_order[] = {"stats", "events", "handles", NULL};

/* A row for each kind: the name in the policy, the field in lethe.json, the words in their order; NULL: no plain
 * words. */
const BoundRow bound_rows[BOUND_KINDS] = {
        [BOUND_DISCIPLINE] = {"discipline", "/teardown/discipline", NULL},
        [BOUND_LINEAGE] = {"lineage", "/lineage", lineage_order},
        [BOUND_KEY_SCOPE] = {"key_scope", "/key_scope", key_scope_words},
        [BOUND_CANCEL] = {"cancel_bound", "/cancel_bound", NULL},
        [BOUND_CALLBACKS] = {"callbacks", "/release", NULL},
        [BOUND_EMBODIMENT] = {"embodiment", "/embodiment", embodiment_words},
        [BOUND_COMMIT] = {"commit", "/commit", commit_words},
        [BOUND_SESSION_IDLE] = {"session_idle", "/session/idle", NULL},
        [BOUND_GRACE] = {"grace", "/grace", NULL},
};

const char *bound_text(BoundKind k, uint64_t v, char out[static BOUND_TEXT_MAX]) {
        Discipline discipline;
        unsigned passes;

        if (bound_rows[k].words)
                return bound_rows[k].words[v];
        if (k == BOUND_DISCIPLINE) {
                discipline = discipline_of_strength(v, &passes);
                return discipline_format(discipline, passes, out);
        }
        if (k == BOUND_CANCEL || k == BOUND_SESSION_IDLE || k == BOUND_GRACE)
                return duration_format(v, out);
        snprintf(out, BOUND_TEXT_MAX, "%" PRIu64 " callback%s", v, v == 1 ? "" : "s");
        return out;
}

static bool bound_read(Doc *d, BoundKind k, const Node *v, uint64_t *ret) {
        Discipline discipline;
        unsigned passes;
        Diag message = {0};
        const char *s;
        size_t word;

        if (bound_rows[k].words) {
                if (!doc_word(d, v, bound_rows[k].words, &word))
                        return false;
                *ret = word;
                return true;
        }
        if (k == BOUND_CALLBACKS)
                return doc_count(d, v, 0, RELEASES_MAX, ret);
        if (k == BOUND_CANCEL)
                return doc_cancel_bound(d, v, ret);
        if (k == BOUND_SESSION_IDLE)
                return doc_session_idle(d, v, ret);
        if (k == BOUND_GRACE)
                return doc_grace(d, v, ret);
        if (!doc_string(d, v, 1, DISCIPLINE_TEXT_MAX, &s) ||
            !doc_judge(d, discipline_parse(s, &discipline, &passes, &message), v, "discipline", &message))
                return false;
        *ret = discipline_strength(discipline, passes);
        return true;
}

void bounds_read(Doc *d, const Node *v, Bound ret[static BOUND_KINDS]) {
        const char *known[BOUND_KINDS + 1] = {0};

        for (BoundKind k = 0; k < BOUND_KINDS; k++)
                known[k] = bound_rows[k].name;
        if (!doc_fields(d, v, known))
                return;
        for (BoundKind k = 0; k < BOUND_KINDS; k++) {
                const Node *at = MEMBER(v, known[k]);
                char a[BOUND_TEXT_MAX], b[BOUND_TEXT_MAX];
                Bound *to = &ret[k];

                if (!doc_fields(d, at, WORDS("floor", "ceiling")))
                        continue;
                to->has_floor = bound_read(d, k, MEMBER(at, "floor"), &to->floor);
                to->has_ceiling = bound_read(d, k, MEMBER(at, "ceiling"), &to->ceiling);
                if (to->has_floor && to->has_ceiling && to->floor > to->ceiling)
                        doc_fault(d, at, "floor-above-ceiling", "the floor, %s, is above the ceiling, %s",
                                  bound_text(k, to->floor, a), bound_text(k, to->ceiling, b));
        }
}
