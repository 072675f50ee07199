/* Runs: supervisor. What is wrong with the members of an object, in words for who wrote it. */
#pragma once

#include "base/json.h"

/* Takes members of the object o: as json_unpack() does with JSON_STRICT and a flat form "{s:s, s?:s%, s:o}", and a
 * string that is taken without its length (s) holds no U+0000. Returns 0, or -1 when o is not of that form:
 * json_misfit() says why. */
int json_take(json_t *o, const char *form, ...);

/* form: "{name: string, expect?: integer, value: any}", members with their types and ? behind those that may be
 * missing. A type is what its first word is (string, integer, number, array, object), or a word in quotes, which is a
 * string, or else anything. Writes the first fault into *reterr: a member that the form does not have, one of another
 * type, one that is missing; else that o is to be of that form. tell: with the values, else their types alone. */
void json_misfit(const json_t *o, const char *form, bool tell, Diag *reterr);
