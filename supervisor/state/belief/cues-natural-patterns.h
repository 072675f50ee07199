/* Runs: supervisor, CLI. The cues of cues-natural.c, in the order in which a sentence is held against each. */
#pragma once

#define NOW "?now|finally|already|also ?fully|completely"
#define DONE "fixed|resolved|solved|closed|repaired"
#define WE "we|i|we've|i've ?have ?now|finally|just|already|also"
#define THE "the|a|an|this|that|these|those|our|my"
#define RULE "constraint|restriction|requirement|rule"
#define GONE "lifted|dropped|withdrawn|obsolete|void|revoked"
#define UNDONE "reversed|revoked|withdrawn|superseded|overturned|dropped|obsolete|void"

static const Cue cues[] = {
        {"@ is|are|was|were " NOW " " DONE " .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.8},
        {"@ has|have " NOW " been " NOW " " DONE " .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.8},
        {"@ is|are ?now no longer ?a|an issue|issues|problem|problems|blocker|bug|broken|blocking|failing .",
         KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.75},
        {"@ no longer fails|crashes|occurs|happens|reproduces|blocks .",
         KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.75},
        {WE " " DONE " >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.8},
        {DONE " " THE " >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.75},
        {"?this|the|that patch|commit|change|release fixes|resolves|solves >",
         KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.75},
        {"this|that fixes|resolves|solves >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.75},
        {"fixes|resolves|closes " THE " >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.7},
        {WE " decided to|that >", KIND_DECISION, OP_APPEND, TAKES_REST_TEXT, DOUBT_HEARSAY, 0.8},
        {WE " decided against|on >", KIND_DECISION, OP_APPEND, TAKES_SENTENCE, DOUBT_HEARSAY, 0.8},
        {WE " agreed|chosen to|that >", KIND_DECISION, OP_APPEND, TAKES_REST_TEXT, DOUBT_HEARSAY, 0.75},
        {"it was|is ?now|finally decided to|that >", KIND_DECISION, OP_APPEND, TAKES_REST_TEXT, DOUBT_HEARSAY, 0.75},
        {"decided to|that >", KIND_DECISION, OP_APPEND, TAKES_REST_TEXT, DOUBT_HEARSAY, 0.75},
        {"the|our ?earlier|previous|old|first decision to|that|on|about|for|against @ is|was ?now|hereby " UNDONE " .",
         KIND_DECISION, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our ?earlier|previous|old|first decision to|that|on|about|for|against @ has ?now been " UNDONE " .",
         KIND_DECISION, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our ?earlier|previous|old|first decision to|that|on|about|for|against @ no longer applies|holds|stands .",
         KIND_DECISION, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {WE " reversed|revoked|withdrew|withdrawn|overturned the|our decision to|that|on|about|for|against >", KIND_DECISION, OP_INVALIDATE, TAKES_REST, DOUBT_BUT, 0.8},
        {"the|our " RULE " that|on|to|of|for|about @ no longer applies|holds|exists|stands .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our " RULE " that|on|to|of|for|about @ is|was ?now|finally " GONE " .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our " RULE " that|on|to|of|for|about @ has ?now|finally been " GONE " .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our " RULE " @ no longer applies|holds|exists|stands .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our " RULE " @ is|was ?now|finally " GONE " .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our " RULE " @ has ?now|finally been " GONE " .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our @ " RULE " no longer applies|holds|exists|stands .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our @ " RULE " is|was ?now|finally " GONE " .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our @ " RULE " has ?now|finally been " GONE " .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"@ must|shall not|never|always >", KIND_CONSTRAINT, OP_UPSERT, TAKES_SENTENCE, DOUBT_HEARSAY, 0.7},
        {"@ mustn't >", KIND_CONSTRAINT, OP_UPSERT, TAKES_SENTENCE, DOUBT_HEARSAY, 0.7},
        {"@ is|are forbidden|prohibited .", KIND_CONSTRAINT, OP_UPSERT, TAKES_SENTENCE, DOUBT_HEARSAY, 0.7},
        {"we|i|we're|i'm|work ?am|are|is ?now|still blocked by|on >",
         KIND_ISSUE, OP_UPSERT, TAKES_SENTENCE, DOUBT_HEARSAY, 0.7},
        {"@ is|are ?now|still|again broken .", KIND_ISSUE, OP_UPSERT, TAKES_SENTENCE, DOUBT_ALL, 0.6},
        {WE " learned|learnt that >", KIND_LEARNING, OP_APPEND, TAKES_REST_TEXT, DOUBT_HEARSAY, 0.75},
        {"?the task % is|was ?now|finally done|finished|complete|completed|started|blocked|failed .",
         KIND_TASK_STATE, OP_UPSERT, TAKES_TASK, DOUBT_ALL, 0.8},
};
