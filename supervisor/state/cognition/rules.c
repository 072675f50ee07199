/* Runs: supervisor, CLI. Rules, their changes and lifts, and goals, clause by clause. */
#include "cognition/rules-patterns.h"

#include "base/ascii.h"

#include <pthread.h>
#include <strings.h>

/* The patterns with their beginnings: of each first letter, the set of second letters. */
typedef enum RuleList {
        RULE_LIFTS,
        RULE_LIFT_VERBS,
        RULE_NOUNS,
        RULE_CHANGES,
        RULE_ASKS,
        RULE_NEEDS,
        RULE_GOALS,
        RULE_LISTS
} RuleList;
static struct RulePatterns {
        const char *const *pattern;
        size_t n;
        uint32_t begin[32];
} rule_lists[RULE_LISTS] = {
        [RULE_LIFTS] = {rule_lifts, ARRAY_SIZE(rule_lifts), {0}},
        [RULE_LIFT_VERBS] = {rule_lift_verbs, ARRAY_SIZE(rule_lift_verbs), {0}},
        [RULE_NOUNS] = {rule_nouns, ARRAY_SIZE(rule_nouns), {0}},
        [RULE_CHANGES] = {rule_changes, ARRAY_SIZE(rule_changes), {0}},
        [RULE_ASKS] = {rule_asks, ARRAY_SIZE(rule_asks), {0}},
        [RULE_NEEDS] = {rule_needs, ARRAY_SIZE(rule_needs), {0}},
        [RULE_GOALS] = {rule_goals, ARRAY_SIZE(rule_goals), {0}},
};
static uint32_t rule_marker_begin[32];

static void rule_note(uint32_t begin[32], const char *pattern) {
        begin[pattern[0] & 31] |= 1U << (pattern[1] & 31);
}

static void rule_fill(void) {
        for (size_t l = 0; l < RULE_LISTS; l++)
                for (size_t k = 0; k < rule_lists[l].n; k++)
                        rule_note(rule_lists[l].begin, rule_lists[l].pattern[k]);
        for (size_t k = 0; k < ARRAY_SIZE(rule_markers); k++)
                rule_note(rule_marker_begin, rule_markers[k].pattern);
}

/* Can a pattern of the set begin at the word? The byte behind a word of one letter is a blank, as in the pattern. */
static bool rule_may_begin(const PhraseText *t, size_t i, const uint32_t begin[32]) {
        const char *low = t->low + t->word[i].at;

        return begin[low[0] & 31] & (1U << (low[1] & 31)) || ascii_blank(low[1]);
}

static const char *const rule_names[RULE_KINDS] = {
        [RULE_MUST] = "must",
        [RULE_MUST_NOT] = "must_not",
        [RULE_ALLOWED] = "allowed",
        [RULE_AVOID] = "avoid",
        [RULE_LIFT] = "lift",
        [RULE_CHANGE] = "change",
        [RULE_GOAL] = "goal",
        [RULE_DROP] = "drop",
};

const char *rule_kind_name(RuleKind k) {
        return rule_names[k];
}

static bool rule_says(const PhraseText *t, size_t i, size_t end, const char *word) {
        return i < end && phrase_match(t, i, end, word) > 0;
}

/* The first place in [at, end) where one of the patterns stands in the speaker's own words; *ret_n: its words. */
static size_t rule_find(const PhraseText *t, size_t at, size_t end, const char *const *patterns, size_t n,
                        const uint32_t *begin, size_t *ret_n) {
        for (size_t i = at; i < end; i++) {
                size_t best = 0;

                if (t->word[i].foreign || !t->word[i].letter || (begin && !rule_may_begin(t, i, begin)))
                        continue;
                for (size_t k = 0; k < n; k++)
                        if (t->low[t->word[i].at] == patterns[k][0])
                                best = MAX(best, phrase_match(t, i, end, patterns[k]));
                if (best > 0) {
                        *ret_n = best;
                        return i;
                }
        }
        return SIZE_MAX;
}
#define RULE_FIND(t, at, end, list, ret_n) \
        rule_find(t, at, end, rule_lists[list].pattern, rule_lists[list].n, rule_lists[list].begin, ret_n)

size_t rule_words(const PhraseText *t, size_t at, size_t end, char *out, size_t n_out) {
        size_t n = 0;

        for (size_t i = at; i < end; i++) {
                const PhraseWord *w = &t->word[i];
                const char *s = t->text + w->at;
                bool sign = *s == '$' || *s == '%' || *s == '#' || *s == '/' || *s == '=';

                if (w->foreign || (!w->letter && !sign && w->n == 1) ||
                    (w->class & PW_ARTICLE && (!w->capital || w->begins) && !(w->class & PW_THIS)))
                        continue;
                if (n + w->n + 2 > n_out)
                        break;
                if (n > 0 && !(i > at && w->gap == 0 && t->word[i - 1].at + t->word[i - 1].n == w->at &&
                               (sign || out[n - 1] == '$' || out[n - 1] == '/')))
                        out[n++] = ' ';
                memcpy(out + n, s, w->n);
                n += w->n;
        }
        out[n] = '\0';
        return n;
}

/* The stem of a word: without s, es, ed, ing. */
static size_t rule_stem(const char *w, size_t n) {
        if (n > 5 && memcmp(w + n - 3, "ing", 3) == 0)
                n -= 3;
        else if (n > 4 && (memcmp(w + n - 2, "ed", 2) == 0 || memcmp(w + n - 2, "es", 2) == 0))
                n -= 2;
        else if (n > 3 && w[n - 1] == 's' && w[n - 2] != 's')
                n--;
        if (n > 3 && w[n - 1] == 'e')
                n--;
        return n;
}

/* Words that bind a rule to nothing: sources, prepositions, auxiliary verbs. Verbs and nouns of the stop list stay. */
static bool rule_weak(const char *w, size_t n) {
        static const char *const strong[] = {"call", "change", "cancel", "book", "pay", "check", "price",
                                             "cost", "friend", "address", "phone", "person", "people"};
        uint32_t c = phrase_class(w, n, NULL);

        for (size_t i = 0; i < ARRAY_SIZE(strong); i++)
                if (strlen(strong[i]) == n && memcmp(strong[i], w, n) == 0)
                        return false;
        return c & PW_STOP && !(c & (PW_VERB | PW_PART | PW_UNIT | PW_DAY | PW_NUMBER));
}

size_t rule_shared(const char *a, const char *b, size_t *ret_n) {
        char x[256], y[256];
        size_t shared = 0;

        *ret_n = 0;
        phrase_norm(a, x, sizeof(x));
        phrase_norm(b, y, sizeof(y));
        for (const char *p = x; *p; p += *p == ' ') {
                size_t n = strcspn(p, " "), stem = rule_stem(p, n);
                bool found = false;

                if (!rule_weak(p, n)) {
                        ++*ret_n;
                        for (const char *q = y; *q && !found; q += *q == ' ') {
                                size_t n_q = strcspn(q, " ");
                                found = rule_stem(q, n_q) == stem && memcmp(p, q, stem) == 0;
                                q += n_q;
                        }
                        shared += found;
                }
                p += n;
        }
        return shared;
}

/* Words before the matter of a clause: "and please also", "so now then". */
static size_t rule_skip(const PhraseText *t, size_t at, size_t end) {
        static const char *const fillers[] = {"and", "but", "also", "please", "so", "then",
                                              "now", "ok", "okay", "yes", "well", "again",
                                              "remember", "note", "that", "important", "reminder", "rule",
                                              "by", "way", "first", "however", "additionally", "sure",
                                              "thanks", "or", "thus", "hence", "therefore"};

        for (; at < end; at++) {
                bool filler = !t->word[at].letter;

                if (phrase_match(t, at, end, "remember to"))
                        break;
                for (size_t k = 0; k < ARRAY_SIZE(fillers) && !filler; k++)
                        filler = rule_says(t, at, end, fillers[k]);
                if (!filler)
                        break;
        }
        return at;
}

static bool rule_number_follows(const PhraseText *t, size_t at, size_t end) {
        for (size_t i = at; i < end && i < at + 4; i++)
                if (t->word[i].digit || t->word[i].class & (PW_NUMBER | PW_DAY) || t->text[t->word[i].at] == '$')
                        return true;
        return false;
}

static bool rule_narrates(const PhraseText *t, size_t at, size_t i) {
        for (size_t k = 1; k <= 2 && i >= at + k; k++)
                if (rule_says(t, i - k, i, "i") || rule_says(t, i - k, i, "we") || rule_says(t, i - k, i, "they") ||
                    rule_says(t, i - k, i, "he") || rule_says(t, i - k, i, "she") || rule_says(t, i - k, i, "i've") ||
                    rule_says(t, i - k, i, "it"))
                        return true;
        return false;
}

/* The marker that stands at i. */
static const struct RuleMarker *rule_marker(const PhraseText *t, size_t at, size_t i, size_t end, size_t *ret_n) {
        const struct RuleMarker *best = NULL;

        *ret_n = 0;
        if (t->word[i].foreign || !rule_may_begin(t, i, rule_marker_begin))
                return NULL;
        for (size_t k = 0; k < ARRAY_SIZE(rule_markers); k++) {
                const struct RuleMarker *m = &rule_markers[k];
                size_t n;

                if (t->low[t->word[i].at] != m->pattern[0] || (n = phrase_match(t, i, end, m->pattern)) <= *ret_n)
                        continue;
                if ((m->form & RULE_HEAD && i != at) || (m->form & RULE_OTHERS && rule_narrates(t, at, i)) ||
                    (m->form & RULE_NUMBER && !rule_number_follows(t, i + n, end)))
                        continue;
                best = m;
                *ret_n = n;
        }
        return best;
}

static bool rule_lifts_at(const PhraseText *t, size_t i, size_t end) {
        for (size_t k = 0; k < ARRAY_SIZE(rule_lifts); k++)
                if (phrase_match(t, i, end, rule_lifts[k]))
                        return true;
        return false;
}

/* The end of the clause: where the sentence ends, or where another rule begins behind "," "and" "but". */
static size_t rule_clause_end(const PhraseText *t, size_t at, size_t end) {
        static const char *const reasons[] = {"because", "since", "otherwise", "thanks", "thank"};

        for (size_t i = at + 1; i < end; i++) {
                size_t n, next = i + 1;

                for (size_t k = 0; k < ARRAY_SIZE(reasons); k++)
                        if (rule_says(t, i, end, reasons[k]))
                                return i;
                if (!rule_says(t, i, end, ",") && !rule_says(t, i, end, "and") && !rule_says(t, i, end, "but"))
                        continue;
                next = rule_skip(t, next, end);
                if (next < end &&
                    (rule_marker(t, next, next, end, &n) || rule_says(t, i, end, "but") || rule_lifts_at(t, next, end)))
                        return i;
        }
        return end;
}

/* Removes words without matter from both ends of a body. */
static void rule_trim(const PhraseText *t, size_t *at, size_t *end) {
        static const char *const head[] = {"you", "we", "i", "to", "that", "should", "may", "can", "the",
                                           "agent", "it", "they", "anyone", "ever", "want", "is", "are", "there",
                                           "will", "shall", "be", "must", "also", "and", "but", "only"};
        static const char *const tail[] = {"please", "ever", "though", "ok", "okay", "too", "either", "and",
                                           "but", "or", "again", "anymore", "right", "to", "be",
                                           "yet"};
        static const char *const tails[] = {"for now", "for the moment", "at all", "right now", "from now on",
                                            "as agreed", "at any time", "at any point", "no matter what",
                                            "under any circumstances", "in any case", "for the time being", "so far"};
        bool again = true;

        while (again && *at < *end) {
                again = !t->word[*at].letter && t->text[t->word[*at].at] != '$';
                for (size_t k = 0; k < ARRAY_SIZE(head) && !again; k++)
                        again = rule_says(t, *at, *end, head[k]) && !(k + 1 == ARRAY_SIZE(head));
                *at += again;
        }
        for (size_t cut = 1; cut > 0 && *at < *end; *end -= cut) {
                cut = !t->word[*end - 1].letter && t->text[t->word[*end - 1].at] != '%';
                for (size_t k = 0; k < ARRAY_SIZE(tail) && cut == 0; k++)
                        cut = rule_says(t, *end - 1, *end, tail[k]);
                for (size_t k = 0; k < ARRAY_SIZE(tails) && cut == 0; k++)
                        for (size_t n = 2; n <= 4 && n < *end - *at && cut == 0; n++)
                                cut = phrase_match(t, *end - n, *end, tails[k]) == n ? n : 0;
        }
}

/* Where a remark begins behind a comma: "…, however full the disk is", "…, memory would be lost". A list goes on. */
static size_t rule_remark(const PhraseText *t, size_t at, size_t end) {
        for (size_t i = at + 3; i < end; i++) {
                bool list = false;

                if (!rule_says(t, i, end, ",") && !rule_says(t, i, end, "--") && !rule_says(t, i, end, "("))
                        continue;
                for (size_t k = i; k < end && !list; k++)
                        list = rule_says(t, k, end, "or") || rule_says(t, k, end, "and");
                if (!list)
                        return i;
        }
        return end;
}

/* "Keep both in mind", "do not adopt it", "nothing changes": about the talk, not a rule that stands. */
static bool rule_passing(const Rule *r) {
        static const char *const these[] = {"it", "that", "this", "these", "those", "them", "both", "mine", "ours",
                                            "theirs", "yours", "his", "hers", "one", "conclusion", "conclusions",
                                            "decision", "verdict", "changes", "changed", "change", "panic", "adopt",
                                            "going", "up", "in", "mind", "so", "yet", "as", "he", "she", "they",
                                            "what", "keep", "confirmed", "jump", "to", "known", "clear", "decided",
                                            "final", "certain", "new", "said", "plan", "here", "there", "follow",
                                            "do", "go", "with", "have", "we", "agreed", "me", "us", "posted", "on",
                                            "course", "track", "an", "eye", "open", "listen", "news", "is", "touch"};
        size_t n = 0;

        for (const char *p = r->body; *p; p += *p == ' ') {
                size_t n_p = strcspn(p, " ");
                bool idle = false;

                for (size_t k = 0; k < ARRAY_SIZE(these) && !idle; k++)
                        idle = strlen(these[k]) == n_p && strncasecmp(p, these[k], n_p) == 0;
                if (!idle)
                        n++;
                p += n_p;
        }
        return n == 0;
}

/* "no thanks", "no problem", "don't worry", "nothing else": no rules. */
static bool rule_phrase_only(const PhraseText *t, const struct RuleMarker *m, size_t at, size_t end) {
        static const char *const idle[] = {
                "worry", "know", "mind", "think", "care", "thanks", "problem", "worries", "else", "more",
                "need", "idea", "bother", "have", "way", "one", "it", "i", "that", "that's",
                "this", "thank", "matter", "issue", "rush", "hurry", "hesitate", "forget", "for", "not",
                "yes", "you", "we", "longer", "wait", "really", "believe", "understand", "what", "doubt",
                "big", "at", "now", "sorry", "please", "mention"};

        if (at >= end || !t->word[at].letter)
                return strcmp(m->pattern, "no") == 0 || at >= end;
        if (m->kind != RULE_MUST_NOT || !(m->form & (RULE_HEAD | RULE_OTHERS)))
                return false;
        if (strcmp(m->pattern, "never") == 0)
                return rule_says(t, at, end, "mind");
        for (size_t k = 0; k < ARRAY_SIZE(idle); k++)
                if (rule_says(t, at, end, idle[k]))
                        return strcmp(idle[k], "mention") != 0 || at + 2 >= end || rule_says(t, at + 1, end, "it");
        return (strcmp(m->pattern, "no") == 0 || strcmp(m->pattern, "nothing") == 0) && end - at < 2 &&
               phrase_class(t->low + t->word[at].at, t->word[at].n, NULL) & PW_STOP;
}

/* Does the clause only ask? Requests ("could you avoid …") are no questions here. */
static bool rule_asks_only(const PhraseText *t, size_t at, size_t end, size_t sentence) {
        static const char *const requests[] = {"can you", "could you", "would you", "will you",
                                               "do not", "do it", "do n't"};
        size_t n;
        bool mark = sentence > at && t->text[t->word[sentence - 1].at] == '?';

        if (at >= end || rule_find(t, at, MIN(end, at + 2), requests, ARRAY_SIZE(requests), NULL, &n) == at)
                return false;
        return mark ||
               (t->word[at].class & PW_QUESTION && !(t->word[at].class & (PW_VERB)) && !rule_says(t, at, end, "do") &&
                !rule_says(t, at, end, "may") && !rule_says(t, at, end, "when") && !rule_says(t, at, end, "while"));
}

/* "Do I have to …?" asks; "could you …?" and "can I …?" ask for something. */
static bool rule_wonders(const PhraseText *t, size_t at, size_t end, size_t sentence) {
        return t->text[t->word[sentence - 1].at] == '?' && t->word[at].class & PW_QUESTION &&
               !(t->word[at].class & PW_VERB) && !rule_says(t, at, end, "can") && !rule_says(t, at, end, "could") &&
               !rule_says(t, at, end, "would") && !rule_says(t, at, end, "will");
}

/* "Machines may be powered off now". */
static bool rule_permit(const PhraseText *t, size_t at, size_t end) {
        static const char *const free[] = {"without asking", "without approval", "without confirmation",
                                           "without waiting"};
        static const char *const never[] = {"never", "not", "don't", "no", "nothing", "nobody", "must", "cannot", "can't",
                                            "avoid", "stop"};
        size_t n;

        if (rule_find(t, at, end, free, ARRAY_SIZE(free), NULL, &n) != SIZE_MAX &&
            rule_find(t, at, end, rule_times, ARRAY_SIZE(rule_times), NULL, &n) != SIZE_MAX &&
            rule_find(t, at, end, never, ARRAY_SIZE(never), NULL, &n) == SIZE_MAX)
                return true;
        return t->text[t->word[end - 1].at] != '?' && !(t->word[at].class & PW_QUESTION) &&
               rule_find(t, at, end, rule_permits, ARRAY_SIZE(rule_permits), NULL, &n) != SIZE_MAX &&
               rule_find(t, at, end, rule_times, ARRAY_SIZE(rule_times), NULL, &n) != SIZE_MAX &&
               rule_find(t, at, end, rule_negations, ARRAY_SIZE(rule_negations), NULL, &n) == SIZE_MAX;
}

/* "Forget the approval step": the verb at the beginning, and a noun. */
static bool rule_gives_up(const PhraseText *t, size_t at, size_t end) {
        static const char *const verbs[] = {"forget", "drop", "skip", "lift", "waive", "scratch", "cancel", "ignore",
                                            "relax", "withdraw", "disregard", "remove"};
        size_t n;

        return rule_find(t, at, MIN(end, at + 1), verbs, ARRAY_SIZE(verbs), NULL, &n) == at && at + 2 < end &&
               t->word[at + 1].class & PW_ARTICLE;
}

static bool rule_lift(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t n, m;

        if (!rule_gives_up(t, at, end) && !rule_permit(t, at, end) && RULE_FIND(t, at, end, RULE_LIFTS, &n) == SIZE_MAX &&
            (RULE_FIND(t, at, end, RULE_LIFT_VERBS, &n) == SIZE_MAX ||
             RULE_FIND(t, at, end, RULE_NOUNS, &m) == SIZE_MAX ||
             (rule_says(t, at, end, "never") && !phrase_match(t, at, end, "never mind")) ||
             rule_says(t, at, end, "don't") || rule_says(t, at, end, "do")))
                return false;
        ret->kind = RULE_LIFT;
        if (rule_gives_up(t, at, end))
                end = rule_remark(t, at, end);
        for (size_t i = at; i + 2 < end; i++) /* the reason stands before: "…, so machines may …" */
                if (rule_says(t, i, end, ",") && rule_says(t, i + 1, end, "so"))
                        at = i + 2;
        return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0;
}

static bool rule_change(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t n, cursor = at;
        PhraseValue v;
        bool old = false;

        if (RULE_FIND(t, at, end, RULE_CHANGES, &n) == SIZE_MAX)
                return false;
        ret->value[0] = ret->old[0] = '\0';
        while (phrase_value(t, &cursor, end, &v)) {
                if (v.type > PHRASE_COUNT)
                        continue;
                old = (v.at > at && (rule_says(t, v.at - 1, end, "from") || rule_says(t, v.at - 1, end, "not"))) ||
                      (v.at > at + 1 &&
                       (phrase_match(t, v.at - 2, end, "instead of") || phrase_match(t, v.at - 2, end, "rather than")));
                memcpy(old ? ret->old : ret->value, v.id, PHRASE_ID_MAX);
        }
        ret->kind = RULE_CHANGE;
        ret->limit = RULE_FIND(t, at, end, RULE_NOUNS, &n) != SIZE_MAX;
        return ret->value[0] && rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0;
}

static size_t rule_standing_at(const PhraseText *t, size_t at, size_t end) {
        size_t n, best = 0;

        for (size_t k = 0; k < ARRAY_SIZE(rule_standing) && at < end && !t->word[at].foreign; k++)
                if ((n = phrase_match(t, at, end, rule_standing[k])) > best)
                        best = n;
        return best;
}

/* "From now on, …": an imperative without another marker is a rule. */
static bool rule_stands(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t n = rule_standing_at(t, at, end), from, to;

        if (n > 0) {
                from = at + n;
                to = end;
        } else { /* "…, from now on" */
                for (n = 2; n <= 4 && at + n + 2 < end && rule_standing_at(t, end - n, end) != n; n++)
                        ;
                if (n > 4 || at + n + 2 >= end)
                        return false;
                from = at;
                to = end - n;
                if (t->word[from].class & (PW_ARTICLE | PW_QUESTION) || rule_says(t, from, end, "i") ||
                    rule_says(t, from, end, "we") || rule_says(t, from, end, "it"))
                        return false;
        }
        to = rule_remark(t, from, to);
        rule_trim(t, &from, &to);
        ret->kind = RULE_MUST;
        return rule_words(t, from, to, ret->body, sizeof(ret->body)) > 0 && strchr(ret->body, ' ') &&
               !rule_passing(ret);
}

static bool rule_stated(const PhraseText *t, size_t at, size_t end, size_t sentence, Rule *ret) {
        size_t standing = rule_standing_at(t, at, end);

        if (standing > 0)
                at = rule_skip(t, at + standing, end);
        if (at >= end || rule_asks_only(t, at, end, sentence))
                return false;
        end = rule_remark(t, at, end);
        for (size_t i = at; i < end; i++) {
                size_t n, from, to = end;
                const struct RuleMarker *m = rule_marker(t, at, i, end, &n);

                if (!m || rule_phrase_only(t, m, i + n, end))
                        continue;
                if (rule_says(t, end - 1, end, "yet") && m->form & RULE_HEAD && !(m->form & RULE_KEEP))
                        continue; /* "no answer yet" */
                if (m->form & RULE_OTHERS && m->form & RULE_KEEP && i > 0 && rule_says(t, i - 1, i, "and"))
                        continue; /* "I run the shop and need a hand" */
                from = m->form & RULE_WHOLE ? at : m->form & RULE_KEEP ? i
                                                                       : i + n;
                rule_trim(t, &from, &to);
                ret->kind = m->kind;
                ret->limit = m->form & RULE_NUMBER;
                if (m->form & RULE_WHOLE && !(m->form & RULE_KEEP) &&
                    i > from) { /* the marker itself stands in the name */
                        size_t k = rule_words(t, from, i, ret->body, sizeof(ret->body)), rest = i + n;
                        char tail[RULE_BODY_MAX];

                        rule_trim(t, &rest, &to);
                        if (rule_words(t, rest, to, tail, sizeof(tail)) > 0 &&
                            k + strlen(tail) + 2 < sizeof(ret->body)) {
                                ret->body[k] = ' ';
                                strcpy(ret->body + k + 1, tail);
                        } else if (tail[0]) {
                                rule_words(t, rest, to, ret->body, sizeof(ret->body));
                        }
                } else {
                        if (m->form & RULE_WHOLE && !(m->form & RULE_KEEP))
                                from = i + n;
                        rule_trim(t, &from, &to);
                        rule_words(t, from, to, ret->body, sizeof(ret->body));
                }
                if (rule_passing(ret) && !ret->limit)
                        continue;
                if (ret->body[0] && (ret->limit || strchr(ret->body, ' ') || !rule_weak(ret->body, strlen(ret->body))))
                        return true;
        }
        return false;
}

/* The words of an object: nouns up to the next preposition, at most three. */
static size_t rule_object(const PhraseText *t, size_t at, size_t end, char *out, size_t n_out, bool *ret_counted) {
        size_t from, to;
        static const char *const skip[] = {"me", "us", "for", "out", "up", "at", "into",
                                           "you", "to", "of", "more", "new", "also", "one",
                                           "another", "other", "see", "get", "find", "nice", "good"};

        while (at < end) {
                bool idle = t->word[at].class & (PW_ARTICLE | PW_NUMBER) || t->word[at].digit;

                for (size_t k = 0; k < ARRAY_SIZE(skip) && !idle; k++)
                        idle = rule_says(t, at, end, skip[k]);
                if (!idle)
                        break;
                *ret_counted |= t->word[at].digit || t->word[at].class & PW_NUMBER;
                at++;
        }
        from = to = at;
        while (to < end && to - from < 3 && t->word[to].letter && !t->word[to].foreign && !t->word[to].digit &&
               (to == from || t->word[to].gap == 1) &&
               (!(t->word[to].class & PW_STOP) || t->word[to].class & PW_UNIT) &&
               !(t->word[to].class & (PW_DAY | PW_MONTH)))
                to++;
        return to > from && !t->word[to - 1].capital ? rule_words(t, from, to, out, n_out) : 0;
}

static void rule_atom_of(const char *verb, size_t n_verb, const char *object, Rule *ret) {
        char name[32];

        snprintf(name, sizeof(name), "%.*s", (int)MIN(n_verb, (size_t)24), verb);
        for (char *c = name; *c; c++)
                if (!ascii_letter(*c) && !ascii_digit(*c))
                        *c = '_';
        if (!ascii_letter(name[0]))
                strcpy(name, "goal");
        ret->kind = RULE_GOAL;
        snprintf(ret->body, sizeof(ret->body), "%s(%.*s)", name, RULE_BODY_MAX - 32, object);
}

/* The goal whose words begin at i. */
static bool rule_called(const PhraseText *t, size_t i, size_t end, Rule *ret) {
        char object[RULE_BODY_MAX];

        if (i + 1 < end && t->word[i].class & PW_VERB && rule_words(t, i + 1, end, object, sizeof(object) - 24) > 0) {
                rule_atom_of(t->low + t->word[i].at, t->word[i].n, object, ret);
                return true;
        }
        if (i >= end || rule_words(t, i, end, object, sizeof(object) - 24) == 0)
                return false;
        rule_atom_of("goal", 4, object, ret);
        return true;
}

bool rule_goal(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t n, i = RULE_FIND(t, at, end, RULE_GOALS, &n), k;
        char object[RULE_BODY_MAX];

        ret->strong = i != SIZE_MAX;
        if (ret->strong) {
                i = rule_skip(t, i + n, end);
                while (i < end &&
                       (rule_says(t, i, end, "is") || rule_says(t, i, end, "to") || rule_says(t, i, end, "on")))
                        i++;
                return rule_called(t, i, end, ret);
        }
        if ((rule_says(t, at, end, "let's") || phrase_match(t, at, end, "let us")) && end - at > 2) {
                i = at + (rule_says(t, at, end, "let's") ? 1 : 2);
                ret->strong = t->word[i].letter && !(t->word[i].class & (PW_IDLE | PW_VERB));
                if (ret->strong)
                        return rule_called(t, i, end, ret);
        }
        i = RULE_FIND(t, at, end, RULE_ASKS, &n);
        k = i != SIZE_MAX ? i + n : at;
        while (k < end &&
               (rule_says(t, k, end, "also") || rule_says(t, k, end, "please") || rule_says(t, k, end, "help") ||
                rule_says(t, k, end, "me") || rule_says(t, k, end, "now") || rule_says(t, k, end, "first") ||
                rule_says(t, k, end, "to") || rule_says(t, k, end, "just") || rule_says(t, k, end, ",")))
                k++;
        if (k < end && t->word[k].class & PW_VERB && !t->word[k].foreign) {
                size_t verb = k;

                if (rule_object(t, k + 1, end, object, sizeof(object), &ret->counted) > 0) {
                        if (t->word[verb].class & PW_IDLE || rule_says(t, verb, end, "search"))
                                rule_atom_of("find", 4, object, ret);
                        else
                                rule_atom_of(t->low + t->word[verb].at, t->word[verb].n, object, ret);
                        return true;
                }
        }
        i = RULE_FIND(t, at, end, RULE_NEEDS, &n);
        if (i != SIZE_MAX && rule_object(t, i + n, end, object, sizeof(object), &ret->counted) > 0) {
                rule_atom_of("find", 4, object, ret);
                return true;
        }
        return false;
}

bool rule_next(const PhraseText *t, size_t *at, Rule *ret) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, rule_fill);
        while (*at < t->n) {
                size_t sentence = phrase_sentence_end(t, *at), from, end, next;

                from = rule_skip(t, *at, sentence);
                end = from < sentence ? rule_clause_end(t, from, sentence) : sentence;
                next = MAX(end, *at + 1);
                *ret = (Rule){.at = from, .end = end};
                *at = next;
                if (from >= end || t->word[from].foreign)
                        continue;
                size_t n;
                if (RULE_FIND(t, from, end, RULE_GOALS, &n) != SIZE_MAX && rule_goal(t, from, end, ret))
                        return true;
                for (size_t i = from + 1; i + 1 < end; i++) { /* "Keep quiet: never contact a customer" */
                        size_t k = rule_skip(t, i + 1, end), m;

                        if (rule_says(t, i, end, ":") && k < end && !t->word[k].foreign &&
                            (rule_marker(t, k, k, end, &m) || rule_standing_at(t, k, end) || rule_lifts_at(t, k, end) ||
                             i - from <= 3)) {
                                bool permits = rule_find(t, from, i, rule_times, ARRAY_SIZE(rule_times), NULL, &m) !=
                                               SIZE_MAX;

                                ret->at = from = k;
                                if (permits && rule_says(t, k, end, "you") &&
                                    (rule_says(t, k + 1, end, "may") || rule_says(t, k + 1, end, "can")) &&
                                    rule_words(t, k + 2, end, ret->body, sizeof(ret->body)) > 0) {
                                        ret->kind = RULE_LIFT; /* "Legal agrees now: you may …" */
                                        return true;
                                }
                                break;
                        }
                }
                if (rule_lift(t, from, end, ret) || rule_change(t, from, end, ret) ||
                    rule_stated(t, from, end, sentence, ret) || rule_stands(t, from, end, ret) ||
                    (!rule_wonders(t, from, end, sentence) && rule_goal(t, from, end, ret)))
                        return true;
        }
        return false;
}
