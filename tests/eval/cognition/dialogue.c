#include "tests/eval/cognition/dialogue.h"

#include "base/ascii.h"

#include <errno.h>

/* The place of a value in the file, for messages. */
typedef struct DialogueAt {
        size_t line;
        char field[200];
        Diag *err;
} DialogueAt;

static void dialogue_name(DialogueAt *at, const char *fmt, ...) _printf_(2, 3);
static void dialogue_name(DialogueAt *at, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(at->field, sizeof(at->field), fmt, ap);
        va_end(ap);
}

static int dialogue_refuse(const DialogueAt *at, const json_t *value, const char *rule) {
        _cleanup_free_ char *shown = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        char field[400], text[200];

        diag_show(at->field, strlen(at->field), field, sizeof(field));
        if (!value)
                return diag(at->err, DIALOGUE_E_BAD, "line %zu: %s is missing: %s", at->line, field, rule);
        return diag(at->err, DIALOGUE_E_BAD, "line %zu: %s is %s: %s", at->line, field,
                    shown ? diag_show(shown, MIN(strlen(shown), (size_t)80), text, sizeof(text)) : "a value too deep",
                    rule);
}

static int dialogue_text(DialogueAt *at, const json_t *value, size_t max, const char *rule, const char **ret) {
        const char *text = json_text(value);

        if (!text || strlen(text) > max)
                return dialogue_refuse(at, value, rule);
        *ret = text;
        return 0;
}

static bool dialogue_has_word(const char *text) {
        while (*text && !ascii_letter(*text) && !ascii_digit(*text))
                text++;
        return *text;
}

#define FORM_RULE "a surface form is a text of 1 to 256 bytes with a letter or digit of ASCII"

static int dialogue_check_form(DialogueAt *at, const json_t *value) {
        const char *form = NULL;
        int r = dialogue_text(at, value, DIALOGUE_FORM_MAX, FORM_RULE, &form);

        return r ?: dialogue_has_word(form) ? r : dialogue_refuse(at, value, FORM_RULE);
}

static int dialogue_check_slots(DialogueAt *at, size_t turn, const char *service, json_t *slots) {
        const char *slot;
        json_t *forms, *form;
        size_t i;
        int r;

        json_object_foreach(slots, slot, forms) {
                dialogue_name(at, "turns[%zu].state.%s.slots.%s", turn, service, slot);
                if (!json_is_array(forms) || json_array_size(forms) == 0 ||
                    json_array_size(forms) > DIALOGUE_FORMS_MAX)
                        return dialogue_refuse(at, forms, "a slot has a list of 1 to 64 surface forms");
                json_array_foreach(forms, i, form) {
                        dialogue_name(at, "turns[%zu].state.%s.slots.%s[%zu]", turn, service, slot, i);
                        r = dialogue_check_form(at, form);
                        if (r != 0)
                                return r;
                }
        }
        return 0;
}

static int dialogue_check_names(DialogueAt *at, const json_t *names) {
        const char *unused;
        json_t *name;
        size_t i;
        int r = 0;

        if (names && !json_is_array(names))
                return dialogue_refuse(at, names, "this is a list of names");
        json_array_foreach(names, i, name)
                r = r ?: dialogue_text(at, name, DIALOGUE_FORM_MAX, "a name is a text of at most 256 bytes", &unused);
        return r;
}

static int dialogue_check_state(DialogueAt *at, size_t turn, const json_t *state) {
        const char *service;
        json_t *frame;
        int r = 0;

        dialogue_name(at, "turns[%zu].state", turn);
        if (!json_is_object(state))
                return dialogue_refuse(at, state, "a turn of the user has the state as an object of services");
        json_object_foreach((json_t *)state, service, frame) {
                json_t *slots = json_object_get(frame, "slots");

                dialogue_name(at, "turns[%zu].state.%s.slots", turn, service);
                if (!json_is_object(slots))
                        return dialogue_refuse(at, slots, "a service has an object of slots");
                r = dialogue_check_slots(at, turn, service, slots);
                if (r != 0)
                        return r;
                dialogue_name(at, "turns[%zu].state.%s.lifted", turn, service);
                r = dialogue_check_names(at, json_object_get(frame, "lifted"));
                if (r != 0)
                        return r;
        }
        return 0;
}

#define ACT_RULE "an act is a list of texts: a name and values"

/* Values of acts are lexicon only: a value without a letter or digit is skipped by the judge. */
static int dialogue_check_acts(DialogueAt *at, size_t turn, const json_t *acts) {
        json_t *act, *value;
        size_t i, k;
        const char *unused;

        dialogue_name(at, "turns[%zu].acts", turn);
        if (acts && !json_is_array(acts))
                return dialogue_refuse(at, acts, "acts are a list");
        json_array_foreach(acts, i, act) {
                dialogue_name(at, "turns[%zu].acts[%zu]", turn, i);
                if (!json_is_array(act) || json_array_size(act) == 0)
                        return dialogue_refuse(at, act, ACT_RULE);
                json_array_foreach(act, k, value) {
                        int r = dialogue_text(at, value, DIALOGUE_FORM_MAX, ACT_RULE " of at most 256 bytes", &unused);

                        if (r != 0)
                                return r;
                }
        }
        return 0;
}

static int dialogue_check_tools(DialogueAt *at, size_t turn, const json_t *tools) {
        static const char rule[] = "a tool's output is an object with a text of at most 262144 bytes";
        const char *unused;
        json_t *tool;
        size_t i;

        dialogue_name(at, "turns[%zu].tools", turn);
        if (tools && !json_is_array(tools))
                return dialogue_refuse(at, tools, "tools are a list");
        json_array_foreach(tools, i, tool) {
                int r;

                dialogue_name(at, "turns[%zu].tools[%zu].text", turn, i);
                r = dialogue_text(at, json_object_get(tool, "text"), DIALOGUE_TEXT_MAX, rule, &unused);
                dialogue_name(at, "turns[%zu].tools[%zu].name", turn, i);
                if (r == 0 && json_object_get(tool, "name"))
                        r = dialogue_text(at, json_object_get(tool, "name"), 64, "a name is a text of at most 64 bytes",
                                          &unused);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int dialogue_read_turn(DialogueAt *at, size_t i, const json_t *o, DialogueTurn *ret) {
        const json_t *who = json_object_get(o, "who");
        int r;

        dialogue_name(at, "turns[%zu]", i);
        if (!json_is_object(o))
                return dialogue_refuse(at, o, "a turn is an object");
        dialogue_name(at, "turns[%zu].who", i);
        ret->user = json_text_is(who, "U");
        if (!ret->user && !json_text_is(who, "S"))
                return dialogue_refuse(at, who, "who speaks is \"U\" (the user) or \"S\" (the system)");
        dialogue_name(at, "turns[%zu].text", i);
        r = dialogue_text(at, json_object_get(o, "text"), DIALOGUE_TEXT_MAX,
                          "a turn's text is a text of at most 262144 bytes without U+0000", &ret->text);
        if (r != 0)
                return r;
        ret->state = ret->user ? json_object_get(o, "state") : NULL;
        ret->acts = json_object_get(o, "acts");
        ret->tools = json_object_get(o, "tools");
        ret->stress = json_object_get(o, "stress");
        r = ret->user ? dialogue_check_state(at, i, ret->state) : 0;
        if (r == 0)
                r = dialogue_check_acts(at, i, ret->acts);
        if (r == 0)
                r = dialogue_check_tools(at, i, ret->tools);
        dialogue_name(at, "turns[%zu].stress", i);
        return r ?: dialogue_check_names(at, ret->stress);
}

static int dialogue_read_name(DialogueAt *at, const json_t *source, const char *member, const char *otherwise,
                              const char **ret) {
        const json_t *value = json_object_get(source, member);

        dialogue_name(at, "%s", member);
        *ret = otherwise;
        if (!value)
                return 0;
        if (dialogue_text(at, value, 128, "", ret) != 0 || !**ret || strpbrk(*ret, ",\"\r\n\t<>&"))
                return dialogue_refuse(at, value,
                                       "a name is a text of 1 to 128 bytes without , \" < > & and line breaks");
        return 0;
}

static int dialogue_read(DialogueAt *at, Dialogue *d) {
        const json_t *turns = json_object_get(d->source, "turns");
        int r;

        if (!json_is_object(d->source)) {
                dialogue_name(at, "the line");
                return dialogue_refuse(at, d->source, "a dialogue is an object");
        }
        dialogue_name(at, "id");
        if (!json_object_get(d->source, "id"))
                return dialogue_refuse(at, NULL, "a dialogue has an id");
        r = dialogue_read_name(at, d->source, "id", "", &d->id)
                ?: dialogue_read_name(at, d->source, "domain", "dialogues", &d->domain);
        if (r != 0)
                return r;
        dialogue_name(at, "turns");
        if (!json_is_array(turns) || json_array_size(turns) == 0 || json_array_size(turns) > DIALOGUE_TURNS_MAX)
                return dialogue_refuse(at, turns, "a dialogue has a list of 1 to 2000 turns");
        d->n_turns = json_array_size(turns);
        d->turns = calloc(d->n_turns, sizeof(*d->turns));
        if (!d->turns)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < d->n_turns; i++) {
                r = dialogue_read_turn(at, i, json_array_get(turns, i), &d->turns[i]);
                d->n_user += d->turns[i].user;
        }
        dialogue_name(at, "turns");
        return r ?: d->n_user > 0 ? r : dialogue_refuse(at, turns, "a dialogue has a turn of the user");
}

static void dialogue_deinit(Dialogue *d) {
        json_decref(d->source);
        free(d->turns);
}

static int dialogues_add(Dialogues *all, DialogueAt *at, const char *line, size_t n) {
        Dialogue *d;
        Diag why = {0};
        int r;

        if (all->n == DIALOGUES_MAX)
                return diag(at->err, DIALOGUE_E_BAD, "line %zu: more than %d dialogues", at->line, DIALOGUES_MAX);
        if (!GROW(all->v, all->n))
                return -ENOMEM;
        d = &all->v[all->n];
        *d = (Dialogue){0};
        r = json_parse(line, n, DIALOGUE_LINE_MAX, JSON_DEPTH_DEFAULT, &d->source, &why);
        if (r > 0)
                return diag(at->err, DIALOGUE_E_BAD, "line %zu is not a dialogue in JSON: %s", at->line, why.text);
        if (r < 0)
                return r;
        all->n++;
        r = dialogue_read(at, d);
        for (size_t i = 0; r == 0 && i + 1 < all->n; i++)
                if (strcmp(all->v[i].id, d->id) == 0) {
                        dialogue_name(at, "id");
                        r = dialogue_refuse(at, json_object_get(d->source, "id"), "each dialogue has an id of its own");
                }
        return r;
}

int dialogues_read(const char *text, size_t n, Dialogues *ret, Diag *reterr) {
        _cleanup_dialogues_ Dialogues all = {0};
        DialogueAt at = {.err = reterr};
        const char *end = text + n;
        int r = 0;

        while (text < end && r == 0) {
                const char *stop = memchr(text, '\n', (size_t)(end - text)) ?: end;

                at.line++;
                for (const char *p = text; p < stop; p++)
                        if (!ascii_blank(*p)) {
                                r = dialogues_add(&all, &at, text, (size_t)(stop - text));
                                break;
                        }
                text = stop + 1;
        }
        if (r != 0)
                return r;
        *ret = all;
        all = (Dialogues){0};
        return 0;
}

void dialogues_deinit(Dialogues *d) {
        for (size_t i = 0; i < d->n; i++)
                dialogue_deinit(&d->v[i]);
        free(d->v);
        *d = (Dialogues){0};
}
