/* Runs: supervisor, CLI. Words passed on by a speaker: of documents, and of other people. */
#include "cognition/phrases.h"
#include "cognition/reports-patterns.h"

/* The end of what is passed on from the word `from` on: the sentence; behind a colon the line, or, where the colon ends
 * its line, the paragraph. */
static size_t phrase_report_end(const PhraseText *t, size_t from, bool says) {
        size_t end = phrase_sentence_end(t, from < t->n ? from : t->n), colon = SIZE_MAX;

        for (size_t k = from - 1; k < end && k <= from + 4 && colon == SIZE_MAX; k++)
                if (phrase_is(t, k, ":"))
                        colon = k;
        if (colon == SIZE_MAX)
                return end;
        if (says && colon + 1 < t->n && t->word[colon + 1].gap == 2 && !phrase_paragraph(t, colon + 1)) {
                for (end = MAX(end, colon + 2); end < t->n && !phrase_paragraph(t, end); end++)
                        ;
                return end;
        }
        while (end < t->n && t->word[end].gap != 2)
                end++;
        return end;
}

/* "The runbook says …", "according to the log …", "it says". */
void phrase_mark_reports(PhraseText *t) {
        for (size_t i = 0; i < t->n; i++) {
                size_t from = SIZE_MAX, end;
                bool says = true;

                if (t->word[i].foreign)
                        continue;
                if (t->word[i].class & PW_PAPER) {
                        for (size_t k = i + 1;
                             k < t->n && k <= i + 4 && !phrase_ends_sentence(t, k) && from == SIZE_MAX; k++)
                                if (t->word[k].class & PW_SAYS ||
                                    (phrase_is(t, k, ":") && k == i + 1 && !phrase_is(t, i, "note"))) {
                                        from = k + 1;
                                        says = t->word[k].letter;
                                }
                } else if (phrase_match(t, i, t->n, "it says") || phrase_match(t, i, t->n, "they say")) {
                        from = i + 2;
                } else if (phrase_match(t, i, t->n, "according to")) {
                        from = i + 2;
                }
                if (from == SIZE_MAX)
                        continue;
                end = phrase_report_end(t, from, says);
                for (size_t k = from; k < end; k++)
                        t->word[k].foreign = true;
        }
}

static bool phrase_one_of(const PhraseText *t, size_t i, size_t end, const char *const *list, size_t n) {
        for (size_t k = 0; k < n; k++)
                if (t->low[t->word[i].at] == list[k][0] && phrase_match(t, i, end, list[k]))
                        return true;
        return false;
}

/* Where the words of a third person begin in the sentence [at, end), or `end`. The subject stands before the verb: a few words,
 * without speaker and reader. */
static size_t phrase_claim(const PhraseText *t, size_t at, size_t end) {
        static const char *const own[] = {"i", "we", "you", "i'd", "we'd", "i'm", "it", "that", "this", "which", "what",
                                          "if", "when", "please", "let", "let's", "do", "don't", "never", "always", "who",
                                          "can", "could", "would", "will", "as", "and", "no", "not", "there", "where",
                                          "my", "use", "how", "why", "on", "at", "did", "does", "is", "are", "was", "should", "may",
                                          "everyone", "nobody", "to", "make", "keep", "set", "for", "must"};
        static const char *const fillers[] = {"okay", "ok", "hm", "right", "well", "also", "now", "by", "the", "way",
                                              "but", "so", "yes", "and", "still", "however", "thing", "one", "more"};
        bool paper = false;
        size_t from = at;

        while (from < end && (!t->word[from].letter || (phrase_one_of(t, from, end, fillers, ARRAY_SIZE(fillers)) &&
                                                        !phrase_is(t, from, "the") && !phrase_is(t, from, "one"))))
                from++;
        if (from >= end || t->word[from].foreign)
                return end;
        if (phrase_one_of(t, from, end, phrase_rumours, ARRAY_SIZE(phrase_rumours)))
                return from;
        for (size_t i = from; i < end && i < from + 7; i++) {
                if (i > from && !(t->word[i - 1].class & PW_ARTICLE) && (phrase_one_of(t, i, end, phrase_claims, ARRAY_SIZE(phrase_claims)) || (paper && phrase_one_of(t, i, end, phrase_shows, ARRAY_SIZE(phrase_shows)) && !phrase_is(t, i + 1, "to"))))
                        return i;
                if (!t->word[i].letter || phrase_one_of(t, i, end, own, ARRAY_SIZE(own)))
                        return end;
                paper |= phrase_one_of(t, i, end, phrase_papers, ARRAY_SIZE(phrase_papers));
        }
        return end;
}

/* "Suppose the limit were …", "what if …", "if we had …", "my colleague thinks …": the sentence states nothing. */
static bool phrase_supposes(const PhraseText *t, size_t at, size_t end) {
        while (at < end && (!t->word[at].letter || phrase_one_of(t, at, end, phrase_begins, ARRAY_SIZE(phrase_begins))))
                at++;
        if (at < end && phrase_one_of(t, at, end, phrase_supposals, ARRAY_SIZE(phrase_supposals)))
                return true;
        for (size_t k = at + 2; k < end && k < at + 6; k++)
                if ((phrase_is(t, at, "if") && (phrase_is(t, k, "were") || phrase_is(t, k, "had"))) ||
                    (phrase_is(t, at, "my") && phrase_one_of(t, k, end, phrase_opinions, ARRAY_SIZE(phrase_opinions))))
                        return true;
        return false;
}

void phrase_mark_claims(PhraseText *t) {
        for (size_t at = 0, end; at < t->n; at = end) {
                size_t from;

                end = phrase_sentence_end(t, at);
                from = phrase_supposes(t, at, end) ? at : phrase_claim(t, at, end);
                if (from == end || phrase_any(t, from, end, phrase_adopts, ARRAY_SIZE(phrase_adopts)))
                        continue;
                for (size_t k = at; k < end; k++)
                        t->word[k].foreign = true;
        }
}
