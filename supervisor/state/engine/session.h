/* Runs: supervisor, CLI. Sessions (I-46..I-48, I-84..I-87): a session is a region without a process, whose row has the
 * member `session`; a turn is a region below with the members `turn_of` and `turn`.
 *
 *     session.opened -> {turn: region.allocated … session.carried | session.dropped … invocation.ended} ->
 *     session.ended, region.released, invocation.ended of the session's own region
 *
 * Carried values of a session that is resumed after a crash are bodies of session.carried: the newest of each section,
 * and none after session.ended. Values of other sessions are in no file: the event has digest and size. */
#pragma once

#include "engine/engine.h"

typedef struct SessionStart {
        RegionStart region; /* of the session's own region */
        const json_t *said; /* "session" of the manifest, complete */
        uint64_t uid;       /* the user who may use the session */
        const char *target; /* SKILL, or the absolute path of DIR */
        const json_t *cognition; /* {"ccs": name, "compressor"?: skill, "erase"?: true}: the loop around the skill; NULL: none */
        const char *discipline;  /* how the sections are overwritten, for a later host; NULL: once */
        uint64_t max_sessions; /* of the user: refuses more with ENGINE_E_TOO_MANY; 0: no limit */
} SessionStart;
/* region.allocated and session.opened. Returns as engine_region_start(). */
int engine_session_open(Txn *t, const SessionStart *s, Diag *reterr);
/* The next turn begins; a session has one at a time. Called by engine_region_start(). Returns 0, ENGINE_E_NO_REGION (no
 * such session), ENGINE_E_CONFLICT (a turn lives), ENGINE_E_TOO_MANY (all turns are used), -errno. */
int engine_session_turn(Txn *t, const char *session, const char *region, uint64_t *ret_turn, Diag *reterr);

typedef struct SessionCarry {
        const char *session;
        const char *region; /* the turn's; NULL: the operator */
        const char *who;    /* the operator; NULL: a turn */
        const char *section;
        const json_t *value;
} SessionCarry;
/* session.carried: the value replaces that of the section. Before the end of the turn's region, in its transaction. */
int engine_session_carry(Txn *t, const SessionCarry *c, uint64_t *ret_version, Diag *reterr);
/* session.dropped: `count` writes of the turn do not count. */
int engine_session_drop(Txn *t, const char *session, const char *region, uint64_t count, const char *reason);
typedef struct SessionEnd {
        const char *session;
        const char *reason; /* closed, idle, daemon_stopped, discarded, supervisor_died, no_memory */
        const char *who;    /* or NULL */
        const json_t *evidence;
        bool erase;         /* the scope of the loop goes, too; without the word "erase" in the row of the session */
} SessionEnd;
/* session.ended, and the end of the session's region with the evidence; carried values leave the store, and the scope of
 * the loop does when it is to be erased. No turn lives: else ENGINE_E_CONFLICT. */
int engine_session_end(Txn *t, const SessionEnd *e, Diag *reterr);
/* session.resumed: this supervisor is the host from now on. lock: of the dead host that the caller has seen. Another host
 * since then: ENGINE_E_CONFLICT, so that a session never has two. */
int engine_session_adopt(Txn *t, const char *session, uint64_t lock, Diag *reterr);
/* The carried values of a session that is resumed: object section -> {"value","version"}. New reference. */
int engine_session_values(Txn *t, const char *session, json_t **ret, Diag *reterr);

/* The member `session` of a region's row: borrowed; NULL: no session. {"uid", "target", "on_crash", "idle_usec", "turns",
 * "turns_most", "opened_usec", "used_usec", "turn"?: region, "sections", "carried": {NAME: {"version", "bytes", "sha256",
 * "seq"?}}} */
const json_t *session_of_row(const RegionRow *row);
bool session_resumes(const json_t *session);
/* True: the session waits for a new host after a crash: its end is not recorded by recovery. */
bool session_waits(const json_t *session, uint64_t now_usec);

/* For engine/: the end of a region: a turn leaves its session. For recovery: a session's region takes its carried values
 * along, with session.ended. */
int session_region_over(Txn *t, const char *region, const json_t *row);
