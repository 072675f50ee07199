#include "belief/cues-draft.h"

#include <string.h>

enum { HINT_LEAST = 3 };

static int hints_add(json_t *list, Piece p) {
        json_t *entry;
        size_t i;

        p = piece_trim(p);
        if (p.n < HINT_LEAST || p.n > CANON_ALIAS_BYTES || memchr(p.s, '\n', p.n) || memchr(p.s, '\t', p.n) ||
            memchr(p.s, '\r', p.n) || json_array_size(list) == CANON_ALIASES_MAX)
                return 0;
        json_array_foreach(list, i, entry)
                if (piece_is(p, json_text(entry)))
                        return 0;
        return json_array_append_new(list, piece_json(p));
}

static bool hints_is_letter(char c) {
        return (c | 0x20) - 'a' < 26U;
}

static bool hints_is_name_byte(char c) {
        return hints_is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == ':' || c == '-' || c == '>' ||
               c == '(' || c == ')' || c == '.';
}

static bool hints_has(Piece p, const char *what) {
        return memmem(p.s, p.n, what, strlen(what)) != NULL;
}

/* A word that looks like a name in a program; punctuation at the end of the word is dropped. */
static Piece hints_name(Piece word) {
        while (word.n > 0 &&
               (strchr(".:-,", word.s[word.n - 1]) || (word.s[word.n - 1] == ')' && !hints_has(word, "("))) &&
               word.s[word.n - 1])
                word.n--;
        while (word.n > 0 && !hints_is_letter(*word.s) && *word.s != '_') {
                word.s++;
                word.n--;
        }
        if (word.n < HINT_LEAST ||
            !(memchr(word.s, '_', word.n) || hints_has(word, "()") || hints_has(word, "::") || hints_has(word, "->")))
                return PIECE_NULL;
        return word;
}

static int hints_add_names(json_t *list, Piece text) {
        while (text.n > 0) {
                Piece word = {text.s, 0}, name;

                while (word.n < text.n && hints_is_name_byte(word.s[word.n]))
                        word.n++;
                name = hints_name(word);
                if (name.n > 0 && hints_add(list, name) < 0)
                        return -1;
                text.s += word.n + (word.n < text.n);
                text.n -= word.n + (word.n < text.n);
        }
        return 0;
}

static int hints_add_quoted(json_t *list, Piece text, char quote) {
        for (;;) {
                const char *from = text.n > 0 ? memchr(text.s, quote, text.n) : NULL, *to;
                size_t left;

                if (!from)
                        return 0;
                left = text.n - (size_t)(from + 1 - text.s);
                to = left > 0 ? memchr(from + 1, quote, left) : NULL;
                if (!to)
                        return 0;
                if (hints_add(list, (Piece){from + 1, (size_t)(to - from - 1)}) < 0)
                        return -1;
                text = (Piece){to + 1, left - (size_t)(to - from)};
        }
}

json_t *cues_hints(const char *text, size_t n) {
        _cleanup_json_ json_t *list = json_array();
        Piece p = {text, n};

        if (!list || hints_add_quoted(list, p, '"') < 0 || hints_add_quoted(list, p, '`') < 0 ||
            hints_add_names(list, p) < 0)
                return NULL;
        return TAKE_PTR(list);
}
