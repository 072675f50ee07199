/* Runs: lethe-serve. A hosted session, for session*.c alone. The list and its members marked "of the list's lock" are
 * under Server.sessions_lock; all else belongs to whoever has entered the session. */
#pragma once

#include "serve/serve.h"

#include "cognition/cognition.h"
#include "region/region-carry.h"
#include "scrub/evidence.h"

struct Session {
        LIST_ENTRY(Session) all;
        char id[REGION_ID_MAX];
        uid_t uid;
        char *target, *skill, *digest; /* owned */
        json_t *sections;       /* owned; not changed */
        Carry *carry;           /* of the job that has the turn */
        uint64_t idle_usec, deadline; /* CLOCK_MONOTONIC; of the list's lock */
        int free_fd;            /* semaphore: readable when no turn, carry or end is under way */
        unsigned users, waiting; /* of the list's lock, like the three below */
        Job *turn;              /* borrowed: to be cancelled by a close */
        unsigned closing;       /* closes under way: no turn begins */
        bool over;
        bool resumes, resumed;
        Discipline discipline;
        unsigned passes;
        char cognition[SESSION_NAME_MAX]; /* the cognitive session of the loop around the skill, or "" */
        bool advised;           /* a skill compresses its turns */
        bool erases;            /* the scope of the loop goes with the session */
};

/* session.c */
/* One reference, in no list. NULL with *ret_e: a code of carry_new() or -errno. */
Session *session_new(const json_t *sections, Diag *reterr, int *ret_e);
void session_unref(Server *s, Session *x);
Session *session_hosted(Server *s, const char *id); /* a reference, or NULL */
void session_enlist(Server *s, Session *x);         /* with a reference of the list */
/* Waits for the session's present turn. closes: the caller ends the session; others are refused from the close's
 * beginning. Returns 0, SERVE_E_* with a message, or -ECANCELED for an order to the job. */
int session_enter(Server *s, Session *x, bool closes, int cancel, Diag *reterr);
void session_leave(Server *s, Session *x);
/* A code of the engine as SERVE_E_*: the store's state refused or ended a turn. The engine's words stay. */
int session_code(int e, Diag *reterr);

/* session-adopt.c: the session of the request, for its user alone. *ret: a reference. Returns 0 or SERVE_E_*. */
int session_of(Job *j, Session **ret, Diag *reterr);

/* session-end.c: the end of a session that the caller has entered: recorded after all of its turns and after the
 * overwriting. Returns 0 or SERVE_E_*. */
typedef struct SessionOver {
        const char *reason, *who; /* as in SessionEnd */
        bool erase;
} SessionOver;
int session_end(Server *s, Session *x, const SessionOver *how, Diag *reterr);

/* session-turn.c, session-end.c: the methods */
int session_carry(Job *j, Diag *reterr);
int session_close(Job *j, Diag *reterr);
