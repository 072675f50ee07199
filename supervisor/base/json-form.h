/* Runs: supervisor. Takes the members of an object, and says in a message to its writer why they are wrong. */
#pragma once

#include "base/json.h"

/* Takes members of the object o, as json_unpack() with JSON_STRICT and a flat form "{s:s, s?:s%, s:o}". A string taken
 * without its length (s) must not hold U+0000. Returns 0, or -1 without a fit: json_misfit() has the reason. */
int json_take(json_t *o, const char *form, ...);

/* form: "{name: string, expect?: integer, value: any}", members with their types; ? marks optional members. The first
 * word of a type counts: string, integer, number, array, object; a word in quotes is a string; any other word allows
 * all types. Writes the first fault into *reterr: an unknown member, a wrong type, a missing member; else the whole
 * form. tell: with the values, else with the types alone. */
void json_misfit(const json_t *o, const char *form, bool tell, Diag *reterr);

/* "an object", "an integer", "null": for messages. */
const char *json_kind(const json_t *v);
