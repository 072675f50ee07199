/* Runs: supervisor, CLI. For object/ only: entries are appended to objects in the caller's write transaction. Each is one
 * event object.entry; the projection of the event makes the rows (O-17, O-19). */
#pragma once

#include "object/memory.h"
#include "object/object.h"

typedef struct Appending {
        Txn *t;                 /* borrowed, as all pointers here but row and memory */
        const char *who;
        const char *trace;
        const json_t *policy;   /* member "policy" of the entries: {"ref","verdict","rule"?}, or NULL */
        uint64_t now_usec;
        uint64_t lock;          /* for the event of ENTRY_STARTED */
        ObjectRow row;          /* as read at the beginning; n and head follow the entries */
        ObjectMemory memory;    /* with all entries appended so far */
} Appending;
#define APPEND_CHECKPOINT_EVERY 64
#define APPENDING_NULL ((Appending){0})
void appending_deinit(Appending *a);
#define _cleanup_appending_ _cleanup_(appending_deinit)

/* Reads row and memory of the object in t. Returns 0, ENGINE_E_NO_OBJECT, -errno. The other members are the caller's. */
int append_open(Txn *t, const char *id, Appending *ret, Diag *reterr);
/* The first entry of a new object with the complete intent and context (O-1). Returns 0, OBJECT_E_SIZE, -errno. */
int append_instantiated(Appending *a, const char *id, const json_t *intent, const json_t *context, Diag *reterr);
/* Signs and appends one entry, and folds it into memory; behind every 64th entry a checkpoint follows by itself (O-54). The
 * rows of due and wake follow from memory: a dormant object is due at the time of its trigger, a terminated one and an
 * execution are not due, all others are due at once. outcome: or NULL; data: or NULL; both borrowed. *ret_n: the
 * number of the entry, may be NULL. Returns 0, OBJECT_E_MOVE (O-18), OBJECT_E_SIZE, -errno. */
int append_entry(Appending *a, EntryKind kind, const json_t *outcome, const json_t *data, uint64_t *ret_n, Diag *reterr);
/* Appends an entry that is signed already, of a bundle; `last`: it is the last one of several, so that due and wake rows
 * are made: a dormant object is due at once, because it has met another node. The caller has verified chain and signature;
 * memory is not the append's business. Returns 0 or -errno. */
int append_foreign(Txn *t, const Entry *e, const ObjectMemory *after, bool last, const char *who);
/* The end of a cycle that found nothing to do: an object that was due gets the rows that it needs from now on (event
 * object.armed, record/wake.h); nothing is recorded for one that was not due (O-33). */
int append_armed(Appending *a, Diag *reterr);
/* The keyid of the store's own key. */
void append_keyid(const Store *s, char ret[static ENTRY_KEYID_LEN + 1]);
