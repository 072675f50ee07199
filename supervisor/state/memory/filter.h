/* Runs: supervisor, CLI. The records that a list or a search is to have (M-13, M-14): fields with a value, all of which
 * must hold. Pure.
 *
 *   kind:NAME[,NAME...]    a kind ("issues"), or all of a class ("memory")
 *   type:NAME[,NAME...]    episodic, semantic, observational
 *   state:NAME[,NAME...]   open, resolved, active, invalidated, superseded, archived, removed
 *   id:ID                  the record with the id, in each kind
 *   ref:KIND/ID            records that refer to the named record
 *   created>TIME           also >= < <=, twice for a range; TIME: 2026-11-21, with a time of day or without, or an age:
 *                          7d, 12h, 30m
 *   created:DAY            on the day (UTC)
 *   prefix:"TEXT"          the text begins with TEXT (lists alone) */
#pragma once

#include "base/diag.h"
#include "record/kind.h"

#define FILTER_KINDS_MAX 16
#define FILTER_PREFIX_MAX 256 /* bytes */

enum { FILTER_E_BAD = 1 };

typedef struct RecordFilter {
        Kind kinds[FILTER_KINDS_MAX]; /* n_kinds 0: all */
        size_t n_kinds;
        unsigned types;               /* 1 << index in payload_types; 0: all */
        unsigned states;              /* 1 << RecordState; 0: not said */
        char id[RECORD_ID_MAX];       /* "": not said */
        Kind ref_kind;                /* KIND_NONE: not said */
        char ref_id[RECORD_ID_MAX];
        uint64_t created_from, created_until; /* microseconds since 1970; created_until is excluded; 0: no end */
        char prefix[FILTER_PREFIX_MAX + 1];
        unsigned said;                /* bits of the fields that were given; no field may be given twice */
} RecordFilter;

/* Tells whether the text is the name of a field. */
bool filter_has_field(const char *name, size_t n);
/* All names, for messages. */
#define FILTER_FIELDS "kind, type, state, id, ref, created, prefix"
/* Adds a field to the filter. op: ":", ">", ">=", "<", "<=". The value has neither NUL nor control characters. search:
 * fields for lists alone are refused. Returns 0 or FILTER_E_BAD with a message that names field, value and rule. */
int filter_add(RecordFilter *f, const char *name, size_t n_name, const char *op, const char *value, size_t n,
               bool search, uint64_t now_usec, Diag *reterr);

/* Tests of the filter's fields. */
bool filter_takes_kind(const RecordFilter *f, Kind kind, const char *type);
bool filter_takes_state(const RecordFilter *f, RecordState state);
bool filter_takes_id(const RecordFilter *f, const char *id);
bool filter_takes_time(const RecordFilter *f, uint64_t created_usec);
bool filter_takes_text(const RecordFilter *f, const char *text, size_t n);
