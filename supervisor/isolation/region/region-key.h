/* Runs: supervisor. A region's vault: its key, its working-state sections and the handles to them (I-4, I-6..I-11). What these files hand out
 * is in region-section.h and region-handle.h; here is the key.
 *
 * A key is KEY_BYTES from getrandom(2) in locked memory, made with the region and gone with it. It is handed over once, on the pipe (I-10).
 * Who may use it:
 *   scope invocation        the region itself
 *   scope invocation-tree   the region and the sub-skills below it, as long as each one in between has that scope too (I-26, I-27) */
#pragma once

#include "base/keyscan.h"
#include "manifest/vocabulary.h"

typedef struct Vault Vault;

/* Who asks, and the key that was presented: text of any length from a hostile region, or NULL. */
typedef struct Presented {
        const Vault *by;
        const char *key;
        size_t n_key;
} Presented;

/* The keys of all regions that live in this process, for keyscan. No region of the process, in whatever thread, is made or ends before they
 * are let go. */
const KeySet *region_keys_hold(void);
void region_keys_let_go(const KeySet **held);
#define _cleanup_keys_ _cleanup_(region_keys_let_go)
/* The two, for who may not know of regions. */
extern const KeyHold region_keys;
/* keyscan_text() and keyscan_json() with them. */
int region_keys_in_text(const char *bytes, size_t n);
int region_keys_in_json(const json_t *value);
size_t region_keys_count(void);
/* Of held ones, without the key of one region: what may be written into a section of its own. `room` holds as many. */
KeySet region_keys_but(const Vault *v, const uint8_t **room);

/* Whether v may use the key of `owner`. */
bool vault_may_use(const Vault *v, const Vault *owner);
/* The key as it goes over the pipe: `owner` is `to` itself, or a vault that `to` may use the key of. ret is NUL-terminated; the caller
 * overwrites it. False: it may not have it. */
bool vault_hand_over(const Vault *owner, const Vault *to, char ret[static KEY_TEXT_BYTES + 1]);
/* The nearest living vault above v whose key v may use; NULL: none. */
const Vault *vault_above(const Vault *v);
/* Compares in constant time. */
bool vault_key_is(const Vault *v, const Presented *p);

const char *vault_region(const Vault *v);

/* Per-handle traces (I-37, I-75): each use leaves one with the region that presented the handle, and one with the region whose section it is. what: "issued",
 * "dereferenced", "refused", "closed", "unbound". handle is text, NULL where none was in order; section NULL where none is known. */
typedef struct HandleTrace {
        const char *what, *handle, *section;
        const char *by;       /* with the owner: another region, which did it; else NULL */
        const char *of;       /* with the caller: another region, whose section it is or would be; else NULL */
        int code;             /* why it was refused (HANDLE_E_*), else 0 */
        bool write;           /* for "dereferenced" */
        uint64_t version;     /* for "dereferenced": what was read, 0: nothing was there yet; or what was made */
        uint64_t usec;        /* when, CLOCK_REALTIME; 0: now */
        uint64_t more;        /* so many further ones like it, of which nothing else is known */
} HandleTrace;
typedef void (*VaultTrace)(void *userdata, const HandleTrace *t);
