/* Runs: supervisor, CLI. For payload.c and payload-rule.c: checks of one value of a payload. at: the value's place, for
 * messages. Each returns 0, or PAYLOAD_E_* with a message. */
#pragma once

#include "engine/payload.h"

int payload_check_text(const char *at, const json_t *v, size_t max, bool one_line, Diag *reterr);
int payload_check_id(const char *at, Kind kind, const json_t *v, Diag *reterr);
int payload_check_choice(const char *const *choices, const char *at, const json_t *v, Diag *reterr);
int payload_check_list(const char *at, const json_t *v, size_t most, const char *of, Diag *reterr);
/* An entry of a list of objects has exactly these members. */
int payload_check_members(const char *at, const json_t *o, const char *const *names, Diag *reterr);
/* The entries of a kernel. Returns also -ENOMEM. */
int payload_check_rules(const PayloadField *f, const char *at, const json_t *v, Diag *reterr);
