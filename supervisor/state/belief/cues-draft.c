/* Runs: supervisor, CLI. Inside of the built-in interpreter: pieces of a note, and the request under construction. */
#include "belief/cues-draft.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

Piece piece_trim(Piece p) {
        while (p.n > 0 && strchr(" \t\r\n", p.s[0]) && p.s[0]) {
                p.s++;
                p.n--;
        }
        while (p.n > 0 && strchr(" \t\r\n", p.s[p.n - 1]) && p.s[p.n - 1])
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
                if (!strchr(" \t\r\n", p.s[i]) || p.s[i] == 0)
                        s[n++] = p.s[i];
                else if (s[n - 1] != ' ')
                        s[n++] = ' ';
        return json_stringn(s, n);
}

int draft_init(Draft *d, Kind kind, Op op, double confidence) {
        *d = (Draft){.value = json_object(), .payload = json_object(), .aliases = json_array()};
        if (!d->value || !d->payload || !d->aliases)
                return -ENOMEM;
        if (json_put(d->value, "decision", json_string_nocheck("accept")) < 0 ||
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

static void draft_add_alias(Draft *d, Piece text) {
        json_t *entry;
        size_t i;

        json_array_foreach(d->aliases, i, entry)
                if (piece_is(text, json_text(entry)))
                        return;
        if (json_array_append_new(d->aliases, piece_json(text)) < 0)
                d->failed = true;
}

void draft_alias(Draft *d, Piece text) {
        text = piece_trim(text);
        if (text.n > 0 && text.n <= CANON_ALIAS_BYTES && json_array_size(d->aliases) < CANON_ALIASES_MAX)
                draft_add_alias(d, text);
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
        while (n < line.n && (line.s[n] == '_' || (line.s[n] | 0x20) - 'a' < 26U))
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
                        draft_add_alias(d, one);
                list.s += n + (comma != NULL);
                list.n -= n + (comma != NULL);
        }
}
