/* Runs: supervisor, CLI. A word of an end in the place of a row's text: "Constraint no_network: withdrawn on Monday". */
#include "belief/cues-end.h"

bool cues_is_end_label(Kind kind, Piece text) {
        const uint64_t ends = kind == KIND_ISSUE ? END_BIT(DONE) | END_BIT(OVER) : END_BIT(LIFTED) | END_BIT(REVERSED);
        Sentence s;
        EndText t;
        size_t i;

        if (kind != KIND_ISSUE && kind != KIND_CONSTRAINT && kind != KIND_DECISION) /* a task's status is a text */
                return false;
        if (!sentence_next(&text, &s) || s.n == 0 || s.too_long)
                return false;
        end_text_read(&s, &t);
        i = end_word_is(&t, 0, "status");
        i = end_skip(&t, i, END_BIT(BE) | END_BIT(HAVE) | END_BIT(ADVERB));
        if (!end_is(&t, i, ends))
                return false;
        /* "retired hosts get no jobs" is a text */
        return i + 1 == s.n || s.words[i].stop || end_tail(&t, i + 1) > i + 1;
}
