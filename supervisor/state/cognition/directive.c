/* Runs: supervisor, CLI. Phrases that address the agent, or state a rule (C-23, C-24): patterns over folded words, so
 * that case, marks, separators and invisible characters do not matter. A false alarm costs a reference to an artifact; a
 * miss costs nothing, because no artifact can change a goal or a constraint. */
#include "cognition/qualify.h"

#include "index/words.h"

#include <pthread.h>
#include <string.h>

/* Words with a blank between; `a|b`: either; `stem~`: any word that begins so; `*`: at most GAP words between. */
#define GAP 5
#define DROP "ignor~|disregard~|forget~|overrid~|overrul~|bypass~|circumvent~|abandon~|discard~|neglect~|supersed~|waiv~|lift~|suspend~|relax~|violat~|remov~|delet~|eras~|cancel~|revok~|disabl~|drop|skip|nullif~|void|evad~|unlearn"
#define RULES "instruction~|constraint~|rule|rules|polic~|guideline~|guidance|goal|goals|restriction~|safeguard~|guardrail~|limit|limits|limitation~|prompt|prompts|direction|directions|directive~|order|orders|objective~|requirement~|safety|prohibition~|approval~"
#define AGENT "agent|agents|assistant|assistants|ai|bot|model|llm|chatbot|gpt|claude|copilot"

static const char *const directives[] = {
        DROP " * " RULES,
        RULES " * no longer",
        RULES " * is|are|was|were|been|be * " DROP "|obsolete|outdated|cleared|over|invalid|expired",
        RULES " * does|do not|n't|longer apply|hold",
        RULES " does|do not apply|hold",
        RULES " doesn't|don't apply|hold",
        DROP " * previous|prior|earlier|above|preceding|everything|anything * said|told|wrote|text|message|messages|context|conversation|above|before",
        DROP " everything|anything|all",
        DROP " what|whatever * told|said|asked",
        DROP " your|the training|memory|role|persona|conversation|history",
        "stop|quit|cease following|obeying|applying|enforcing|respecting",
        "do not|n't|never follow|obey|apply|enforce|respect|honor|honour|heed|mention * " RULES,
        "don't follow|obey|apply|enforce|respect|honor|honour|heed * " RULES,
        "new|updated|revised|real|true|actual|secret|hidden|replacement polic~|instruction~|rules|directive~|goal|objective|mission|orders|prompt|guideline~|constraint~",
        "your new|real|true|actual|only|primary|main * goal|task|job|objective|instruction~|mission|purpose|role",
        "your|the goal|goals|objective|task|mission|instructions|constraints|constraint|policy|rules is|are now",
        "change|replace|update|modify|alter|rewrite|edit|set|reset|adjust|amend * your|the|its|user's|current|session|agent's * " RULES,
        "add|insert|append|adopt|install|accept|record|register|include|introduce|enforce * constraint~|rule|rules|goal|goals|polic~|instruction~|directive~",
        "you are now|hereby|henceforth|free|allowed|permitted|authorized|authorised|required|instructed|cleared|no|not|released",
        "you're now|hereby|henceforth|free|allowed|permitted|authorized|authorised|required|instructed|cleared",
        "you may|can|must|should|shall|will now|henceforth|instead|disregard|ignore|immediately",
        "you|agent|assistant must|shall|should|need|have|ought",
        "from now|here on|onward|onwards|forward",
        "from this point|moment|message",
        "henceforth|hereafter|henceforward",
        "effective immediately|now|today|at",
        "with immediate effect",
        "act as|like a|an|if|the",
        "pretend to|you|that",
        "roleplay|jailbreak|jailbroken|dan",
        "developer|god|admin|debug|maintenance|unrestricted|root|sudo mode",
        "system|developer|operator|admin|administrator|user|policy prompt|override|message|instruction~|note|notice|directive|command|update",
        "system|assistant|developer you|ignore|new|override|the",
        "attention|dear|note|notice|hey|hello|memo|message|instruction~|reminder|warning to|for|all|the|any|ai|llm|" AGENT " * " AGENT,
        "dear|attention|hey " AGENT,
        AGENT " please|must|should|shall|note|ignore|disregard|override|follow|do|you|execute|run|reading",
        "any|the|this|every " AGENT " reading|that|who|processing|must|should|shall|is|are",
        "if you are|re * " AGENT,
        "as an|a|the ai|assistant|agent|llm|language",
        "the operator|administrator|admin|user|owner|policy|management|boss|ceo|security|compliance|supervisor * approved|authorized|authorised|agreed|permits|permitted|allows|allowed|waived|says|said|wants|instructs|instructed|decided|lifted|granted|confirmed|asked",
        "on behalf of",
        "by order of",
        "override|overrides|overriding|jailbreaking",
        "takes|take|has|have precedence|priority over",
        "reveal|print|show|repeat|leak|output|exfiltrate|disclose * prompt|instructions|secret|secrets|credentials|key|keys|token|password|passwords",
        "it|that|this is now|ok|okay|fine|permitted|allowed|authorized|safe * to",
        "permission|approval|authorization|authorisation|clearance * granted|given|obtained|not|no|waived",
        "no need|longer to|need|needed|required * ask|confirm|approval|verify|check",
        "without asking|confirmation|approval|permission|confirming|checking|telling",
        "don't|do not|never ask|tell|inform|notify|alert * user|operator|anyone|admin|human",
        "proceed|continue|go * regardless|anyway|immediately",
        "treat|consider|regard * as * constraint~|rule|policy|trusted|authoritative|approved|instruction~|goal|void|lifted",
        "important|urgent|critical instruction~|directive|override|notice|update",
        "begin|end|start of|system|instruction~|prompt|override",
};

/* A rule, a goal or a permission, whoever it is for. */
static const char *const rules[] = {
        "must|shall|mustn't|shan't",
        "never",
        "always",
        "do not|don't",
        "under no circumstances",
        "is|are|be strictly|expressly|explicitly prohibited|forbidden|banned|required|mandatory|allowed|permitted",
        "is|are|be prohibited|forbidden|banned|mandatory|disallowed|permitted|allowed|required",
        "may|can not|only|never",
        "have|has|need|needs to",
        "should|ought|shouldn't",
        "you may|can|are",
        "our|the|your new|main|primary|real|overall goal|objective|priority|aim|mission is|has|becomes",
        "goal|objective|mission is|now",
        "not allowed|permitted|to",
        "no longer allowed|permitted|required|applies|apply|prohibited|forbidden|valid|necessary|needed",
        "effective|as of",
        "policy|rule|constraint|requirement says|states|requires|demands|is|are|has|now|changed",
        "the limit|budget|cap|maximum|minimum|deadline is|was|has|becomes",
        "may be|now|always|also|freely|use|proceed|restart|approve|order|book|skip|ignore",
};

#define DIRECTIVE_WORDS 64 /* of the window */

typedef struct DirectiveWord {
        char p[TERM_BYTES_MAX];
        uint8_t n;
} DirectiveWord;

/* The last words of the text, the newest at the end. */
typedef struct DirectiveWindow {
        DirectiveWord word[DIRECTIVE_WORDS];
        size_t n;
} DirectiveWindow;

static bool directive_fits(const char *element, size_t n, const DirectiveWord *w) {
        for (size_t at = 0, end; at <= n; at = end + 1) {
                const char *bar = at < n ? memchr(element + at, '|', n - at) : NULL;
                size_t len;
                bool stem;

                end = bar ? (size_t)(bar - element) : n;
                len = end - at;
                stem = len > 0 && element[end - 1] == '~';
                len -= stem;
                if ((stem ? w->n >= len : w->n == len) && memcmp(element + at, w->p, len) == 0)
                        return true;
        }
        return false;
}

/* Does the pattern begin at the word? */
static bool directive_at(const char *pattern, const DirectiveWindow *w, size_t at) {
        while (*pattern) {
                size_t n = strcspn(pattern, " ");

                if (n == 1 && *pattern == '*') {
                        const char *rest = pattern + n + (pattern[n] == ' ');

                        for (size_t gap = 0; gap <= GAP && at + gap < w->n; gap++)
                                if (directive_at(rest, w, at + gap))
                                        return true;
                        return false;
                }
                if (at == w->n || !directive_fits(pattern, n, &w->word[at]))
                        return false;
                at++;
                pattern += n + (pattern[n] == ' ');
        }
        return true;
}

/* 1gn0re: digits in place of letters, in a word that has letters. */
static void directive_plain(DirectiveWord *w) {
        static const char digits[] = "013457", letters[] = "oieast";
        bool letter = false;

        for (size_t i = 0; i < w->n; i++)
                letter |= w->p[i] >= 'a' && w->p[i] <= 'z';
        for (size_t i = 0; letter && i < w->n; i++) {
                const char *d = w->p[i] ? strchr(digits, w->p[i]) : NULL;

                if (d)
                        w->p[i] = letters[d - digits];
        }
}

/* Fills the window with the words from *at on. A run of single letters ("i g n o r e") is a word. */
static void directive_fill(DirectiveWindow *w, const char *text, size_t n, size_t *at) {
        bool letters = false;
        Word word;

        while (w->n < DIRECTIVE_WORDS && word_next(text, n, at, &word)) {
                DirectiveWord *last = w->n > 0 ? &w->word[w->n - 1] : NULL, *one = &w->word[w->n];
                size_t o = 0;

                if (word.n == 1 && letters && last && last->n < TERM_BYTES_MAX) {
                        last->p[last->n++] = word.p[0];
                        continue;
                }
                letters = word.n == 1 && word.p[0] != 'a' && word.p[0] != 'i';
                letters |= word.n == 1 && *at + 1 < n && text[*at] == ' ' && (*at + 2 >= n || text[*at + 2] == ' ');
                for (size_t i = 0; i <= word.n; i++) { /* system_override: two words */
                        if (i < word.n && word.p[i] != '_') {
                                one->p[o++] = word.p[i];
                                continue;
                        }
                        if (o > 0 && w->n < DIRECTIVE_WORDS) {
                                one->n = (uint8_t)o;
                                directive_plain(one);
                                w->n++;
                                one = &w->word[MIN(w->n, (size_t)DIRECTIVE_WORDS - 1)];
                        }
                        o = 0;
                }
        }
}

#define LETTERS 27 /* a to z; any other byte, or none */

/* By the first two letters of a word: the bits of the patterns that may begin with the word. */
static struct DirectiveList {
        const char *const *pattern;
        size_t n;
        uint64_t begin[LETTERS][LETTERS];
} directive_lists[] = {{directives, ARRAY_SIZE(directives), {{0}}}, {rules, ARRAY_SIZE(rules), {{0}}}};
static_assert(ARRAY_SIZE(directives) <= 64 && ARRAY_SIZE(rules) <= 64, "a bit for each pattern");

static size_t directive_letter(const char *word, size_t n, size_t i) {
        return i < n && word[i] >= 'a' && word[i] <= 'z' ? (size_t)(word[i] - 'a') : LETTERS - 1;
}

static void directive_note(struct DirectiveList *list, size_t p) {
        const char *word = list->pattern[p];

        for (size_t n; *word && *word != ' '; word += n + (word[n] == '|')) {
                bool stem;

                n = strcspn(word, "| ");
                stem = n == 2 && word[1] == '~';
                for (size_t second = 0; second < LETTERS; second++)
                        if (stem || second == directive_letter(word, n, 1))
                                list->begin[directive_letter(word, n, 0)][second] |= UINT64_C(1) << p;
        }
}

static void directive_note_all(void) {
        for (size_t l = 0; l < ARRAY_SIZE(directive_lists); l++)
                for (size_t p = 0; p < directive_lists[l].n; p++)
                        directive_note(&directive_lists[l], p);
}

static bool directive_begins(const struct DirectiveList *list, const DirectiveWindow *w, size_t at) {
        const DirectiveWord *word = &w->word[at];
        uint64_t left = list->begin[directive_letter(word->p, word->n, 0)][directive_letter(word->p, word->n, 1)];

        for (; left; left &= left - 1)
                if (directive_at(list->pattern[__builtin_ctzll(left)], w, at))
                        return true;
        return false;
}

static bool directive_search(const struct DirectiveList *list, const char *text, size_t n) {
        enum { STEP = DIRECTIVE_WORDS / 2 };
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        DirectiveWindow w;
        size_t at = 0;

        pthread_once(&once, directive_note_all);
        w.n = 0;
        directive_fill(&w, text, n, &at);
        while (w.n > 0) {
                size_t begins = at < n ? MIN(w.n, (size_t)STEP) : w.n;

                for (size_t i = 0; i < begins; i++)
                        if (directive_begins(list, &w, i))
                                return true;
                memmove(w.word, w.word + begins, (w.n - begins) * sizeof(*w.word));
                w.n -= begins;
                directive_fill(&w, text, n, &at);
        }
        return false;
}

/* The bytes of an invisible character inside of words: soft hyphen, U+200B..200F, U+2060..2064, U+FEFF. */
static size_t directive_invisible(const char *text, size_t n) {
        const unsigned char *p = (const unsigned char *)text;

        if (n >= 2 && p[0] == 0xC2 && p[1] == 0xAD)
                return 2;
        return n >= 3 && ((p[0] == 0xE2 && ((p[1] == 0x80 && p[2] >= 0x8B && p[2] <= 0x8F) ||
                                            (p[1] == 0x81 && p[2] >= 0xA0 && p[2] <= 0xA4))) ||
                          (p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF))
                       ? 3
                       : 0;
}

/* Searches the text without invisible characters. Without memory the answer is the safe one. */
static bool directive_search_visible(const struct DirectiveList *list, const char *text, size_t n) {
        _cleanup_free_ char *visible = NULL;
        size_t o = 0, skip;

        if (!memchr(text, 0xC2, n) && !memchr(text, 0xE2, n) && !memchr(text, 0xEF, n))
                return directive_search(list, text, n);
        visible = malloc(n + 1);
        if (!visible)
                return true;
        for (size_t i = 0; i < n; i += skip ? skip : 1) {
                skip = directive_invisible(text + i, n - i);
                if (!skip)
                        visible[o++] = text[i];
        }
        return directive_search(list, visible, o);
}

bool qualify_has_directive(const char *text, size_t n) {
        return directive_search_visible(&directive_lists[0], text, n);
}

bool qualify_has_rule(const char *text, size_t n) {
        return directive_search_visible(&directive_lists[1], text, n);
}
