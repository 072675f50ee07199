/* Runs: supervisor, CLI. From a note to a request: by an advisor where there is one, else, or when that one fails, by what is built in.
 *
 *   advisor -> request                                          as it is
 *          `-> not one, or not in order -> repair: asked once more, told what was wrong
 *                                          `-> request           as it is, `repaired`
 *                                          `-> not again         built in, `degraded`
 *          `-> could not be run, ran too long, failed            built in, `degraded`
 *
 * What an advisor says is a proposal by somebody who may have been talked into it by the note itself: it is parsed like anybody's, the resolver and the
 * validator decide. Where it failed and the built-in interpreter finds no cue, the note is invalid: nobody said that it is noise. */
#pragma once

#include "base/keyscan.h"
#include "belief/cues.h"

#define INTERPRET_VERSION 1
#define INTERPRET_LINE_MAX (1024 * 1024) /* bytes of what an advisor is told; rows of the context beyond it are left out */
#define INTERPRET_RAW_KEPT (16 * 1024)   /* bytes of an answer that are kept with the note's outcome */

/* One line in, one line out, without line feeds. Returns 0 with *ret_line owned; BELIEF_E_ADVISOR_* with a message; -errno when we are in trouble
 * ourselves. */
typedef int (*InterpretFn)(void *userdata, const char *line, char **ret_line, Diag *reterr);

typedef struct Advisor {
        const char *name;    /* for the outcome */
        InterpretFn ask;
        void *userdata;
        uint64_t *about;     /* where the number of the note goes before it is asked; or NULL */
        const char *region;  /* the one in which it answered last; borrowed; or NULL */
        const KeyHold *keys; /* of the regions that live when it has answered: no answer may hold one; or NULL */
} Advisor;

typedef struct Interpreted {
        BeliefRequest request;
        int code;            /* 0: request is set; else BELIEF_E_*: the note is invalid */
        Diag why;            /* of code */
        const char *by;      /* "built_in", or the advisor's name, borrowed */
        char *raw[2];        /* what the advisor said, the first time and the second, cut; owned; NULL: nothing */
        bool repaired, degraded;
        int fault;           /* why it is degraded, or what was repaired: BELIEF_E_*, else 0 */
        Diag fault_why;
} Interpreted;
void interpreted_deinit(Interpreted *i);
#define _cleanup_interpreted_ _cleanup_(interpreted_deinit)

/* advisor NULL: built in. context: {"issues":[…],"decisions":[…],"constraints":[…]}, what is open and active now (G-6), borrowed, or NULL. Returns 0, whatever
 * became of it; -errno. */
int interpret(const Advisor *advisor_or_null, const char *note, size_t n, CueRole role, const json_t *context, Interpreted *ret);

/* What is kept with the note's outcome (G-12): {"by","degraded","repaired","fault"?:{"code","message"},"raw"?:[…]}. New reference; NULL: no memory. */
json_t *interpreted_outcome(const Interpreted *i);
