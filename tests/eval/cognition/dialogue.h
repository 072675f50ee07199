/* Runs: tests. Dialogues with a known state, a dialogue a line as JSON: the subset of Schema-Guided Dialogue in
 * tests/data/sgd, and generated episodes (README.md). The file is not trusted: an invalid line is an error with the
 * line, the field, the value and the rule. */
#pragma once

#include "base/json.h"

#define DIALOGUE_LINE_MAX ((size_t)4 * 1024 * 1024)
#define DIALOGUES_MAX 20000
#define DIALOGUE_TURNS_MAX 2000
#define DIALOGUE_TEXT_MAX (256 * 1024) /* of a turn, of a tool's output */
#define DIALOGUE_FORM_MAX 256
#define DIALOGUE_FORMS_MAX 64

enum {
        DIALOGUE_E_BAD = 1, /* the message names the line */
};

typedef struct DialogueTurn {
        bool user;
        const char *text;    /* borrowed, as everything here */
        const json_t *state; /* of the user's turns: service -> {"slots": {slot: [form, ...]}, "lifted"?: [slot, ...]} */
        const json_t *acts;  /* [["ACT Service.slot", form, ...], ...], or NULL */
        const json_t *tools; /* [{"name", "text"}, ...], or NULL */
        const json_t *stress; /* topics of the turn, or NULL */
} DialogueTurn;

typedef struct Dialogue {
        json_t *source; /* owned */
        const char *id, *domain; /* borrowed; domain: "dialogues" where the line names none */
        DialogueTurn *turns;     /* owned */
        size_t n_turns, n_user;
} Dialogue;
typedef struct Dialogues {
        Dialogue *v;
        size_t n;
} Dialogues;
/* Returns 0, DIALOGUE_E_BAD, -ENOMEM. */
int dialogues_read(const char *text, size_t n, Dialogues *ret, Diag *reterr);
void dialogues_deinit(Dialogues *d);
#define _cleanup_dialogues_ _cleanup_(dialogues_deinit)
