#include "belief/cues-internal.h"

#include "refs/reserved-names.h"

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
        return (json_put(d->value, "decision", json_string_nocheck("accept")) | json_put(d->value, "bucket", json_string_nocheck(kind_name(kind))) |
                json_put(d->value, "operation", json_string_nocheck(op_name(op))) | json_put(d->value, "confidence", json_real(confidence)))
                       ? -ENOMEM
                       : 0;
}

void draft_deinit(Draft *d) {
        json_decref(d->value);
        json_decref(d->payload);
        json_decref(d->aliases);
        *d = (Draft){0};
}

void draft_set(Draft *d, const char *name, Piece text) {
        if (json_object_set_new(d->value, name, piece_json(text)) < 0)
                d->failed = true;
}

void draft_pay(Draft *d, const char *name, Piece text) {
        if (json_object_set_new(d->payload, name, piece_json(text)) < 0)
                d->failed = true;
}

static void add_alias(Draft *d, Piece text) {
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
                add_alias(d, text);
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

                if (one.n > 0 && json_array_size(d->aliases) <= CANON_ALIASES_MAX) /* one too many is enough to be refused for */
                        add_alias(d, one);
                list.s += n + (comma != NULL);
                list.n -= n + (comma != NULL);
        }
}

static bool is_any(Piece name, const char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (piece_is(name, words[i]))
                        return true;
        return false;
}

/* No line of a note can fill in what is the service's, or an interpreter's, to say. Names that are also words of plain English are only meant where the
 * note is written in the grammar. */
static int no_forged_lines(Piece note, bool in_grammar, Diag *reterr) {
        static const char *const requests[] = {"target_id", "candidate_aliases", "reference_text"};
        static const char *const plain[] = {"scope", "region", "agent", "run", "policy", "seq", "degraded"};
        Piece line, name, value;

        while (piece_line(&note, &line)) {
                char word[64];

                if (!cues_field_line(line, &name, &value) || name.n >= sizeof(word))
                        continue;
                for (size_t i = 0; i < name.n; i++)
                        word[i] = (char)(name.s[i] | (name.s[i] == '_' ? 0 : 0x20));
                word[name.n] = 0;
                if (is_any(name, requests, ARRAY_SIZE(requests)))
                        return diag(reterr, BELIEF_E_FORGED, "a note has no field %s: only an interpreter's request has", word);
                if (strchr(word, '_') ? reserved_name_is(word) : in_grammar && is_any(name, plain, ARRAY_SIZE(plain)))
                        return diag(reterr, BELIEF_E_SERVICE, "%s is filled in by the service: no note may hold it", word);
        }
        return 0;
}

static int no_cue(BeliefRequest *ret, Diag *reterr) {
        _cleanup_json_ json_t *o = json_pack("{s:s, s:s}", "decision", "reject", "rationale", CUE_NO_CUE);

        return o ? belief_request_read(o, ret, reterr) : -ENOMEM;
}

int cues_interpret(const char *text, size_t n, CueRole role, BeliefRequest *ret, Diag *reterr) {
        _cleanup_canon_request_ BeliefRequest made = {0};
        Piece note = {text, n};
        bool in_grammar;
        int r = belief_note_check(text, n, reterr);

        if (r != 0)
                return r;
        note = piece_trim(note);
        r = cues_grammar(note, role, &made, reterr);
        in_grammar = r == 0 && made.kind != KIND_PLAN; /* a plan's lines are its own */
        if (r == CUES_NONE && role == CUE_AGENT)
                r = cues_natural(note, &made, reterr);
        if (r == CUES_NONE)
                r = no_cue(&made, reterr);
        if (r == 0)
                r = no_forged_lines(note, in_grammar, reterr);
        if (r != 0)
                return r;
        *ret = made;
        made = (BeliefRequest){0};
        return 0;
}

static bool ends_clause(char c) {
        return c == '.' || c == '!' || c == '?' || c == ';';
}

void cues_first_clause(const char *text, size_t n, const char **ret, size_t *ret_n) {
        Piece rest = piece_trim((Piece){text, n}), line = PIECE_NULL;

        if (piece_line(&rest, &line))
                for (size_t i = 0; i < line.n; i++)
                        if (ends_clause(line.s[i]) && (i + 1 == line.n || line.s[i + 1] == ' '))
                                line.n = i;
        line = piece_trim(line);
        *ret = line.s;
        *ret_n = line.n;
}
