/* Runs: supervisor, CLI. The cues of cues-natural.c, in the order in which a sentence is held against each. */
#pragma once

#define NOW "?now|finally|already|also ?fully|completely"
#define DONE "fixed|resolved|solved|closed|repaired|cured|corrected|mended|squashed|eliminated|remedied|rectified|eradicated"
#define DONE_WITH "dealt|sorted|cleared|ironed with|out|up"
#define ANY_MORE "anymore|any ?more|longer"
#define WE "we|i|we've|i've ?have ?now|finally|just|already|also"
#define THE "the|a|an|this|that|these|those|our|my"
#define RULE "constraint|restriction|requirement|rule|ban|prohibition"
#define GONE "lifted|dropped|withdrawn|obsolete|void|revoked|removed|abolished|gone|repealed|rescinded|cancelled|canceled"
#define UNDONE "reversed|revoked|withdrawn|superseded|overturned|dropped|obsolete|void|abandoned|cancelled|canceled|rescinded"
#define CHOICE "decision|choice"
#define LIFTED "lifted|dropped|removed|abolished|withdrew|withdrawn|revoked|repealed|rescinded|cancelled|canceled"
#define REVERSED "reversed|revoked|withdrew|withdrawn|overturned|dropped|abandoned|cancelled|canceled|rescinded"

static const Cue cues[] = {
        {"@ is|are|was|were " NOW " " DONE " .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.8},
        {"@ has|have " NOW " been " NOW " " DONE " .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.8},
        {"@ is|are ?now no longer ?a|an issue|issues|problem|problems|blocker|bug|broken|blocking|failing .",
         KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.75},
        {"@ no longer fails|fail|crashes|crash|occurs|occur|happens|happen|reproduces|blocks|block|appears|exists|hangs .",
         KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.75},
        {"@ is|are|was|were " NOW " " DONE_WITH " .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.75},
        {"@ has|have " NOW " been " NOW " " DONE_WITH " .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.75},
        {"@ is|are " NOW " a thing of the past .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.75},
        {"there is|are no @ " ANY_MORE " .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.7},
        {WE " " DONE_WITH " >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.75},
        {"?we|i|we've|i've ?have ?now|finally got rid of >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.75},
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
        {"the|our ?earlier|previous|old|first " CHOICE " to|that|on|about|for|against|of @ is|was ?now|hereby " UNDONE " .",
         KIND_DECISION, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our ?earlier|previous|old|first " CHOICE " to|that|on|about|for|against|of @ has ?now been " UNDONE " .",
         KIND_DECISION, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our ?earlier|previous|old|first " CHOICE " to|that|on|about|for|against|of @ no longer applies|holds|stands .",
         KIND_DECISION, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {WE " " REVERSED " the|our @ " CHOICE " .",
         KIND_DECISION, OP_INVALIDATE, TAKES_NAME, DOUBT_BUT, 0.75},
        {WE " " LIFTED " the|our @ " RULE " .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_NAME, DOUBT_BUT, 0.75},
        {WE " " LIFTED " the|our " RULE " @ .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.75},
        {WE " " REVERSED " the|our " CHOICE " to|that|on|about|for|against|of >",
         KIND_DECISION, OP_INVALIDATE, TAKES_REST, DOUBT_BUT, 0.8},
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
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_NAME, DOUBT_BUT, 0.8},
        {"the|our @ " RULE " is|was ?now|finally " GONE " .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_NAME, DOUBT_BUT, 0.8},
        {"the|our @ " RULE " has ?now|finally been " GONE " .",
         KIND_CONSTRAINT, OP_INVALIDATE, TAKES_NAME, DOUBT_BUT, 0.8},
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
