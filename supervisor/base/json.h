/* Runs: supervisor, CLI. Strict reading of hostile JSON (RFC 8259, I-JSON: no duplicate keys, valid UTF-8) and one
 * canonical form. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

#include <jansson.h>

enum {
        JSON_E_SYNTAX = 1, /* not JSON, not UTF-8, trailing bytes, a number out of range, \u0000 in a key */
        JSON_E_DUPLICATE,  /* a key twice in one object */
        JSON_E_DEPTH,      /* nested deeper than the limit */
        JSON_E_SIZE,       /* more bytes than the limit */
};

/* From here on what a JSON value held is overwritten when it is freed. To be called before the first value is made. */
void json_wipe_freed(void);

#define JSON_DEPTH_DEFAULT 32
#define JSON_INTEGER_MOST ((INT64_C(1) << 53) - 1) /* beyond it an integer is not the same in every reader (RFC 7493 2.2) */

/* Parses exactly one value of at most max_bytes and max_depth levels. Returns 0, JSON_E_* with a message that has line
 * and column, or -ENOMEM. *ret is owned by the caller (json_decref). */
int json_parse(const char *text, size_t n, size_t max_bytes, unsigned max_depth, json_t **ret, Diag *reterr);

/* The canonical form (JCS, RFC 8785): keys by UTF-16 units, shortest numbers, no white space. Integers beyond 2^53-1,
 * and other numbers that would be written like one (up to 1e21), are refused with -ERANGE, so that what is written can
 * be read back; strings must hold no invalid UTF-8 (jansson sees to it). *ret is owned, NUL-terminated. Returns 0,
 * -ENOMEM, -ERANGE. */
int json_canonical(const json_t *value, char **ret, size_t *ret_n);
/* Of an object in which the members of the object `over` (or NULL) were set: without setting them. */
int json_canonical_over(const json_t *value, const json_t *over, char **ret, size_t *ret_n);

/* Reads canonical text that is plain: no escape, nothing beyond ASCII, no number with a fraction or an exponent; values
 * are those that json_parse gives. Returns 0, JSON_E_* when it is not canonical, or not plain, or no JSON at all:
 * json_parse tells which. -ENOMEM. */
int json_parse_plain(const char *text, size_t n, unsigned max_depth, json_t **ret);
/* The bytes of a member of an object in canonical text that we wrote ourselves, lent; nothing behind it is looked at.
 * Returns 0, -ENOENT, JSON_E_SYNTAX. */
int json_member_own(const char *text, size_t n, const char *name, const char **ret, size_t *ret_n);
/* As json_parse, without words, and quick for what we wrote ourselves. */
int json_parse_own(const char *text, size_t n, size_t max_bytes, unsigned max_depth, json_t **ret);

/* The text of a string, lent. NULL when v is no string, or one that holds U+0000: as a C string it would be taken for
 * the one that ends there. */
const char *json_text(const json_t *v);
/* Whether v is this string. */
bool json_text_is(const json_t *v, const char *text);
/* The bytes of a string, lent, for data that may hold U+0000: json_string_length() of them, with a NUL behind. NULL
 * when v is no string. */
const char *json_bytes(const json_t *v);

/* Sets a member whose name is a literal of ours, which nobody needs to look through. Takes v; -1 when it is NULL,
 * too. */
#define json_put(o, name, v) json_object_setn_new_nocheck((o), "" name, sizeof("" name) - 1, (v))

#define _cleanup_json_ _cleanup_(json_decrefp) /* jansson's own json_decrefp */

/* An integer for a record: a number up to 2^53-1, beyond it a decimal string. New reference or NULL. */
json_t *json_u64(uint64_t v);
/* Reads what json_u64 made, and nothing else: each number has one form. Returns 0 or -EINVAL. */
int json_get_u64(const json_t *v, uint64_t *ret);
