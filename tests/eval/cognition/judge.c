#include "tests/eval/cognition/judge.h"

#include "base/ascii.h"

#include <errno.h>

/* A value: surface forms with one meaning. */
typedef struct JudgeForms {
        Form *v;
        size_t n;
} JudgeForms;

/* A slot of the canonical memory. */
typedef struct JudgeSlot {
        char *name; /* "Service.slot" */
        bool active, rule;
        bool changed; /* by the turn heard last */
        JudgeForms present, stale;
} JudgeSlot;

/* A value of a kind, as some turn mentioned it: what an agent may claim. */
typedef struct JudgeValue {
        size_t slot;   /* of the memory; SIZE_MAX: the kind is not in play yet */
        char *kind;    /* "Service.slot" */
        size_t same;   /* the first value with a form in common */
        JudgeForms forms;
} JudgeValue;

struct Judge {
        Vocabulary vocabulary;
        JudgeSlot *slots;
        size_t n_slots;
        JudgeValue *values;
        size_t n_values;
        Words query;
};

static void judge_forms_deinit(JudgeForms *f) {
        for (size_t i = 0; i < f->n; i++)
                form_deinit(&f->v[i]);
        free(f->v);
        *f = (JudgeForms){0};
}

int judge_new(Judge **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

void judge_free(Judge *j) {
        if (!j)
                return;
        for (size_t i = 0; i < j->n_slots; i++) {
                free(j->slots[i].name);
                judge_forms_deinit(&j->slots[i].present);
                judge_forms_deinit(&j->slots[i].stale);
        }
        for (size_t i = 0; i < j->n_values; i++) {
                free(j->values[i].kind);
                judge_forms_deinit(&j->values[i].forms);
        }
        free(j->slots);
        free(j->values);
        words_deinit(&j->query);
        vocabulary_deinit(&j->vocabulary);
        free(j);
}

static bool judge_forms_have(const JudgeForms *all, const Form *f) {
        for (size_t i = 0; i < all->n; i++)
                if (form_equal(&all->v[i], f))
                        return true;
        return false;
}

static bool judge_forms_meet(const JudgeForms *a, const JudgeForms *b) {
        for (size_t i = 0; i < b->n; i++)
                if (judge_forms_have(a, &b->v[i]))
                        return true;
        return false;
}

/* Adds a text as a form, unless it is there; a text without words is skipped. */
static int judge_forms_add(Judge *j, JudgeForms *all, const char *text) {
        Form f;
        int r = form_read(&j->vocabulary, text, &f);

        if (r < 0)
                return r == -EINVAL ? 0 : r;
        if (judge_forms_have(all, &f)) {
                form_deinit(&f);
                return 0;
        }
        if (!GROW(all->v, all->n)) {
                form_deinit(&f);
                return -ENOMEM;
        }
        all->v[all->n++] = f;
        return 0;
}

static int judge_forms_read(Judge *j, const json_t *list, size_t from, JudgeForms *ret) {
        int r = 0;

        for (size_t i = from; r == 0 && i < json_array_size(list); i++)
                r = judge_forms_add(j, ret, json_string_value(json_array_get(list, i)));
        return r;
}

/* Moves all forms of a value to the end of another list. */
static int judge_forms_move(JudgeForms *from, JudgeForms *to) {
        while (from->n > 0) {
                if (!GROW(to->v, to->n))
                        return -ENOMEM;
                to->v[to->n++] = from->v[--from->n];
                from->v[from->n] = (Form){0};
        }
        judge_forms_deinit(from);
        return 0;
}

static size_t judge_slot_index(const Judge *j, const char *name) {
        size_t i = 0;

        while (i < j->n_slots && strcmp(j->slots[i].name, name) != 0)
                i++;
        return i;
}

/* Makes a value known, or more forms of a known one. */
static int judge_know(Judge *j, const char *kind, const json_t *list, size_t from) {
        JudgeForms forms = {0};
        size_t i = 0;
        int r = judge_forms_read(j, list, from, &forms);

        while (r == 0 && i < j->n_values &&
               (strcmp(j->values[i].kind, kind) != 0 || !judge_forms_meet(&j->values[i].forms, &forms)))
                i++;
        if (r == 0 && forms.n > 0 && i == j->n_values) {
                JudgeValue value = {.slot = SIZE_MAX, .kind = strdup(kind), .same = i};

                if (!value.kind || !GROW(j->values, j->n_values)) {
                        free(value.kind);
                        r = -ENOMEM;
                } else {
                        for (size_t k = 0; k < i && value.same == i; k++)
                                if (judge_forms_meet(&j->values[k].forms, &forms))
                                        value.same = j->values[k].same;
                        value.forms = forms;
                        forms = (JudgeForms){0};
                        j->values[j->n_values++] = value;
                }
        } else
                for (size_t k = from; r == 0 && i < j->n_values && k < json_array_size(list); k++)
                        r = judge_forms_add(j, &j->values[i].forms, json_string_value(json_array_get(list, k)));
        judge_forms_deinit(&forms);
        return r;
}

/* A new value set; with an empty intersection with the old one the old forms are stale. */
static int judge_set(Judge *j, const char *name, const char *slot, const json_t *list) {
        size_t i = judge_slot_index(j, name);
        JudgeForms forms = {0};
        JudgeSlot *s;
        int r = judge_forms_read(j, list, 0, &forms);

        if (r == 0 && i == j->n_slots) {
                JudgeSlot made = {.name = strdup(name), .rule = strncmp(slot, "rule", 4) == 0};

                if (!made.name || !GROW(j->slots, j->n_slots)) {
                        free(made.name);
                        r = -ENOMEM;
                } else
                        j->slots[j->n_slots++] = made;
        }
        if (r < 0) {
                judge_forms_deinit(&forms);
                return r;
        }
        s = &j->slots[i];
        s->changed = !s->active || !judge_forms_meet(&s->present, &forms);
        if (s->active && s->changed)
                r = judge_forms_move(&s->present, &s->stale);
        s->active = true;
        judge_forms_deinit(&s->present);
        s->present = forms;
        return r;
}

static int judge_lift(Judge *j, const char *service, const json_t *lifted) {
        json_t *slot;
        size_t k;
        int r = 0;

        json_array_foreach(lifted, k, slot) {
                _cleanup_free_ char *name = NULL;
                size_t i;

                if (asprintf(&name, "%s.%s", service, json_string_value(slot)) < 0)
                        return -ENOMEM;
                i = judge_slot_index(j, name);
                if (i == j->n_slots || !j->slots[i].active)
                        continue;
                j->slots[i].active = false;
                r = judge_forms_move(&j->slots[i].present, &j->slots[i].stale);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int judge_hear_state(Judge *j, const json_t *state) {
        const char *service, *slot;
        json_t *frame, *list;
        int r = 0;

        json_object_foreach((json_t *)state, service, frame) {
                json_object_foreach(json_object_get(frame, "slots"), slot, list) {
                        _cleanup_free_ char *name = NULL;

                        if (asprintf(&name, "%s.%s", service, slot) < 0)
                                return -ENOMEM;
                        r = judge_set(j, name, slot, list);
                        if (r == 0)
                                r = judge_know(j, name, list, 0);
                        if (r < 0)
                                return r;
                }
                r = judge_lift(j, service, json_object_get(frame, "lifted"));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Values of acts "ACT Service.slot". */
static int judge_hear_acts(Judge *j, const json_t *acts) {
        json_t *act;
        size_t i;
        int r = 0;

        json_array_foreach(acts, i, act) {
                const char *kind = strrchr(json_string_value(json_array_get(act, 0)), ' ');

                if (r == 0 && kind)
                        r = judge_know(j, kind + 1, act, 1);
        }
        return r;
}

int judge_hear(Judge *j, const DialogueTurn *turn) {
        int r = judge_hear_acts(j, turn->acts);

        if (r < 0 || !turn->user)
                return r;
        for (size_t i = 0; i < j->n_slots; i++)
                j->slots[i].changed = false;
        words_deinit(&j->query);
        r = words_read(&j->vocabulary, turn->text, &j->query);
        if (r == 0)
                r = judge_hear_state(j, turn->state);
        for (size_t i = 0; i < j->n_values; i++) {
                size_t slot = judge_slot_index(j, j->values[i].kind);

                j->values[i].slot = slot < j->n_slots ? slot : SIZE_MAX;
        }
        return r;
}

static bool judge_any_found(const JudgeForms *all, const Words *text) {
        for (size_t i = 0; i < all->n; i++)
                if (form_found(&all->v[i], text, false))
                        return true;
        return false;
}

/* A stale form counts unless the present form of an active slot contains it: the words are right there. */
static bool judge_is_right(const Judge *j, const Form *f) {
        for (size_t i = 0; i < j->n_slots; i++)
                for (size_t k = 0; j->slots[i].active && k < j->slots[i].present.n; k++)
                        if (form_inside(f, &j->slots[i].present.v[k]))
                                return true;
        return false;
}

/* The stale form that stands in the text, or NULL. */
static const Form *judge_stale_found(const Judge *j, const JudgeSlot *s, const Words *text) {
        for (size_t i = 0; i < s->stale.n; i++)
                if (form_found(&s->stale.v[i], text, false) && !judge_is_right(j, &s->stale.v[i]))
                        return &s->stale.v[i];
        return NULL;
}

static void judge_drift(const Judge *j, const Words *text, Score *s) {
        for (size_t i = 0; i < j->n_slots; i++) {
                const JudgeSlot *slot = &j->slots[i];
                bool there = slot->active && judge_any_found(&slot->present, text),
                     stale = judge_stale_found(j, slot, text) != NULL;

                s->active += slot->active;
                s->omitted += slot->active && !there;
                s->violated += stale;
                s->torn += there && stale;
                s->asked += slot->active && slot->changed;
                s->answered += slot->changed && there;
                if ((slot->active && slot->rule) || slot->stale.n > 0) {
                        s->orders++;
                        s->followed += (there || !slot->active) && !stale;
                }
        }
}

/* Of a claim: the words that hold it. */
enum { CLAIM_SEEN = 1, CLAIM_ASSERTED = 2, CLAIM_SUPPORTED = 4 };

/* Marks values whose forms stand in the text. Of forms that overlap the longest counts, from left to right. */
static void judge_mark(const Judge *j, const Words *text, uint8_t *marks) {
        for (size_t at = 0, n; at < text->n; at += n) {
                size_t longest = 0, who = 0;

                for (size_t i = 0; i < j->n_values; i++)
                        for (size_t k = 0; k < j->values[i].forms.n; k++) {
                                const Form *f = &j->values[i].forms.v[k];

                                if (f->part[0].v[0].id == text->v[at].id && form_at(f, text, at) &&
                                    (f->part[0].n > longest ||
                                     (f->part[0].n == longest && j->values[who].slot == SIZE_MAX))) {
                                        longest = f->part[0].n;
                                        who = i;
                                }
                        }
                n = MAX(longest, (size_t)1);
                if (longest > 0 && j->values[who].slot != SIZE_MAX)
                        marks[j->values[who].same] |= CLAIM_SEEN | (text->v[at].open ? 0 : CLAIM_ASSERTED);
        }
        for (size_t i = 0; i < j->n_values; i++)
                for (size_t k = 0; j->values[i].slot != SIZE_MAX && k < j->values[i].forms.n; k++) {
                        const Form *f = &j->values[i].forms.v[k];

                        if (f->n > 1 && form_found(f, text, false))
                                marks[j->values[i].same] |=
                                        CLAIM_SEEN | (form_found(f, text, true) ? CLAIM_ASSERTED : 0);
                }
}

static int judge_claims(const Judge *j, const Words *text, Score *s) {
        _cleanup_free_ uint8_t *marks = calloc(j->n_values + 1, 1);

        if (!marks)
                return -ENOMEM;
        judge_mark(j, text, marks);
        for (size_t i = 0; i < j->n_values; i++)
                for (size_t k = 0; k < j->values[i].forms.n; k++)
                        if (judge_is_right(j, &j->values[i].forms.v[k]) ||
                            form_found(&j->values[i].forms.v[k], &j->query, false))
                                marks[j->values[i].same] |= CLAIM_SUPPORTED;
        for (size_t i = 0; i < j->n_values; i++) {
                s->supported += (marks[i] & (CLAIM_SEEN | CLAIM_SUPPORTED)) == (CLAIM_SEEN | CLAIM_SUPPORTED);
                s->unsupported += (marks[i] & (CLAIM_ASSERTED | CLAIM_SUPPORTED)) == CLAIM_ASSERTED;
        }
        return 0;
}

int judge_score(Judge *j, const char *context, Score *ret) {
        _cleanup_words_ Words text = {0};
        int r = words_read(&j->vocabulary, context, &text);

        *ret = (Score){0};
        if (r < 0)
                return r;
        judge_drift(j, &text, ret);
        return judge_claims(j, &text, ret);
}

static int judge_print(const Judge *j, const char *what, const JudgeSlot *slot, const Form *f, Buf *out) {
        int r = buf_printf(out, "%s %s:", what, slot->name);

        for (size_t i = 0; f && i < f->n; i++)
                for (size_t k = 0; r == 0 && k < f->part[i].n; k++)
                        r = buf_printf(out, "%s %s", i > 0 && k == 0 ? " &&" : "",
                                       j->vocabulary.words[f->part[i].v[k].id - 1]);
        return r ?: buf_add_str(out, "\n");
}

int judge_explain(Judge *j, const char *context, Buf *out) {
        _cleanup_words_ Words text = {0};
        int r = words_read(&j->vocabulary, context, &text);

        for (size_t i = 0; r == 0 && i < j->n_slots; i++) {
                const JudgeSlot *slot = &j->slots[i];
                const Form *stale = judge_stale_found(j, slot, &text);

                if (slot->active && !judge_any_found(&slot->present, &text))
                        r = judge_print(j, "omits", slot, slot->present.v, out);
                if (r == 0 && stale)
                        r = judge_print(j, "violates", slot, stale, out);
        }
        return r;
}
