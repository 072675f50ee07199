/* Runs: supervisor, CLI. Words of a rule: its body, its stems, and words without matter at both ends. */
#include "cognition/rules-inside.h"

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
        if (n > 3 && w[n - 1] == w[n - 2] && !strchr("aeiousl", w[n - 1]))
                n--; /* "capped" */
        if (n > 3 && w[n - 1] == 'e')
                n--;
        return n;
}

bool rule_weak(const char *w, size_t n) {
        static const char *const strong[] = {"call", "change", "cancel", "book", "pay", "check", "price",
                                             "cost", "friend", "address", "phone", "person", "people"};
        uint32_t c = phrase_class(w, n, NULL);

        if (!(c & PW_STOP) || c & (PW_VERB | PW_PART | PW_UNIT | PW_DAY | PW_NUMBER))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(strong); i++)
                if (strlen(strong[i]) == n && memcmp(strong[i], w, n) == 0)
                        return false;
        return true;
}

void rule_stems(const char *text, RuleStems *ret) {
        size_t n = phrase_norm(text, ret->norm, sizeof(ret->norm));

        ret->n = 0;
        ret->marks = 0;
        for (size_t at = 0, end; at < n; at = end + 1) {
                RuleStem *w = &ret->word[ret->n++];

                for (end = at; end < n && ret->norm[end] != ' '; end++)
                        ;
                *w = (RuleStem){.at = (uint8_t)at, .n = (uint8_t)(end - at), .weak = -1};
                w->stem = (uint8_t)rule_stem(ret->norm + at, end - at);
                w->mark = (uint8_t)((ret->norm[at] * 5U + ret->norm[at + w->stem - 1U] + w->stem) % 64);
                ret->marks |= UINT64_C(1) << w->mark;
        }
}

/* Does b have the stem of word i of a? Mostly the mark is missing. */
static bool rule_has_stem(const RuleStems *a, size_t i, const RuleStems *b) {
        const RuleStem *p = &a->word[i];

        if (!(b->marks >> p->mark & 1))
                return false;
        for (size_t k = 0; k < b->n; k++)
                if (b->word[k].mark == p->mark && b->word[k].stem == p->stem &&
                    memcmp(a->norm + p->at, b->norm + b->word[k].at, p->stem) == 0)
                        return true;
        return false;
}

bool rule_stems_meet(const RuleStems *a, const RuleStems *b) {
        if (a->marks & b->marks)
                for (size_t i = 0; i < a->n; i++)
                        if (rule_has_stem(a, i, b))
                                return true;
        return false;
}

size_t rule_stems_shared(RuleStems *a, const RuleStems *b, size_t *ret_n) {
        size_t shared = 0;

        *ret_n = 0;
        for (size_t i = 0; i < a->n; i++) {
                RuleStem *w = &a->word[i];

                if (w->weak < 0)
                        w->weak = rule_weak(a->norm + w->at, w->n);
                if (!w->weak) {
                        ++*ret_n;
                        shared += rule_has_stem(a, i, b);
                }
        }
        return shared;
}

size_t rule_shared(const char *a, const char *b, size_t *ret_n) {
        RuleStems x, y;

        rule_stems(a, &x);
        rule_stems(b, &y);
        return rule_stems_shared(&x, &y, ret_n);
}

size_t rule_skip(const PhraseText *t, size_t at, size_t end) {
        static const char *const fillers[] = {
                "and",       "but",          "also",     "please",     "so",     "then",       "now",
                "ok",        "okay",         "yes",      "well",       "again",  "remember",   "note",
                "that",      "important",    "reminder", "rule",       "by",     "way",        "first",
                "however",   "additionally", "sure",     "thanks",     "or",     "thus",       "hence",
                "therefore", "just",         "ideally",  "preferably", "kindly", "absolutely", "furthermore",
                "moreover",  "besides",      "finally",  "last",       "second", "secondly",   "also"};

        for (; at < end; at++) {
                bool filler = !t->word[at].letter;

                if (phrase_match(t, at, end, "remember to"))
                        break;
                if (!filler && !phrase_any(t, at, at + 1, fillers, ARRAY_SIZE(fillers)))
                        break;
        }
        return at;
}

void rule_trim(const PhraseText *t, size_t *at, size_t *end) {
        static const char *const head[] = {"you", "we", "i", "to", "that", "should", "may", "can", "the",
                                           "agent", "it", "they", "anyone", "ever", "want", "is", "are", "there",
                                           "will", "shall", "be", "must", "also", "actually", "correction", "and", "but"};
        static const char *const tail[] = {"please", "ever", "though", "ok", "okay", "too", "either", "and",
                                           "but", "or", "again", "anymore", "right", "to", "be",
                                           "yet"};
        static const char *const tails[] = {"for now", "for the moment", "at all", "right now", "from now on",
                                            "as agreed", "at any time", "at any point", "no matter what",
                                            "under any circumstances", "in any case", "for the time being", "so far"};
        bool again = true;

        while (again && *at < *end) {
                again = !t->word[*at].letter && t->text[t->word[*at].at] != '$';
                again = again || phrase_any(t, *at, *at + 1, head, ARRAY_SIZE(head));
                *at += again;
        }
        for (size_t cut = 1; cut > 0 && *at < *end; *end -= cut) {
                cut = !t->word[*end - 1].letter && t->text[t->word[*end - 1].at] != '%';
                cut = cut || phrase_any(t, *end - 1, *end, tail, ARRAY_SIZE(tail));
                for (size_t k = 0; k < ARRAY_SIZE(tails) && cut == 0; k++)
                        for (size_t n = 2; n <= 4 && n < *end - *at && cut == 0; n++)
                                cut = phrase_match(t, *end - n, *end, tails[k]) == n ? n : 0;
        }
}

size_t rule_remark(const PhraseText *t, size_t at, size_t end) {
        for (size_t i = at + 3; i < end; i++) {
                /* "…, in English" goes on */
                bool list = i + 4 >= end && (rule_says(t, i + 1, end, "in") || rule_says(t, i + 1, end, "by") ||
                                             rule_says(t, i + 1, end, "with") || rule_says(t, i + 1, end, "on"));

                if (!rule_says(t, i, end, ",") && !rule_says(t, i, end, "--") && !rule_says(t, i, end, "("))
                        continue;
                for (size_t k = i; k < end && !list; k++)
                        list = rule_says(t, k, end, "or") || rule_says(t, k, end, "and");
                if (!list)
                        return i;
        }
        return end;
}
