/* Runs: supervisor, CLI. Objects between stores (O-8, O-9, O-36..O-43). */
#pragma once

#include "object/bundle.h"
#include "object/object.h"

/* The object as a bundle. move: the object is away from here until it is imported again (event object.moved). */
int object_export(Txn *t, const char *id, bool move, const char *who, Buf *ret, Diag *reterr);
/* Takes a verified bundle: new, further than here (fast-forward), equal, `behind` (O-8), or `forked` (O-42). replaced: new,
 * instead of an object of strangers that had the id (O-9). max_objects: of policy; 0: no limit. *ret: {"object","how":
 * "new"|"replaced"|"ahead"|"equal"|"behind"|"forked","n","state","eligible": bool}. */
int object_import(Txn *t, const ObjectBundle *b, const char *who, uint64_t max_objects, json_t **ret, Diag *reterr);
/* Continues the head that begins with this hexadecimal hash, and appends the other branch's entries as evidence. */
int object_adopt(Txn *t, const char *id, const char *head, const char *who, json_t **ret, Diag *reterr);
/* The keys of nodes that are trusted here (O-9): vkey "name+hex+base64". The node's own needs no entry. */
int object_trust(Txn *t, const char *vkey, bool revoke, const char *who, json_t **ret, Diag *reterr);
int object_trusted(Txn *t, json_t **ret); /* array of {"node","vkey","state": "own"|"trusted"|"revoked"} */
/* O-7, O-46: chain, signatures, moves, fold against the row, the ledger's events, and each effect of the object's
 * executions against an entry. *ret: {"object","holds": bool,"entries","found": number,
 * "findings":[{"code","message"}]} with the first findings. code: bad_chain, bad_signature, unknown_signer, row,
 * effect_without_entry. Returns 0, ENGINE_E_NO_OBJECT, -errno. */
int object_verify(Txn *t, const char *id, json_t **ret, Diag *reterr);
/* The same for all objects, with one walk of the ledger: {"objects","entries","found","findings"}. */
int object_verify_all(Txn *t, json_t **ret, Diag *reterr);
