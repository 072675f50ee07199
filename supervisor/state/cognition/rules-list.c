/* Runs: supervisor, CLI. Lists below a heading: "Rules:", "# Never", "Your goals:". The heading decides
 * where the words of an item alone say too little. */
#include "cognition/rules-inside.h"

#define LIST_BACK 400  /* words before an item in which the heading is looked for */
#define LIST_HEADING 9 /* words of a heading */

static bool list_begins_line(const PhraseText *t, size_t i) {
        return i == 0 || t->word[i].gap == 2;
}

static size_t list_line_end(const PhraseText *t, size_t i) {
        for (i++; i < t->n && t->word[i].gap != 2; i++)
                ;
        return i;
}

/* Behind the bullet or the number at i, where a line begins; i: no item. */
static size_t list_item(const PhraseText *t, size_t i) {
        const PhraseWord *w = &t->word[i];
        const char *s = t->text + w->at;
        size_t sign = i + 1;

        if (i + 1 >= t->n || t->word[i + 1].gap == 2)
                return i;
        if ((!w->letter && (*s == '-' || *s == '*' || *s == '+') && t->word[i + 1].gap == 1) ||
            (w->n == 3 && memcmp(s, "\xe2\x80\xa2", 3) == 0))
                return i + 1;
        if (!w->letter && *s == '(' && t->word[i + 1].gap == 0)
                w++, sign++;
        if ((w->digit && w->n <= 2) || (w->letter && w->n == 1))
                if (sign + 1 < t->n && t->word[sign].gap == 0 && t->word[sign + 1].gap == 1 &&
                    (t->text[t->word[sign].at] == '.' || t->text[t->word[sign].at] == ')') &&
                    (w->digit || t->text[t->word[sign].at] == ')'))
                        return sign + 1;
        return i;
}

/* The kind of rule that a heading announces, or RULE_KINDS. */
static RuleKind list_heading(const PhraseText *t, size_t at, size_t end) {
        static const struct {
                RuleKind kind;
                const char *words[24];
        } kinds[] = {
                {RULE_MUST_NOT,
                 {"do not", "don't", "never", "must not", "not allowed", "forbidden", "prohibited", "no-gos", "don'ts",
                  "off limits", "prohibitions", "not permitted", "banned", "what not to do"}},
                {RULE_AVOID, {"avoid"}},
                {RULE_GOAL,
                 {"goal", "goals", "objective", "objectives", "mission", "tasks", "task", "priorities", "aims",
                  "targets", "purpose"}},
                {RULE_ALLOWED, {"allowed", "permitted", "you may", "you can", "permissions"}},
                {RULE_MUST, {"rules",        "rule",       "constraints",  "constraint",   "policy",    "policies",
                             "requirements", "guidelines", "limits",       "restrictions", "always",    "must",
                             "do",           "conditions", "instructions", "boundaries",   "standards", "principles",
                             "obligations",  "procedures", "do's",         "dos",          "required"}},
        };
        size_t n = 0;

        for (size_t i = at; i < end; i++) {
                n += t->word[i].letter;
                if (t->word[i].foreign)
                        return RULE_KINDS;
        }
        if (n == 0 || n > LIST_HEADING)
                return RULE_KINDS;
        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
                for (size_t w = 0; w < ARRAY_SIZE(kinds[k].words) && kinds[k].words[w]; w++)
                        for (size_t i = at; i < end; i++)
                                if (phrase_match(t, i, end, kinds[k].words[w]))
                                        return kinds[k].kind;
        return RULE_KINDS;
}

RuleKind rule_list(const PhraseText *t, size_t at, size_t *ret_from) {
        size_t first = at, lines = 0;

        *ret_from = at;
        if (!list_begins_line(t, at) || (*ret_from = list_item(t, at)) == at)
                return RULE_KINDS;
        while (first > 0 && at - first < LIST_BACK && lines < 40) { /* the line before the list */
                size_t line = first - 1;

                while (!list_begins_line(t, line))
                        line--;
                if (list_item(t, line) == line)
                        return list_heading(t, line, list_line_end(t, line));
                first = line;
                lines++;
        }
        return RULE_KINDS;
}

/* The item [from, end) as a rule of the kind. */
bool rule_listed(const PhraseText *t, RuleKind kind, size_t from, size_t end, Rule *ret) {
        static const char *const no[] = {"don't", "do not", "never", "no", "not"};
        size_t n;

        if (kind == RULE_GOAL) {
                ret->strong = true;
                if (from + 1 < end && t->word[from].letter && !(t->word[from].class & PW_ARTICLE))
                        return rule_called_verb(t, from, end, ret);
                return rule_called(t, from, end, ret);
        }
        if (kind == RULE_MUST_NOT && rule_find(t, from, MIN(end, from + 2), no, ARRAY_SIZE(no), NULL, &n) == from)
                from += n;
        rule_trim(t, &from, &end);
        ret->kind = kind;
        return rule_words(t, from, end, ret->body, sizeof(ret->body)) > 0;
}
