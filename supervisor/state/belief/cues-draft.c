/* Runs: supervisor, CLI. Inside of the built-in interpreter: pieces of a note, and the request under construction. */
#include "belief/cues-draft.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

Piece piece_trim(Piece p) {
        while (p.n > 0 && ascii_blank(p.s[0])) {
                p.s++;
                p.n--;
        }
        while (p.n > 0 && ascii_blank(p.s[p.n - 1]))
                p.n--;
        return p;
}

bool piece_is(Piece p, const char *word) {
        return strlen(word) == p.n && strncasecmp(p.s, word, p.n) == 0;
}

bool piece_line(Piece *rest, Piece *ret) {
        const char *end;

        if (rest->n == 0)
                return false;
        end = memchr(rest->s, '\n', rest->n);
        *ret = (Piece){rest->s, end ? (size_t)(end - rest->s) : rest->n};
        rest->s += ret->n + (end != NULL);
        rest->n -= ret->n + (end != NULL);
        return true;
}

json_t *piece_json(Piece p) {
        return json_stringn(p.s ?: "", p.n);
}

json_t *piece_json_line(Piece p) {
        _cleanup_free_ char *s = malloc(p.n + 1);
        size_t n = 0;

        if (!s)
                return NULL;
        p = piece_trim(p);
        for (size_t i = 0; i < p.n; i++)
                if (!ascii_blank(p.s[i]))
                        s[n++] = p.s[i];
                else if (s[n - 1] != ' ')
                        s[n++] = ' ';
        return json_stringn(s, n);
}

/* Adds the text to a list, once in either case. */
static int piece_add(json_t *list, Piece p) {
        json_t *entry;
        size_t i;

        json_array_foreach(list, i, entry)
                if (piece_is(p, json_text(entry)))
                        return 0;
        return json_array_append_new(list, piece_json(p));
}

int draft_init(Draft *d, Kind kind, Op op, double confidence) {
        *d = (Draft){.value = json_object(), .payload = json_object(), .aliases = json_array()};
        if (!d->value || !d->payload || !d->aliases ||
            json_put(d->value, "decision", json_string_nocheck("accept")) < 0 ||
            json_put(d->value, "bucket", json_string_nocheck(kind_name(kind))) < 0 ||
            json_put(d->value, "operation", json_string_nocheck(op_name(op))) < 0 ||
            json_put(d->value, "confidence", json_real(confidence)) < 0)
                return -ENOMEM;
        return 0;
}

void draft_deinit(Draft *d) {
        json_decref(d->value);
        json_decref(d->payload);
        json_decref(d->aliases);
        *d = (Draft){0};
}

void draft_put(Draft *d, json_t *object, const char *name, json_t *value) {
        if (json_object_set_new(object, name, value) < 0)
                d->failed = true;
}

void draft_alias(Draft *d, Piece text) {
        text = piece_trim(text);
        if (text.n > 0 && text.n <= CANON_ALIAS_BYTES && json_array_size(d->aliases) < CANON_ALIASES_MAX)
                d->failed |= piece_add(d->aliases, text) < 0;
}

int draft_finish(Draft *d, BeliefRequest *ret, Diag *reterr) {
        if (d->failed || json_object_set(d->value, "payload", d->payload) < 0 ||
            (json_array_size(d->aliases) > 0 && json_object_set(d->value, "candidate_aliases", d->aliases) < 0))
                return -ENOMEM;
        return belief_request_read(d->value, ret, reterr);
}

bool cues_field_line(Piece line, Piece *ret_name, Piece *ret_rest) {
        size_t n = 0;

        line = piece_trim(line);
        while (n < line.n && (line.s[n] == '_' || ascii_letter(line.s[n])))
                n++;
        if (n == 0 || n == line.n || line.s[n] != ':' || (n + 1 < line.n && line.s[n + 1] != ' '))
                return false;
        *ret_name = (Piece){line.s, n};
        *ret_rest = piece_trim((Piece){line.s + n + 1, line.n - n - 1});
        return true;
}

bool cues_alias_line(Piece line, Piece *ret) {
        Piece name, rest;

        if (!cues_field_line(line, &name, &rest) || !(piece_is(name, "alias") || piece_is(name, "aliases")))
                return false;
        *ret = rest;
        return true;
}

void cues_add_aliases(Draft *d, Piece list) {
        while (list.n > 0) {
                const char *comma = memchr(list.s, ',', list.n);
                size_t n = comma ? (size_t)(comma - list.s) : list.n;
                Piece one = piece_trim((Piece){list.s, n});

                /* one alias above the limit is enough for a refusal */
                if (one.n > 0 && json_array_size(d->aliases) <= CANON_ALIASES_MAX)
                        d->failed |= piece_add(d->aliases, one) < 0;
                list.s += n + (comma != NULL);
                list.n -= n + (comma != NULL);
        }
}

enum { HINT_LEAST = 3 };

static int hints_add(json_t *list, Piece p) {
        p = piece_trim(p);
        if (p.n < HINT_LEAST || p.n > CANON_ALIAS_BYTES || memchr(p.s, '\n', p.n) || memchr(p.s, '\t', p.n) ||
            memchr(p.s, '\r', p.n) || json_array_size(list) == CANON_ALIASES_MAX)
                return 0;
        return piece_add(list, p);
}

static bool hints_is_name_byte(char c) {
        return ascii_letter(c) || ascii_digit(c) || (c && strchr("_:->().", c));
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
        while (word.n > 0 && !ascii_letter(*word.s) && *word.s != '_') {
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
