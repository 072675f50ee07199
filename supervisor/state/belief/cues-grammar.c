#include "base/buf.h"
#include "belief/cues-draft.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef enum SlugRule {
        SLUG_NONE = 1,
        SLUG_MAY,
        SLUG_MUST,
        SLUG_IS_TASK, /* the slug is the task that a result belongs to, not the result's own */
} SlugRule;

/* The first words of a note, and the fields for its texts: `text` for the first line, `body` for the other lines. */
typedef struct Form {
        const char *word, *second; /* second: the second word ("invalidate constraint"), else NULL */
        Kind kind;
        Op op;
        SlugRule slug;
        const char *text, *body;
} Form;

static const Form forms[] = {
        {"plan", NULL, KIND_PLAN, OP_UPSERT, SLUG_NONE, "content", "content"},
        {"constraint", NULL, KIND_CONSTRAINT, OP_UPSERT, SLUG_MAY, "statement", "why"},
        {"issue", NULL, KIND_ISSUE, OP_UPSERT, SLUG_MAY, "title", "detail"},
        {"bug", NULL, KIND_ISSUE, OP_UPSERT, SLUG_NONE, "title", "detail"},
        {"blocker", NULL, KIND_ISSUE, OP_UPSERT, SLUG_NONE, "title", "detail"},
        {"resolve", NULL, KIND_ISSUE, OP_RESOLVE, SLUG_MAY, "resolution", "resolution"},
        {"resolved", NULL, KIND_ISSUE, OP_RESOLVE, SLUG_NONE, "resolution", "resolution"},
        {"fixed", NULL, KIND_ISSUE, OP_RESOLVE, SLUG_NONE, "resolution", "resolution"},
        {"decision", NULL, KIND_DECISION, OP_APPEND, SLUG_MAY, "decision", "why"},
        {"decided", NULL, KIND_DECISION, OP_APPEND, SLUG_NONE, "decision", "why"},
        {"invalidate", "constraint", KIND_CONSTRAINT, OP_INVALIDATE, SLUG_MAY, "why", "why"},
        {"invalidate", "decision", KIND_DECISION, OP_INVALIDATE, SLUG_MAY, "why", "why"},
        {"task", NULL, KIND_TASK_STATE, OP_UPSERT, SLUG_MUST, "status", "detail"},
        {"result", NULL, KIND_RESULT, OP_APPEND, SLUG_IS_TASK, "summary", "detail"},
        {"learning", NULL, KIND_LEARNING, OP_APPEND, SLUG_MAY, "statement", "why"},
        {"lesson", NULL, KIND_LEARNING, OP_APPEND, SLUG_NONE, "statement", "why"},
};

/* Named lines below the first line. */
static const struct {
        const char *word;
        Kind kind;
        Op op;
        const char *field;
} lines[] = {
        {"severity", KIND_ISSUE, OP_UPSERT, "severity"},
        {"detail", KIND_ISSUE, OP_UPSERT, "detail"},
        {"why", KIND_CONSTRAINT, OP_UPSERT, "why"},
        {"why", KIND_CONSTRAINT, OP_INVALIDATE, "why"},
        {"why", KIND_DECISION, OP_APPEND, "why"},
        {"why", KIND_DECISION, OP_INVALIDATE, "why"},
        {"superseded_by", KIND_DECISION, OP_INVALIDATE, "superseded_by"},
        {"outcome", KIND_RESULT, OP_APPEND, "outcome"},
        {"detail", KIND_RESULT, OP_APPEND, "detail"},
        {"detail", KIND_TASK_STATE, OP_UPSERT, "detail"},
        {"why", KIND_LEARNING, OP_APPEND, "why"},
};

static Piece grammar_take_word(Piece *rest) {
        Piece w = {rest->s, 0};

        while (w.n < rest->n && rest->s[w.n] != ' ' && rest->s[w.n] != '\t')
                w.n++;
        *rest = piece_trim((Piece){rest->s + w.n, rest->n - w.n});
        return w;
}

/* Splits at the first colon before a blank or the end of the line, so not inside of a word ("other:slug"). */
static bool grammar_split_at_colon(Piece line, Piece *ret_head, Piece *ret_text) {
        for (size_t i = 0; i < line.n; i++)
                if (line.s[i] == ':' && (i + 1 == line.n || line.s[i + 1] == ' ' || line.s[i + 1] == '\t')) {
                        *ret_head = piece_trim((Piece){line.s, i});
                        *ret_text = piece_trim((Piece){line.s + i + 1, line.n - i - 1});
                        return true;
                }
        *ret_head = line;
        *ret_text = PIECE_NULL;
        return false;
}

/* The first line: a form, at most one word as the slug, and a text. "issue with the parser: ..." is plain English. */
static const Form *grammar_head(Piece line, Piece *ret_slug, Piece *ret_text) {
        Piece rest, first, second = PIECE_NULL;
        bool colon = grammar_split_at_colon(piece_trim(line), &rest, ret_text);

        first = grammar_take_word(&rest);
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                const Form *f = &forms[i];
                Piece after = rest;

                if (!piece_is(first, f->word))
                        continue;
                if (f->second) {
                        second = grammar_take_word(&after);
                        if (!piece_is(second, f->second))
                                continue;
                }
                *ret_slug = grammar_take_word(&after);
                if (after.n > 0 || (ret_slug->n > 0 && f->slug == SLUG_NONE && f->kind != KIND_PLAN))
                        return NULL;
                /* Without a colon, a form must be complete without a text. */
                if (!colon && (ret_slug->n == 0 || !op_ends(f->op)))
                        return NULL;
                return f;
        }
        return NULL;
}

static int grammar_bad_slug(const Form *f, Piece slug, Diag *reterr) {
        if (f->kind == KIND_PLAN)
                return diag(reterr, BELIEF_E_TARGET, "\"%s\" cannot stand behind plan: there is one plan, main",
                            DIAG_QUOTED_N(slug.s, slug.n));
        return diag(reterr, BELIEF_E_TARGET, "\"%s\" is no id: it is %s, and of the note's own scope",
                    DIAG_QUOTED_N(slug.s, slug.n), record_id_rule(f->kind));
}

static int grammar_take_slug(const Form *f, Piece slug, Draft *d, Diag *reterr) {
        char id[RECORD_ID_MAX];

        if (slug.n == 0 && f->slug == SLUG_MUST)
                return diag(reterr, BELIEF_E_MISSING, "%s needs an id: \"%s ID: text\"", f->word, f->word);
        if (slug.n == 0)
                return 0;
        if (slug.n >= sizeof(id))
                return grammar_bad_slug(f, slug, reterr);
        snprintf(id, sizeof(id), "%.*s", (int)slug.n, slug.s);
        if (f->kind == KIND_PLAN ? strcmp(id, "main") != 0
                                 : !record_id_valid(f->slug == SLUG_IS_TASK ? KIND_TASK_STATE : f->kind, id))
                return grammar_bad_slug(f, slug, reterr);
        if (f->slug == SLUG_IS_TASK)
                draft_put(d, d->payload, "task", piece_json(slug));
        else
                draft_put(d, d->value, "target_id", piece_json(slug));
        return 0;
}

/* Adds a line to a text of several lines; empty lines at the beginning are left out. */
static int grammar_body_add(Buf *body, Piece line) {
        return (body->n > 0 ? buf_add(body, "\n", 1) : 0) ?: buf_add(body, line.s, line.n);
}

static int grammar_field_twice(const char *name, Diag *reterr) {
        return diag(reterr, BELIEF_E_DUPLICATE, "the note says %s twice", name);
}

static const char *grammar_field(const Form *f, Piece name) {
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
                if (lines[i].kind == f->kind && lines[i].op == f->op && piece_is(name, lines[i].word))
                        return lines[i].field;
        return NULL;
}

/* A line below the first line. */
static int grammar_take_line(const Form *f, Piece line, Draft *d, Buf *body, Diag *reterr) {
        Piece name, value, slug, text;
        const char *field;

        if (f->kind == KIND_PLAN) /* a plan has no fields, only text */
                return grammar_body_add(body, line);
        if (cues_alias_line(line, &value)) {
                cues_add_aliases(d, value);
                return 0;
        }
        if (cues_field_line(line, &name, &value)) {
                field = grammar_field(f, name);
                if (field && (json_object_get(d->payload, field) || (body->n > 0 && strcmp(field, f->body) == 0)))
                        return grammar_field_twice(field, reterr);
                if (field && strcmp(field, f->body) == 0)
                        return grammar_body_add(body, value);
                if (field) {
                        draft_put(d, d->payload, field, piece_json(value));
                        return 0;
                }
                if (piece_is(name, "ref")) {
                        if (json_object_get(d->value, "reference_text"))
                                return grammar_field_twice("ref", reterr);
                        draft_put(d, d->value, "reference_text", piece_json(value));
                        return 0;
                }
        }
        if (grammar_head(line, &slug, &text))
                return diag(reterr, BELIEF_E_SEVERAL,
                            "the note says two things, \"%s\" is not all: write one note for each", f->word);
        return grammar_body_add(body, line);
}

static bool grammar_ends_unnamed(const Form *f, const Draft *d) {
        return op_ends(f->op) && !json_object_get(d->value, "target_id") &&
               !json_object_get(d->value, "reference_text");
}

static void grammar_put_texts(const Form *f, Piece text, const Buf *body, Draft *d) {
        Piece trimmed = piece_trim((Piece){body->data, body->n});

        if (text.n > 0 && strcmp(f->text, f->body) != 0)
                draft_put(d, d->payload, f->text, piece_json(text));
        if (trimmed.n > 0)
                draft_put(d, d->payload, f->body, piece_json(trimmed));
        /* Without an id, the text names the row to end. */
        if (text.n > 0 && grammar_ends_unnamed(f, d))
                draft_put(d, d->value, "reference_text", piece_json(text));
}

int cues_grammar(Piece note, bool from_tool, BeliefRequest *ret, Diag *reterr) {
        _cleanup_buf_ Buf body = {0};
        _cleanup_draft_ Draft d = {0};
        Piece line, slug, text;
        const Form *f;
        int r;

        if (!piece_line(&note, &line))
                return CUES_NONE;
        f = grammar_head(line, &slug, &text);
        if (!f)
                return CUES_NONE;
        if (from_tool && f->kind != KIND_RESULT)
                return diag(reterr, BELIEF_E_NOT_FROM_TOOL,
                            "a tool's output cannot say \"%s\": only an agent's own note can", f->word);
        if (slug.n > 0 && !op_ends(f->op) && cues_is_end_label(f->kind, text))
                return CUES_NONE; /* plain English, which may end the row, and gives it no text */
        r = draft_init(&d, f->kind, f->op, 1) ?: grammar_take_slug(f, slug, &d, reterr);
        if (r == 0 && strcmp(f->text, f->body) == 0)
                r = grammar_body_add(&body, text);
        while (r == 0 && piece_line(&note, &line))
                r = grammar_take_line(f, line, &d, &body, reterr);
        if (r != 0)
                return r;
        grammar_put_texts(f, text, &body, &d);
        if (grammar_ends_unnamed(f, &d))
                return diag(reterr, BELIEF_E_MISSING, "%s has neither an id nor a text: name the row that is meant",
                            f->word);
        return draft_finish(&d, ret, reterr);
}
