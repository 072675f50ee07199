/* Runs: supervisor. Handles: the only way to what is in a section (I-6). A handle is (region id, index, generation), written
 * "REGION.INDEX.GENERATION": anyone may see it, and nobody can use it without the region's key (I-7, I-8). Whoever presents one is judged in
 * this order, and learns no more than the first answer:
 *
 *     HANDLE_E_BAD     it is no handle
 *     HANDLE_E_STALE   no such region lives in this process
 *     HANDLE_E_KEY     no key, a wrong one, or another region's
 *     HANDLE_E_SCOPE   the right key, in hands that its scope does not reach (I-26)
 *     HANDLE_E_STALE   closed, unbound by teardown (I-17), or never issued
 *
 * Values are copied in and out; no pointer into a section leaves. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "region/region-key.h"
#include "schema/limits.h"

#define HANDLE_TEXT_MAX 64  /* with the NUL */

enum {
        HANDLE_E_BAD = 1,
        HANDLE_E_KEY,
        HANDLE_E_SCOPE,
        HANDLE_E_STALE,
        HANDLE_E_UNDECLARED, /* the manifest declares no such section (I-4) */
        HANDLE_E_READ_ONLY,  /* evidence of a gate */
        HANDLE_E_TYPE,       /* the value does not fit the section's schema; message has place and keyword */
        HANDLE_E_TOO_LARGE,
        HANDLE_E_NO_VALUE,   /* nothing was written yet */
        HANDLE_E_CONFLICT,   /* not at the expected version */
        HANDLE_E_TOO_MANY,   /* HANDLES_MAX are open */
        HANDLE_E_OLD,        /* evidence that has become older than its gate allows */
        HANDLE_E_ESCAPE,     /* a section of another region was to get a key that is not that region's (I-11) */
};
const char *handle_code_name(int code);

/* Each returns 0, HANDLE_E_* with a message, -ENOMEM. handle is text of any length, NUL-terminated. */
int handle_open(const Presented *p, const char *region, const char *section, char ret[static HANDLE_TEXT_MAX], Diag *reterr);
int handle_read(const Presented *p, const char *handle, json_t **ret_value, uint64_t *ret_version, Diag *reterr);
/* expect: the version that the section must have, 0: no value yet, -1: any. */
int handle_write(const Presented *p, const char *handle, const json_t *value, int64_t expect, uint64_t *ret_version, Diag *reterr);
int handle_close(const Presented *p, const char *handle, Diag *reterr);

/* Of teardown: one handle, without any key. */
void handle_unbind(Vault *v, size_t index);
/* Tries of other threads' regions with v's handles go into the record of v's region (I-75). */
void handle_tell_tries(Vault *v);
