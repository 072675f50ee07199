/* Runs: supervisor, CLI. From a note to a request: by an advisor when the caller has an advisor, else, or when the
 * advisor fails, by the built-in interpreter.
 *
 *   advisor -> request                                          as answered
 *          `-> no request, or invalid  -> repair: asked once more, with the fault
 *                                          `-> request           as answered, `repaired`
 *                                          `-> invalid again     built in, `degraded`
 *          `-> could not be run, ran too long, failed            built in, `degraded`
 *
 * An advisor's answer is a proposal. The note itself may have misled the advisor, so the answer is validated like any
 * request, and resolver and validator decide. When the advisor failed and the built-in interpreter finds no cue, the
 * note is invalid: no interpreter has called the note noise. */
#pragma once

#include "base/keyscan.h"
#include "belief/cues.h"

#define INTERPRET_VERSION 1
#define INTERPRET_LINE_MAX (1024 * 1024) /* bytes of a question; context rows above the limit are left out */
#define INTERPRET_RAW_KEPT (16 * 1024)   /* bytes of an answer stored with the note's outcome */

/* The advisor takes a line and gives a line, both without line feeds. Returns 0 with *ret_line owned;
 * BELIEF_E_ADVISOR_* with a message; -errno for Lethe's own trouble. */
typedef int (*InterpretFn)(void *userdata, const char *line, char **ret_line, Diag *reterr);

typedef struct Advisor {
        const char *name;    /* for the outcome */
        InterpretFn ask;
        void *userdata;
        uint64_t *about;     /* receives the number of the note before the question; or NULL */
        const char *region;  /* the region of the last answer; borrowed; or NULL */
        const KeyHold *keys; /* of the regions that live after the answer: an answer with a key is refused; or NULL */
} Advisor;

typedef struct Interpreted {
        BeliefRequest request;
        int code;            /* 0: request is set; else BELIEF_E_*: the note is invalid */
        Diag why;            /* of code */
        const char *by;      /* "built_in", or the advisor's name, borrowed */
        char *raw[2];        /* the advisor's first and second answer, cut; owned; or NULL */
        bool repaired, degraded;
        int fault;           /* the fault before `degraded` or `repaired`: BELIEF_E_*, else 0 */
        Diag fault_why;
} Interpreted;
void interpreted_deinit(Interpreted *i);
#define _cleanup_interpreted_ _cleanup_(interpreted_deinit)

/* advisor NULL: built in. context: {"issues":[…],"decisions":[…],"constraints":[…]}, the open and active rows (G-6),
 * borrowed, or NULL. Returns 0 for a valid and an invalid note, or -errno. */
int interpret(const Advisor *advisor_or_null, const char *note, size_t n, CueRole role, const json_t *context,
              Interpreted *ret);

/* For the note's outcome (G-12): {"by","degraded","repaired","fault"?:{"code","message"},"raw"?:[…]}. NULL: no
 * memory. */
json_t *interpreted_outcome(const Interpreted *i);
