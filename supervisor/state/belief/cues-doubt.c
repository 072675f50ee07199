/* Runs: supervisor, CLI. Reasons for the built-in interpreter to abstain (G-66): words of doubt in a statement, a
 * statement that holds only somewhere or in part, a later sentence that takes the statement back, and a statement about
 * something that only belongs to the thing ("the dashboard of X is fixed"). */
#include "belief/cues-draft.h"

/* Words of doubt. */
static const char *const all_words[] = {
        "if", "whether", "unless", "until", "when", "once", "not", "cannot", "never", "no", "nothing", "none",
        "nobody", "neither", "nor", "hardly", "isn't", "aren't", "wasn't", "weren't", "hasn't", "haven't",
        "won't", "don't", "doesn't", "didn't", "can't", "might", "may", "could", "would", "should", "will",
        "must", "shall", "all", "every", "everything", "everybody", "both", "each", "some", "few", "half",
        "most", "many", "any", "several", "various", "how", "what", "which", "who", "why", "where", "i", "we",
        "you", "he", "she", "they", "anything", "something", "please", "hopefully", "now", "your", "ensure",
        "verify", "confirm", "sure", "while", "whereas", "because", "since", NULL,
};
static const char *const but_words[] = {
        "but", "except", "however", "only", "isn't", "doesn't", "wasn't", "although", "though", "still",
        "almost", "nearly", "partly", "partially", "mostly", "half", "nothing", "none", "temporarily", NULL,
};
static const char *const hearsay_words[] = {
        "maybe", "perhaps", "probably", "possibly", "apparently", "allegedly", "reportedly", "supposedly",
        "seems", "seem", "seemed", "hope", "think", "thinks", "believe", "believes", "guess", "assume",
        "suppose", "wish", "imagine", "pretend", "according", "reckon", "suspect", "trust", "suggest",
        "suggests", "claims", "claim", "claimed", "says", "say", "said", "told", "wrote", "asks", "asked",
        "unclear", "unsure", "example", "instructions", "ignore", "disregard", "e.g", "i.e", NULL,
};
/* After the statement these words take the statement back, or make it conditional. */
static const char *const after_words[] = {
        "if", "unless", "until", "when", "once", "not", "never", "whether", "assuming", "provided", NULL,
};
/* Words at the beginning of a subordinate clause. */
static const char *const clause_words[] = {
        "before", "after", "since", "while", "as", "because", "although", "though", "that", NULL,
};
/* A thing is fixed here, and not where it matters: "in theory", "on branch x", "on my machine". */
static const char *const partial_words[] = {
        "theory", "principle", "paper", "branch", "branches", "fork", "draft", "pr", "prs", "pull", "merge",
        "merged", "merging", "unmerged", "review", "reviewed", "staging", "sandbox", "machine", "laptop",
        "desktop", "copy", "locally", "local", "upstream", "downstream", "sense", "part", "parts", "some",
        "less", "mostly", "hope", "hopefully", "pending", "mistake", "mistakenly", "wrongly", "erroneously", "accidentally", "prematurely", "premature", "reopened", "reopen", "reverted", "revert", "undone", "prototype", "beta", "preview", "nightly",
        "unreleased", "experiment", "experimentally", "tentatively", "provisionally", "soon", "tomorrow",
        "later", "eventually", "someday", "apart", "besides", "for", "unless", NULL,
};
/* In a sentence after the statement. */
static const char *const back_words[] = {
        CUE_COMEBACKS, "back", "again", "still", "reappears", "reappear", "recurs", "rolled", "undid", "undo",
        "correction", "sorry", "wrong", "wrongly", "mistake", "mistaken", "fails", "failed", "failing", "broke",
        "breaks", "broken", "unfortunately", "however", "but", "scratch", "strike", "nevermind", "mind", "ignore",
        "disregard", "disagrees", "disagree", "disputes", "denies", "contradicts", "false", "premature",
        "prematurely", "persists", "remains", "reproduced", "reproducible", "worse", "incomplete", "insufficient",
        "kidding", "joking", "joke", "thought", "hopefully", "maybe", "perhaps", NULL,
};
static const char *const denial_words[] = {
        "no", "not", "never", "cannot", "isn't", "wasn't", "aren't", "weren't", "doesn't", "didn't", "don't",
        "can't", "won't", "hasn't", "haven't", NULL,
};
static const char *const without_words[] = {
        "without", "none", "nobody", "nothing", "neither", "nor", "mustn't", "shouldn't", "couldn't", "wouldn't",
        "forbidden", "prohibited", "stop", "stopped", "avoid", NULL,
};
/* A denial in a later sentence counts when the sentence is about the thing, or about the statement. */
static const char *const same_words[] = {
        "it", "this", "that", "these", "they", "fix", "fixed", "bug", "issue", "problem", "change", "patch",
        "solution", "resolved", "solved", NULL,
};
/* Words behind a noun and before what belongs to the noun. */
static const char *const preposition_words[] = {
        "of", "for", "in", "about", "to", "with", "on", "at", "from", "by", "that", "which", "when", "where",
        "while", "because", "after", "before", "during", "into", "via", "without", "under", "over", "between",
        "against", "through", "as", "behind", "around", "near", "like", "using", "so", "and", "thanks",
        "since", "if", NULL,
};
/* Nouns that name a trouble whichever row it is. */
static const char *const trouble_words[] = {
        "bug", "bugs", "issue", "issues", "problem", "problems", "blocker", "blockers", "error", "errors",
        "failure", "failures", "fault", "faults", "defect", "defects", "crash", "crashes", "regression",
        "trouble", "outage", "incident", "one", "ones", "thing", "it", "this", "that", NULL,
};
static const char *const article_words[] = {
        "the", "a", "an", "this", "that", "these", "those", "our", "my", NULL,
};

bool word_is_one_of(const CueWord *w, const char *const *words) {
        for (; *words; words++)
                if (word_may_be(w, **words) && word_is(w, *words))
                        return true;
        return false;
}

bool sentence_has_any(const Sentence *s, size_t from, size_t to, const char *const *words) {
        for (size_t i = from; i < to; i++)
                if (word_is_one_of(&s->words[i], words))
                        return true;
        return false;
}

bool sentence_has_but(const Sentence *s, size_t from) {
        return sentence_has_any(s, from, s->n, but_words);
}

bool sentence_is_hearsay(const Sentence *s) {
        return s->question || sentence_has_any(s, 0, s->n, hearsay_words);
}

bool word_denies(const CueWord *w) {
        return word_is_one_of(w, denial_words) || word_is_one_of(w, without_words);
}

bool word_is_article(const CueWord *w) {
        return word_is_one_of(w, article_words);
}

bool sentence_is_doubtful(const Sentence *s, Doubt doubt, const CueMatch *m, bool from_begin) {
        if (sentence_is_hearsay(s))
                return true;
        switch (doubt) {
        case DOUBT_ALL:
                /* The pattern's own negations ("no longer") come after the subject. */
                if (sentence_has_any(s, from_begin ? 0 : m->about_from, m->about_to, all_words) || sentence_has_but(s, 0) ||
                    sentence_has_any(s, m->last, s->n, after_words))
                        return true;
                return m->about_to > 0 && word_is_one_of(&s->words[m->about_from], clause_words);
        case DOUBT_BUT:
                return sentence_has_but(s, 0) ||
                       (m->about_to > 0 ? sentence_has_any(s, m->last, s->n, after_words)
                                        : sentence_has_any(s, m->rest_from, m->rest_from + 1, all_words));
        case DOUBT_HEARSAY:
                return m->about_to == 1 && word_is(&s->words[0], "you");
        }
        return true;
}

/* Behind the subject's noun: in a phrase "fixed the crash on empty files" the rest has the subject, too. */
bool sentence_is_partial(const Sentence *s, const CueMatch *m) {
        size_t from = m->about_to > 0 ? m->last : m->rest_from;

        for (; m->about_to == 0 && from < s->n && !word_is_one_of(&s->words[from], preposition_words); from++)
                ;
        return sentence_has_any(s, from, s->n, partial_words);
}

#define SHORT 4 /* words of a sentence that has no subject of its own: "Wait, no." */

bool sentence_takes_back(const Sentence *s) {
        return sentence_has_any(s, 0, s->n, back_words) || (s->n <= SHORT && sentence_has_any(s, 0, s->n, denial_words)) ||
               (s->n <= SHORT && s->question) || (s->n > 0 && word_is(&s->words[0], "no")) ||
               (sentence_has_any(s, 0, s->n, denial_words) && sentence_has_any(s, 0, s->n, same_words));
}

bool sentence_is_name(const Sentence *s, size_t from, size_t to) {
        return !sentence_has_any(s, from, to, preposition_words);
}

Piece sentence_head(const Sentence *s, size_t from, size_t to) {
        const CueWord *w;
        size_t i;

        while (from + 1 < to && word_is_one_of(&s->words[from], article_words))
                from++;
        for (i = from; i + 1 < to && !s->words[i].stop && !word_is_one_of(&s->words[i + 1], preposition_words); i++)
                ;
        w = &s->words[i];
        if (i >= to || w->quoted || w->n < 2 || word_is_one_of(w, trouble_words))
                return PIECE_NULL;
        for (size_t k = 0; k < w->n; k++) /* a name of a program or a row */
                if (!ascii_letter(w->s[k]) && w->s[k] != '-')
                        return PIECE_NULL;
        return (Piece){w->s, w->n};
}
