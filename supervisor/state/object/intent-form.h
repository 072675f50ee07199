/* Runs: supervisor, CLI. Reads the JSON of intents, triggers and scopes, member by member: each fault names the member
 * ("do.steps[2].skill"), the value and the rule. For object/ alone. Functions return 0, OBJECT_E_INTENT with a message,
 * -errno. */
#pragma once

#include "object/entry.h"

#include <errno.h>

/* A place in the document, for messages. The root has the name of the document, which is said of the root alone. */
typedef struct FormPlace {
        const struct FormPlace *up;
        const char *member; /* NULL: an element of an array */
        size_t index;
} FormPlace;
#define FORM_ROOT(name) (&(FormPlace){.member = (name)})
#define FORM_AT(place, name) (&(FormPlace){.up = (place), .member = (name)})
#define FORM_ITEM(place, i) (&(FormPlace){.up = (place), .index = (i)})

typedef struct IntentForm {
        const char *self; /* the id of the object, or NULL */
        Diag *reterr;
        size_t nodes;     /* of the present trigger */
        unsigned depth;   /* delegations around the present intent */
} IntentForm;

#define FORM_YEAR_9999_USEC UINT64_C(253402300799999999)
#define FORM_DURATION_MOST (UINT64_C(36500) * 86400 * 1000000) /* a hundred years: no sum with a time overflows */

/* "PLACE: VALUE: RULE". v NULL: without a value. Returns OBJECT_E_INTENT. */
int form_bad(const IntentForm *f, const FormPlace *at, const json_t *v, const char *fmt, ...) _printf_(4, 5);

/* The whole document in the form of canonical JSON (numbers such as 1.0 become 1), within INTENT_BYTES_MAX and
 * INTENT_JSON_DEPTH, all texts without U+0000. *ret: new. */
int form_begin(const IntentForm *f, const FormPlace *root, const json_t *v, json_t **ret);
/* The canonical size of a result, against INTENT_BYTES_MAX. */
int form_end(const IntentForm *f, const FormPlace *root, const json_t *v);

/* An object with no member but these (NULL-terminated). */
int form_members(const IntentForm *f, const FormPlace *at, const json_t *v, const char *const *known);
#define FORM_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* Exactly one of these members: *ret is its index. */
int form_only(const IntentForm *f, const FormPlace *at, const json_t *v, const char *const *known, size_t *ret);
/* A non-empty array of at most `most` elements; empty: may be empty. */
int form_array(const IntentForm *f, const FormPlace *at, const json_t *v, bool empty, size_t most);
int form_text(const IntentForm *f, const FormPlace *at, const json_t *v, size_t least, size_t most, const char **ret);
int form_count(const IntentForm *f, const FormPlace *at, const json_t *v, uint64_t least, uint64_t most, uint64_t *ret);
int form_word(const IntentForm *f, const FormPlace *at, const json_t *v, const char *const *words, size_t n, size_t *ret);
/* A time up to the end of year 9999: a number of usec, or text of a date. */
int form_moment(const IntentForm *f, const FormPlace *at, const json_t *v, uint64_t *ret);
/* The member `name` of o (text with a unit) or `name`_usec (a number), of `least` to `most` usec. *ret and *ret_said
 * (or NULL) stay as they are when the member is missing. */
int form_duration(const IntentForm *f, const FormPlace *at, const json_t *o, const char *name, uint64_t least, uint64_t most,
                  uint64_t *ret, bool *ret_said);
/* A list of different names in the order of their bytes. */
typedef struct FormNames {
        bool (*valid)(const char *name);
        const char *rule; /* "a skill's name has …" */
} FormNames;
extern const FormNames form_skills, form_slots;
int form_names(const IntentForm *f, const FormPlace *at, const json_t *v, bool empty, const FormNames *kind, json_t **ret);

/* Sets a member of a result; v is taken over. Returns 0 or -ENOMEM. */
static inline int form_put(json_t *o, const char *name, json_t *v) {
        return json_object_set_new(o, name, v) < 0 ? -ENOMEM : 0;
}
static inline int form_add(json_t *array, json_t *v) {
        return json_array_append_new(array, v) < 0 ? -ENOMEM : 0;
}

/* The parts that intents take from triggers; *ret: new. */
int trigger_read(IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret);
int condition_read(const IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret);
/* An action of an intent ("do"), and the whole of an intent inside a delegation. */
int intent_read(IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret);
int intent_read_do(IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret);
/* Are all skills of an action and of all delegated intents in the list (or is the list "*")? by: the limit, in
 * words. */
int intent_allow_skills(const IntentForm *f, const FormPlace *at, const json_t *action, const json_t *allowed,
                        const char *by);
