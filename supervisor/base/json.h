/* Runs: supervisor, CLI. Strict reading of hostile JSON (RFC 8259, I-JSON: no duplicate keys, valid UTF-8), canonical
 * form. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

#include <jansson.h>

enum {
        JSON_E_SYNTAX = 1, /* not JSON, not UTF-8, trailing bytes, a number out of range, \u0000 in a key */
        JSON_E_DUPLICATE,  /* a key twice in the same object */
        JSON_E_DEPTH,      /* nested deeper than the limit */
        JSON_E_SIZE,       /* more bytes than the limit */
};

/* From here on the memory of JSON values is overwritten when freed. To be called before the first value is made. */
void json_wipe_freed(void);

#define JSON_DEPTH_DEFAULT 32
#define JSON_INTEGER_MOST ((INT64_C(1) << 53) - 1) /* beyond, integers differ between readers (RFC 7493 2.2) */

/* Parses exactly one value of at most max_bytes and max_depth levels. Returns 0, JSON_E_* with a message with line and
 * column, or -ENOMEM. *ret is owned by the caller (json_decref). */
int json_parse(const char *text, size_t n, size_t max_bytes, unsigned max_depth, json_t **ret, Diag *reterr);

/* The canonical form (JCS, RFC 8785): keys by UTF-16 units, shortest numbers, no white space. Integers beyond 2^53-1,
 * and other numbers of the same written form (up to 1e21), are refused with -ERANGE: all output can be read back.
 * Strings must be valid UTF-8 (jansson ensures this). *ret: owned, NUL-terminated. Returns 0, -ENOMEM, -ERANGE. */
int json_canonical(const json_t *value, char **ret, size_t *ret_n);
/* As if the members of the object `over` (or NULL) were set in the object `value`, without setting them. */
int json_canonical_over(const json_t *value, const json_t *over, char **ret, size_t *ret_n);

/* Reads plain canonical text: no escape, no byte beyond ASCII, no number with a fraction or an exponent. Gives the same
 * values as json_parse(). Returns 0, -ENOMEM, or JSON_E_* for all other text: json_parse() tells the reason. */
int json_parse_plain(const char *text, size_t n, unsigned max_depth, json_t **ret);
/* The bytes of a member of an object, lent, in canonical text of the store's own; the text behind the member is not
 * read. Returns 0, -ENOENT, JSON_E_SYNTAX. */
int json_member_own(const char *text, size_t n, const char *name, const char **ret, size_t *ret_n);
/* As json_parse() without a message, and quick for text of the store's own. */
int json_parse_own(const char *text, size_t n, size_t max_bytes, unsigned max_depth, json_t **ret);

/* The text of a string, lent. NULL when v is not a string, or holds U+0000: as a C string it would end too early. */
const char *json_text(const json_t *v);
/* The text of a member of an object, "" when it has none. */
static inline const char *json_str(const json_t *o, const char *member) {
        return json_text(json_object_get(o, member)) ?: "";
}
/* Whether v is a string equal to text. */
bool json_text_is(const json_t *v, const char *text);
/* The json_string_length() bytes of a string and a NUL, lent; may hold U+0000. NULL when v is not a string. */
const char *json_bytes(const json_t *v);

/* A new array of the elements of an array, or of the values of an object, in the order of compare() (as of qsort(), for
 * json_t *const *). NULL: out of memory. */
json_t *json_sorted(const json_t *list, int (*compare)(const void *a, const void *b));

/* A shallow copy of an object, or NULL: out of memory. jansson's json_copy() leaves out members without memory. */
json_t *json_copied(const json_t *o);

/* Sets a member; the name is a literal of the source and needs no check. Takes v over; -1 also when v is NULL. */
#define json_put(o, name, v) json_object_setn_new_nocheck((o), "" name, sizeof("" name) - 1, (v))

#define _cleanup_json_ _cleanup_(json_decrefp) /* jansson's own json_decrefp */

/* An integer for a record: a number up to 2^53-1, a decimal string beyond. New reference or NULL. */
json_t *json_u64(uint64_t v);
/* Reads the output of json_u64(), and refuses all other forms: each number has one form. Returns 0 or -EINVAL. */
int json_get_u64(const json_t *v, uint64_t *ret);
/* The number of a member of an object, 0 when it has none. */
static inline uint64_t json_number(const json_t *o, const char *member) {
        uint64_t v;

        return json_get_u64(json_object_get(o, member), &v) < 0 ? 0 : v;
}
