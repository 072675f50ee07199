/* Runs: supervisor, CLI. The parts of a clause that says an end (cues-end.h): classes of words, adverbials, objects,
 * and the noun phrase with the row's name. */
#include "belief/cues-end.h"

#include <string.h>

#define CLASS(name, ...) static const char *const words_##name[] = {__VA_ARGS__, NULL};
#include "belief/cues-end-words.def"
#undef CLASS

static const char *const *const classes[] = {
#define CLASS(name, ...) words_##name,
#include "belief/cues-end-words.def"
#undef CLASS
};

static uint64_t text_tags(const CueWord *w) {
        uint64_t tags = 0;

        for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
                if (word_is_one_of(w, classes[i]))
                        tags |= UINT64_C(1) << i;
        return tags;
}

void end_text_read(const Sentence *s, EndText *ret) {
        *ret = (EndText){.s = s};
        for (size_t i = 0; i < s->n; i++) {
                const CueWord *w = &s->words[i];

                ret->tags[i] = w->quoted ? 0 : text_tags(w);
                ret->id[i] = memchr(w->s, '_', w->n) != NULL;
        }
}

bool end_has(const EndText *t, size_t from, size_t to, uint64_t tags) {
        for (size_t i = from; i < to && i < t->s->n; i++)
                if (t->tags[i] & tags)
                        return true;
        return false;
}

bool end_word_is(const EndText *t, size_t i, const char *word) {
        return i < t->s->n && !t->s->words[i].quoted && word_is(&t->s->words[i], word);
}

size_t end_clause_to(const EndText *t, size_t i) {
        while (i < t->s->n && !end_clause_begins(t, i))
                i++;
        return i;
}

size_t end_skip(const EndText *t, size_t i, uint64_t tags) {
        const size_t from = i;

        while (end_is(t, i, tags) && (i == from || !end_clause_begins(t, i)))
                i++;
        return i;
}

static bool text_is_time(const EndText *t, size_t i) {
        const CueWord *w = &t->s->words[i];
        bool digit = false, letter = false;

        if (i >= t->s->n)
                return false;
        if (end_is(t, i, END_BIT(TIME)))
                return true;
        for (size_t k = 0; k < w->n; k++) { /* "v2.4", "2.1", "a3f9c21", "#1234", "17:00" */
                digit |= ascii_digit(w->s[k]);
                letter |= ascii_letter(w->s[k]) && !strchr("abcdefvrABCDEFVRthsnd", w->s[k]);
        }
        return digit && !letter && !t->id[i];
}

/* "in the last release", "since v2.4", "on Monday", "this morning", "two days ago": the word behind; else i. */
size_t end_time(const EndText *t, size_t i) {
        static const char *const before[] = {"in", "with", "since", "on", "from", "as", "after", "during", NULL},
                                 *const determiners[] = {"this", "last", "latest", "two", NULL};
        size_t k = i, n = 0, times = 0;

        if (k < t->s->n && !t->s->words[k].quoted && word_is_one_of(&t->s->words[k], before))
                k += 1 + (end_word_is(t, k, "as") && end_word_is(t, k + 1, "of"));
        while (end_is(t, k, END_BIT(ARTICLE)) && !end_clause_begins(t, k))
                k++;
        for (; k < t->s->n && text_is_time(t, k) && (n == 0 || !end_clause_begins(t, k)); k++, n++)
                times += !word_is_one_of(&t->s->words[k], determiners);
        k += times > 0 && end_word_is(t, k, "ago");
        return times > 0 ? k : i;
}

size_t end_phrase(const EndText *t, size_t i, const char *phrase) {
        const size_t from = i;

        for (; *phrase; i++) {
                size_t n = strcspn(phrase, " ");

                if (i >= t->s->n || (i > from && end_clause_begins(t, i)) || t->s->words[i].quoted ||
                    !word_is_part(&t->s->words[i], phrase, n))
                        return 0;
                phrase += n + (phrase[n] == ' ');
        }
        return i;
}

static size_t text_phrase(const EndText *t, size_t i) {
        static const char *const phrases[] = {
                "at last",
                "for good",
                "for ever",
                "for everybody",
                "for everyone",
                "once and for all",
                "once more",
                "as expected",
                "at random",
                "now and then",
                "at all",
                "in production",
                "on production",
                "any more",
                "any longer",
                "from now on",
                "without an error",
                "without errors",
                "without any errors",
                "without problems",
                "without any problems",
                "without issues",
                "without trouble",
                "by me",
                "by us",
                "by itself",
                "so far so good",
                "as of now",
                "in the end",
                NULL,
        };

        for (const char *const *p = phrases; *p; p++) {
                size_t to = end_phrase(t, i, *p);

                if (to > 0)
                        return to;
        }
        return i;
}

/* A reason, or a means, up to the end of the clause. */
static bool text_is_reason(const EndText *t, size_t i, size_t to) {
        if (!end_is(t, i, END_BIT(REASON)) || i + 1 >= to || end_is(t, i + 1, END_BIT(VAGUE)))
                return false;
        if (end_word_is(t, i, "now") && !end_word_is(t, i + 1, "that"))
                return false;
        if (end_word_is(t, i, "and") || end_word_is(t, i, "so"))
                return end_has(t, i + 1, to, END_BIT(SUCCESS) | END_BIT(PAST)) &&
                       !end_has(t, i + 1, to, END_BIT(BACK) | END_BIT(SOFT) | END_BIT(DENIES) | END_BIT(TROUBLE));
        if ((end_word_is(t, i, "as") || end_word_is(t, i, "with") || end_word_is(t, i, "from")) &&
            end_has(t, i, to, END_BIT(PARTIAL)))
                return false;
        return !end_has(t, i + 1, to, END_BIT(BACK) | END_BIT(DENIES) | END_BIT(DOUBT) | END_BIT(MODAL));
}

size_t end_tail(const EndText *t, size_t i) {
        const size_t to = end_clause_to(t, i);

        if (end_clause_begins(t, i))
                return i;
        while (i < to) {
                size_t next = text_phrase(t, i);

                if (next == i)
                        next = end_time(t, i);
                if (next == i && end_is(t, i, END_BIT(ADVERB) | END_BIT(MANNER) | END_BIT(OFTEN)) &&
                    !((end_word_is(t, i, "now") || end_word_is(t, i, "so")) && text_is_reason(t, i, to)))
                        next = i + 1;
                if (next == i && text_is_reason(t, i, to))
                        return to;
                if (next == i)
                        return i;
                i = next;
        }
        return i;
}

size_t end_object_to(const EndText *t, size_t i) {
        const size_t from = i;

        for (; i < t->s->n && (i == from || !end_clause_begins(t, i)); i++) {
                size_t k;

                if (i == from)
                        continue;
                k = text_phrase(t, i);
                k = k > i || (end_is(t, i, END_BIT(ARTICLE)) && !end_word_is(t, i, "this")) ? k : end_time(t, i);
                if (k > i || end_is(t, i, END_BIT(OFTEN)) || end_word_is(t, i, "again") || end_word_is(t, i, "now") ||
                    end_word_is(t, i, "finally") || end_word_is(t, i, "by") || end_word_is(t, i, "because") ||
                    end_word_is(t, i, "since") || end_word_is(t, i, "thanks") || end_word_is(t, i, "after") ||
                    end_word_is(t, i, "via") || end_word_is(t, i, "through") || end_word_is(t, i, "due") ||
                    end_word_is(t, i, "using") || end_word_is(t, i, "properly") ||
                    (end_is(t, i, END_BIT(JOIN)) && !end_word_is(t, i, "as")))
                        break;
        }
        return i;
}

/* The kind by the name: "no_network" is a rule, "use_redis" a decision. */
static Kind text_kind_of_id(const CueWord *w) {
        static const struct {
                const char *prefix;
                Kind kind;
        } prefixes[] = {
                {"no_", KIND_CONSTRAINT},   {"must_", KIND_CONSTRAINT}, {"never_", KIND_CONSTRAINT},
                {"only_", KIND_CONSTRAINT}, {"max_", KIND_CONSTRAINT},  {"min_", KIND_CONSTRAINT},
                {"use_", KIND_DECISION},    {"adopt_", KIND_DECISION},  {"prefer_", KIND_DECISION},
                {"choose_", KIND_DECISION},
        };

        for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
                if (w->n > strlen(prefixes[i].prefix) &&
                    memcmp(w->s, prefixes[i].prefix, strlen(prefixes[i].prefix)) == 0)
                        return prefixes[i].kind;
        return KIND_NONE;
}

static Kind text_kind(EndClass is, Kind noun, Kind name) {
        switch (is) {
        case END_TROUBLE: return noun == KIND_NONE && name == KIND_NONE ? KIND_ISSUE : KIND_NONE;
        case END_LIFT: return noun != KIND_NONE ? noun : name != KIND_NONE ? name : KIND_CONSTRAINT;
        case END_REVERSE: return noun != KIND_NONE ? noun : name != KIND_NONE ? name : KIND_DECISION;
        case END_NAMED: return noun != KIND_NONE ? noun : name;
        case END_TROUBLE_OR_NAMED: return noun != KIND_NONE ? noun : name != KIND_NONE ? name : KIND_ISSUE;
        }
        return KIND_NONE;
}

static bool text_is_filler(const EndText *t, size_t i, bool issue) {
        const CueWord *w = &t->s->words[i];

        if (t->id[i])
                return false;
        if (w->quoted)
                return w->n < 2;
        return end_is(t, i,
                      END_BIT(ARTICLE) | END_BIT(PREPOSITION) | END_BIT(BE) | END_BIT(HAVE) | END_BIT(DO) |
                              END_BIT(MODAL) | END_BIT(DENIES) | END_BIT(ADVERB) | END_BIT(OFTEN)) ||
               end_is(t, i, END_BIT(DESCRIBES)) || (issue && end_is(t, i, END_BIT(TROUBLE))) ||
               (!issue && end_is(t, i, END_BIT(RULE) | END_BIT(CHOICE))) || (w->n == 1 && !ascii_digit(*w->s));
}

/* Behind "the rule …", "the decision …": the beginning of the row's own text; `to`: no such text. */
static size_t text_own(const EndText *t, size_t from, size_t to) {
        for (size_t i = from + 1; i < to; i++)
                if (end_is(t, i - 1, END_BIT(TROUBLE) | END_BIT(RULE) | END_BIT(CHOICE)) && !t->id[i] &&
                    (end_word_is(t, i, "that") || end_word_is(t, i, "to") || end_word_is(t, i, "when")))
                        return i + 1;
        return to;
}

bool end_tells(const EndText *t, size_t i, Kind kind) {
        return !text_is_filler(t, i, kind == KIND_ISSUE);
}

static void text_add(const EndText *t, size_t from, size_t to, bool issue, EndClaim *c) {
        for (size_t i = from; i < to; i++)
                if (!text_is_filler(t, i, issue) && c->n < ARRAY_SIZE(c->words))
                        c->words[c->n++] = (uint8_t)i;
}

/* A noun phrase for less or more than a row, or no noun phrase. */
static bool text_is_doubtful(const EndText *t, size_t from, size_t own, EndClass is) {
        if (end_is(t, from, END_BIT(PREPOSITION) | END_BIT(PLACE) | END_BIT(JOIN)) &&
            !end_is(t, from, END_BIT(ARTICLE)))
                return true;
        for (size_t i = from; i < own; i++) {
                if (t->id[i])
                        continue;
                if (i > from && is != END_TROUBLE && (end_word_is(t, i, "all") || end_word_is(t, i, "every")))
                        continue;
                if (i > from && i + 1 < own && end_word_is(t, i, "now"))
                        return true;
                if (end_is(t, i,
                           END_BIT(PARTIAL) | END_BIT(DOUBT) | END_BIT(NOW_BE) | END_BIT(MODAL) | END_BIT(BACK)) &&
                    !end_is(t, i, END_BIT(PREPOSITION) | END_BIT(DESCRIBES)))
                        return true;
                if (end_is(t, i, END_BIT(JOIN)) && !end_is(t, i, END_BIT(PREPOSITION)))
                        return true;
                if (end_is(t, i, END_BIT(DENIES)) && is == END_TROUBLE)
                        return true;
                if (end_is(t, i, END_BIT(SELF)))
                        return true;
                if (i > from && end_is(t, i, END_BIT(PRONOUN)) &&
                    !end_is(t, i, END_BIT(ARTICLE) | END_BIT(PREPOSITION)))
                        return true;
        }
        return false;
}

bool end_take_noun(const EndText *t, size_t from, size_t to, EndClass is, EndClaim *c) {
        Kind noun = KIND_NONE, name = KIND_NONE;
        size_t own, others = 0;

        from = end_skip(t, from, END_BIT(ADVERB));
        while (from < to && to - from > 1 && end_is(t, to - 1, END_BIT(ADVERB) | END_BIT(HAVE)))
                to--;
        if (from >= to)
                return false;
        own = text_own(t, from, to);
        c->own = own;
        c->own_to = to;
        if (to == from + 1 && end_is(t, from, END_BIT(PRONOUN))) {
                c->anaphor = true;
                c->kind = text_kind(is, noun, name);
                return true;
        }
        if (text_is_doubtful(t, from, own, is))
                return false;
        for (size_t i = from; i < own; i++) {
                if (!t->id[i])
                        noun = noun != KIND_NONE               ? noun
                               : end_is(t, i, END_BIT(RULE))   ? KIND_CONSTRAINT
                               : end_is(t, i, END_BIT(CHOICE)) ? KIND_DECISION
                                                               : KIND_NONE;
                else {
                        if (c->id || end_skip(t, i + 1, END_BIT(TROUBLE) | END_BIT(RULE) | END_BIT(CHOICE)) < to)
                                return false;
                        c->id = i + 1;
                        name = text_kind_of_id(&t->s->words[i]);
                }
        }
        c->kind = text_kind(is, noun, name);
        if (c->kind == KIND_NONE)
                return false;
        if (end_has(t, own, to, END_BIT(PRONOUN)) && to - own <= 3) { /* "the rule that forbade it" */
                c->anaphor = true;
                return true;
        }
        text_add(t, from, to, c->kind == KIND_ISSUE, c);
        for (size_t i = 0; i < c->n; i++)
                others += !t->id[c->words[i]];
        if (c->id && others > 0) /* "the test for login_bug" */
                return false;
        c->anaphor = c->n == 0;
        return true;
}
