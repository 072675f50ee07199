/* Runs: supervisor. What is wrong with the members of an object, in words for who wrote it. */
#pragma once

#include "base/json.h"

/* form: "{name: string, expect?: integer, value: any}", members with their types and ? behind those that may be missing. A type is what its first word
 * is (string, integer, number, array, object), or a word in quotes, which is a string, or else anything. Writes the first fault into *reterr: a
 * member that the form does not have, one of another type, one that is missing; else that o is to be of that form. tell: with the values,
 * else their types alone. */
void json_misfit(const json_t *o, const char *form, bool tell, Diag *reterr);
