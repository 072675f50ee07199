/* Runs: supervisor, CLI. The note's own cues for an advisor's operation (G-65): the built-in cues, and for a new row also
 * words of the bucket in a statement. An advisor may choose among the statements of a note, and adds none. */
#include "belief/cues-draft.h"
#include "belief/cues.h"

#include <errno.h>

static const char *const issue_words[] = {
        "issue", "issues", "bug", "bugs", "problem", "problems", "error", "errors", "blocker", "blocked", "blocks",
        "blocking", "fail", "fails", "failed", "failing", "failure", "failures", "crash", "crashes", "crashed",
        "crashing", "broken", "breaks", "broke", "cannot", "can't", "unable", "wrong", "hang", "hangs", "leak",
        "leaks", "leaked", "missing", "down", "slow", "regression", "flaky", "stuck", "corrupt", "corrupted", "lost",
        "refuses", "defect", "fault", "faulty", "doesn't", "won't", "outage", "incident", "timeout", NULL,
};
static const char *const constraint_words[] = {
        "constraint", "rule", "requirement", "must", "mustn't", "never", "always", "only", "forbidden", "prohibited",
        "required", "requires", "shall", "cannot", "limit", "limited", "mandatory", "allowed", "may", NULL,
};
static const char *const decision_words[] = {
        "decision", "decide", "decided", "chose", "chosen", "choose", "agreed", "settled", "instead", "adopt",
        "adopted", "switch", "switched", "picked", "going", "we'll", "use", NULL,
};
static const char *const result_words[] = {
        "result", "results", "passed", "passes", "pass", "fail", "fails", "failed", "failures", "measured", "took",
        "finished", "built", "builds", "succeeded", "completed", "done", "ok", "works", "shows", "showed", NULL,
};
static const char *const task_words[] = {
        "task", "started", "starts", "done", "finished", "complete", "completed", "blocked", "progress", "pending",
        "review", "waiting", "working", "failed", "cancelled", "canceled", "paused", "ready", NULL,
};
static const char *const learning_words[] = {
        "learning", "lesson", "learned", "learnt", "turns", "turned", "discovered", "realised", "realized", "noticed",
        "insight", "remember", "found", "helps", "always", "never", NULL,
};
static const char *const plan_words[] = {
        "plan", "plans", "step", "steps", "first", "then", "next", "phase", "goal", "milestone", "finally", NULL,
};

static const char *const *const words_of[KIND_WORKING + 1] = {
        [KIND_PLAN] = plan_words,         [KIND_CONSTRAINT] = constraint_words, [KIND_ISSUE] = issue_words,
        [KIND_DECISION] = decision_words, [KIND_RESULT] = result_words,         [KIND_TASK_STATE] = task_words,
        [KIND_LEARNING] = learning_words,
};

/* Neither a question nor hearsay counts. */
static bool support_has_word(Piece note, Kind kind) {
        const char *const *words = words_of[kind];
        Sentence s;

        while (words && sentence_next(&note, &s))
                if (!sentence_is_hearsay(&s) && sentence_has_any(&s, 0, s.n, words))
                        return true;
        return false;
}

int cues_support(const char *text, size_t n, Kind kind, Op op, bool *ret, BeliefRequest *ret_same) {
        _cleanup_canon_request_ BeliefRequest made = {0};
        Piece note = {text, n};
        bool in_form;
        int r = cues_interpret(text, n, CUE_AGENT, &made, NULL);

        *ret = false;
        if (r < 0 || (r > 0 && r != BELIEF_E_SEVERAL))
                return r < 0 ? r : 0;
        in_form = r == 0 && made.accept && made.confidence >= CUES_FORM_CONFIDENCE;
        if (r == 0 && made.accept && made.kind == kind && made.op == op) {
                *ret = true;
                *ret_same = made;
                made = (BeliefRequest){0};
                return 0;
        }
        if (in_form)
                return 0;
        r = cues_natural_says(piece_trim(note), kind, op, ret_same);
        if (r < 0)
                return r;
        *ret = r == 0 || (op_creates(op) && support_has_word(note, kind));
        return 0;
}
