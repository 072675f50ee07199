/* Runs: supervisor. Handles: the only access to the value of a section (I-6). A handle is (region id, index,
 * generation), written "REGION.INDEX.GENERATION". A handle is no secret: use requires the region's key (I-7, I-8).
 * Checks run in the order below, and the caller learns only the first failure:
 *
 *     HANDLE_E_BAD     malformed handle
 *     HANDLE_E_STALE   no living region of the process has the id
 *     HANDLE_E_KEY     no key, a wrong key, or the key of a different region
 *     HANDLE_E_SCOPE   the right key, presented by a region outside of the key's scope (I-26)
 *     HANDLE_E_STALE   closed, unbound by teardown (I-17), or never issued
 *
 * Values are copied in and out; no pointer into a section leaves. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "region/region-key.h"
#include "schema/limits.h"

const char *handle_code_name(int code);

/* Each returns 0, HANDLE_E_* with a message, -ENOMEM. handle is text of any length, NUL-terminated. */
int handle_open(const Presented *p, const char *region, const char *section, char ret[static HANDLE_TEXT_MAX],
                Diag *reterr);
int handle_read(const Presented *p, const char *handle, json_t **ret_value, uint64_t *ret_version, Diag *reterr);
/* expect: the required version of the section; 0: no value yet; -1: any. */
int handle_write(const Presented *p, const char *handle, const json_t *value, int64_t expect, uint64_t *ret_version,
                 Diag *reterr);
int handle_close(const Presented *p, const char *handle, Diag *reterr);

void handle_unbind(Vault *v, size_t index); /* For teardown: unbinds a single handle, without a key. */
void handle_tell_tries(Vault *v); /* Records tries of other threads' regions in the trace of v's region (I-75). */
