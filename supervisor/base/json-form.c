#include "base/json-form.h"

#include <stdarg.h>
#include <string.h>

/* The arguments are for each member its name and a pointer for the value; for "s%" also a pointer for the length. */
static bool json_form_strings_are_whole(const json_t *o, const char *form, va_list ap) {
        for (const char *p = strchr(form, ':'); p; p = strchr(p, ':')) {
                const json_t *v = json_object_get(o, va_arg(ap, const char *));
                bool has_length = strncmp(++p, "s%", 2) == 0;

                (void)va_arg(ap, void *);
                if (has_length)
                        (void)va_arg(ap, void *);
                else if (*p == 's' && v && !json_text(v))
                        return false;
        }
        return true;
}

int json_take(json_t *o, const char *form, ...) {
        va_list ap, again;
        int r;

        va_start(ap, form);
        va_copy(again, ap);
        r = json_vunpack_ex(o, NULL, JSON_STRICT, form, ap);
        if (r == 0 && !json_form_strings_are_whole(o, form, again))
                r = -1;
        va_end(again);
        va_end(ap);
        return r;
}

typedef struct FormMember {
        const char *name, *type;
        size_t n_name, n_type;
        bool optional;
} FormMember;

/* The next of the form's members; *at begins behind the brace. */
static bool json_form_next(const char **at, FormMember *ret) {
        const char *p = *at + strspn(*at, "{, ");
        FormMember m = {.name = p, .n_name = strcspn(p, "?:}")};

        if (m.n_name == 0)
                return false;
        p += m.n_name;
        m.optional = *p == '?';
        p += strspn(p, "?: ");
        m.type = p;
        m.n_type = strcspn(p, ",}");
        *at = p + m.n_type;
        *ret = m;
        return true;
}

static bool json_form_is(const FormMember *m, const char *word) {
        return strncmp(m->type, word, strlen(word)) == 0;
}

static bool json_form_fits(const FormMember *m, const json_t *v) {
        return json_form_is(m, "string") || *m->type == '"' ? json_is_string(v)
               : json_form_is(m, "integer")                 ? json_is_integer(v)
               : json_form_is(m, "number")                  ? json_is_number(v)
               : json_form_is(m, "array")                   ? json_is_array(v)
               : json_form_is(m, "object")                  ? json_is_object(v)
                                                  : true;
}

const char *json_kind(const json_t *v) {
        switch (json_typeof(v)) {
        case JSON_OBJECT:
                return "an object";
        case JSON_ARRAY:
                return "an array";
        case JSON_STRING:
                return "a string";
        case JSON_INTEGER:
                return "an integer";
        case JSON_REAL:
                return "a number with a fraction";
        case JSON_TRUE:
        case JSON_FALSE:
                return "a boolean";
        case JSON_NULL:
                return "null";
        }
        return "nothing";
}

static bool json_form_has(const char *form, const char *name) {
        FormMember m;

        while (json_form_next(&form, &m))
                if (strlen(name) == m.n_name && memcmp(name, m.name, m.n_name) == 0)
                        return true;
        return false;
}

/* Names the wrong type, and the value where the caller allows. */
static void json_form_wrong_type(const FormMember *m, const json_t *v, bool tell, Diag *reterr) {
        _cleanup_free_ char *text = tell ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        char shown[128];

        diag(reterr, 0, "params: %.*s is %s%s%s: it is to be %.*s", (int)m->n_name, m->name, json_kind(v),
             text ? ", " : "", text ? diag_show(text, strlen(text), shown, sizeof(shown)) : "", (int)m->n_type,
             m->type);
}

void json_misfit(const json_t *o, const char *form, bool tell, Diag *reterr) {
        const char *name, *at = form;
        char shown[128];
        json_t *v;
        FormMember m;

        if (!json_is_object(o)) {
                diag(reterr, 0, "params are %s: they are to be %s", o ? json_kind(o) : "missing", form);
                return;
        }
        json_object_foreach((json_t *)o, name, v)
                if (!json_form_has(form, name)) {
                        diag(reterr, 0, "params: \"%s\" is no parameter: they are to be %s",
                             diag_quote(name, strlen(name), shown, sizeof(shown)), form);
                        return;
                }
        while (json_form_next(&at, &m)) {
                v = json_object_getn(o, m.name, m.n_name);
                if (v && !json_form_fits(&m, v)) {
                        json_form_wrong_type(&m, v, tell, reterr);
                        return;
                }
        }
        for (at = form; json_form_next(&at, &m);)
                if (!m.optional && !json_object_getn(o, m.name, m.n_name)) {
                        diag(reterr, 0, "params: %.*s is missing: it is to be %.*s", (int)m.n_name, m.name,
                             (int)m.n_type, m.type);
                        return;
                }
        json_object_foreach((json_t *)o, name, v)
                if (json_is_string(v) && !json_text(v)) {
                        diag(reterr, 0, "params: %s holds the character U+0000: no name has it", name);
                        return;
                }
        diag(reterr, 0, "params: they are to be %s", form);
}
