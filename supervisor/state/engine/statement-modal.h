/* Runs: supervisor, CLI. For statement.c: finds the modal verb of a sentence, or its order. */
#pragma once

#include "engine/statement-words.h"

/* A sentence with a modal verb, or an order. */
typedef struct Modal {
        ClaimTag tag;
        WordSpan who, action; /* action: from the verb on */
        bool only_action;     /* "may only use" */
        bool only_who;        /* "only admins may" */
        bool be;              /* action is a state, or a passive verb: "are always retried" */
        bool noun;            /* action is a thing: "network access is forbidden" */
} Modal;

/* Finds the first modal verb ("must", "is not allowed to", "never"); *ret_at: the place of the verb. */
bool modal_find(WordSpan s, Modal *ret, size_t *ret_at);
/* An order, "we use …", "no network": without a modal verb. */
bool modal_order(WordSpan s, Modal *ret);
/* "using": a verb in the place of a noun. */
bool word_is_gerund(const StatementWord *w);
/* Drops "we decided that" before, and "because …" behind. False: a reported word, a condition, a guess. */
bool modal_clause(WordSpan *s);
