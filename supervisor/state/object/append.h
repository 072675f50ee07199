/* Runs: supervisor, CLI. For object/ only: appends entries to objects in the caller's write transaction. Each entry is
 * an event object.entry; the projection of the event makes the rows (O-17, O-19). */
#pragma once

#include "base/buf.h"
#include "object/memory.h"
#include "object/object.h"

/* An event object.entry, not yet in the ledger. */
typedef struct Made {
        json_t *fields; /* owned, as the line's bytes */
        Buf line;
} Made;
/* The entries of a cycle that were made ahead of the write transaction. */
typedef struct AppendLater {
        Made made[8];
        size_t n;
} AppendLater;
void append_later_deinit(AppendLater *l);

typedef struct Appending {
        Txn *t;                 /* borrowed, as all pointers but row and memory */
        const char *who;
        const char *trace;
        const json_t *policy;   /* member "policy" of the entries: {"ref","verdict","rule"?}, or NULL */
        uint64_t now_usec;
        uint64_t lock;          /* for the event of ENTRY_STARTED */
        AppendLater *later;     /* takes the entries, and t only reads; NULL: the ledger takes them */
        ObjectRow row;          /* follows the entries; with `later` after an entry: due_usec alone */
        ObjectMemory memory;    /* with all entries appended so far */
} Appending;
#define APPEND_CHECKPOINT_EVERY 64
#define APPENDING_NULL ((Appending){0})
void appending_deinit(Appending *a);
#define _cleanup_appending_ _cleanup_(appending_deinit)

/* Reads row and memory of the object in t; the caller sets the other members. Returns 0, ENGINE_E_NO_OBJECT, -errno. */
int append_open(Txn *t, const char *id, Appending *ret, Diag *reterr);
/* The first entry of a new object with the complete intent and context (O-1). Returns 0, OBJECT_E_SIZE, -errno. */
int append_instantiated(Appending *a, const char *id, const json_t *intent, const json_t *context, Diag *reterr);
/* Signs, appends and folds an entry; every 64th entry is followed by a checkpoint (O-54). The rows of due and wake
 * follow from memory: a dormant object is due at the time of the trigger, a terminated object and an execution are not
 * due, and objects in other states are due at once. outcome: or NULL; data: or NULL; both borrowed. *ret_n: the
 * number of the entry, may be NULL. Returns 0, OBJECT_E_MOVE (O-18), OBJECT_E_SIZE, -errno. */
int append_entry(Appending *a, EntryKind kind, const json_t *outcome, const json_t *data, uint64_t *ret_n,
                 Diag *reterr);
/* Appends the entries to the ledger. *row (owned): the object's row in t, with which the entries were made. Returns 0
 * or -errno. */
int append_made(Txn *t, const char *who, AppendLater *l, json_t **row);
/* Appends a signed entry of a bundle. last: of several, so that the rows of due and wake are made: a dormant object is
 * due at once, because another node has been met. The caller has verified chain and signature, and has the memory
 * `after` all entries. Returns 0 or -errno. */
int append_foreign(Txn *t, const Entry *e, const ObjectMemory *after, bool last, const char *who);
/* The end of a cycle without an action: a due object gets the needed rows from now on (event object.armed,
 * record/wake.h); an object that was not due gets no event (O-33). */
int append_armed(Appending *a);
/* The keyid of the store's own key. */
void append_keyid(const Store *s, char ret[static ENTRY_KEYID_LEN + 1]);
