/* Runs: supervisor, CLI. The words by which the files of statement.h take a sentence apart. */
#pragma once

#include "engine/statement.h"

#define BE "is|are|be|was|were|been"
#define NOT "not|never"
#define NOBODY "we|you|i|one|everybody|everyone|people|anybody|anyone|team|project|us|let|it"
#define MUST "must|shall|should|will"
#define MAY "may|can"
#define HAVE_TO "have|has|need|needs|ought"

/* "is …", "must be …". */
#define ALLOWED "allowed|permitted|free|authorised|authorized|welcome|ok|okay|fine|acceptable|legal"
#define BANNED "forbidden|prohibited|banned|disallowed|barred|denied|illegal|verboten|unacceptable|blocked"
#define NEEDED "required|obliged|mandatory|obligatory|necessary|compulsory|needed|supposed|expected"
#define SPARE "optional|unnecessary|needless"

/* Orders and verbs of "we": an action is required … */
#define VERBS                                                                                                          \
        "use|adopt|keep|run|store|log|send|write|read|deploy|build|test|sign|encrypt|enable|disable|include|exclude|"  \
        "connect|call|push|merge|commit|open|close|start|stop|add|remove|install|ship|release|publish|support|accept|" \
        "reject|return|validate|check|verify|review|document|name|format|cache|retry|limit|set|put|pin|host|share|"    \
        "copy|move|load|save|show|hide|block|allow|permit|forbid|ban|prohibit|disallow|require|avoid|drop|abandon|"    \
        "refrain|print|import|export|cut|increase|decrease|delete|create|make|get|take|give|prefer|choose|switch|"     \
        "migrate|rotate|trust|mount|expose|listen|compress|escape|sanitise|sanitize|lock|wait|fail|drink|eat|like"
/* … or forbidden. */
#define AVOIDING "avoid|forbid|ban|prohibit|disallow|drop|abandon|refrain|stop|reject|block"

/* Nouns with a single value: "the default branch is main". */
#define SINGLE_VALUED                                                                                                \
        "default|name|owner|language|version|birthday|capital|branch|port|author|maintainer|leader|license|licence|" \
        "encoding|timezone|currency|database|colour|color|editor|compiler|deadline|host|hostname|region|address|"    \
        "store|storage|format|protocol|framework|algorithm|backend|provider"

/* Words before an order. */
#define CALLERS "we|you|please|to|let|us"
/* Behind a comma: the end of the clause. */
#define ASIDES "as|which|but|although|though|otherwise"
/* Left out of a comparison of two phrases. */
#define FILLERS                                                                                             \
        "a|an|the|any|all|every|each|some|our|your|my|their|its|his|her|this|that|these|those|such|please|" \
        "also|ever|always|still|own|strictly|absolutely|currently|now|therefore|hence|simply|just|generally"
#define ARE "it|that|there|what|he|she|this"
/* Nouns, and no verbs in the place of a noun. */
#define NOUNS_IN_ING                                                                                     \
        "logging|testing|caching|string|everything|nothing|anything|something|during|according|staging|" \
        "pricing|routing|tracing|processing"
/* Verbs of a report. A reported word is no rule. */
#define SAID "said|says|say|claimed|claims|thinks|thought|believes|heard|told|asked|wrote|suggested|doubts|hopes"
/* Verbs of a decision, before "that". */
#define DECIDES "decided|agreed|rule|is|ensure|sure|note|requires|means|policy|decision|constraint"
/* "Decision: …" */
#define HEADS "decision|decided|agreed|rule|constraint|note|remember|policy"
/* The first word of a sentence without claims. */
#define CONDITIONS "if|when|unless|while|until|did|does|is|are|should|may|can"
/* Words of a sentence without claims. */
#define GUESSES "maybe|perhaps|probably|might|could|would"
/* Besides those in -ed. */
#define PARTICIPLES                                                                                           \
        "run|kept|sent|made|built|written|done|taken|given|shown|held|read|put|set|cut|hidden|chosen|driven|" \
        "overridden|split|shut|left|told|seen"
/* Adjectives, and no values that exclude others. */
#define NO_NAMES                                                                                           \
        "slow|fast|big|small|old|new|bad|good|free|busy|stable|empty|full|ready|safe|wrong|right|correct|" \
        "unknown|missing|important|protected|secure|down|up|here|there|local|remote|fixed"
/* Subjects without a name. */
#define UNNAMED "it|this|that|there|he|she|they|what|which|some|most"

#ifdef STATEMENT_WORD_TABLES
/* Synonyms, by stem. */
static const struct {
        const char *words, *stem;
} synonyms[] = {
        {"util|utilis|employ|leverag|access|adopt|chose|choos|pick|select", "use"},
        {"delet|eras", "remov"},
        {"repo", "repositori"},
        {"db", "databas"},
        {"config", "configur"},
        {"prod", "product"},
        {"doc|docs", "document"},
        {"postgresql", "postgr"},
        {"k8s", "kubernet"},
        {"js", "javascript"},
};

/* Forms of verbs with different stems. */
static const struct {
        const char *forms, *base;
} verb_forms[] = {
        {"ran|running", "run"},     {"kept", "keep"},           {"sent", "send"},
        {"made", "make"},           {"built", "build"},         {"written|wrote", "write"},
        {"done|did|does", "do"},    {"taken|took", "take"},     {"given|gave", "give"},
        {"shown", "show"},          {"held", "hold"},           {"paid", "pay"},
        {"left", "leave"},          {"told", "tell"},           {"sold", "sell"},
        {"lent", "lend"},           {"spent", "spend"},         {"gone|went", "go"},
        {"had|has", "have"},        {"chosen|chose", "choose"}, {"driven", "drive"},
        {"hidden", "hide"},         {"broken", "break"},        {"worn", "wear"},
        {"brought", "bring"},       {"bought", "buy"},          {"taught", "teach"},
        {"caught", "catch"},        {"drawn", "draw"},          {"grown", "grow"},
        {"thrown", "throw"},        {"known", "know"},          {"seen", "see"},
        {"eaten", "eat"},           {"frozen", "freeze"},       {"begun", "begin"},
        {"overridden", "override"}, {"forgotten", "forget"},    {"split", "split"},
};
#endif

#ifdef STATEMENT_ANTONYMS
/* Verbs and adjectives with their opposites. */
static const struct {
        const char *stem, *of;
} antonyms[] = {
        {"disabl", "enabl"},    {"exclud", "includ"},     {"reject", "accept"},      {"hide", "show"},
        {"decreas", "increas"}, {"deni", "allow"},        {"deactiv", "activ"},      {"off", "on"},
        {"close", "open"},      {"privat", "public"},     {"asynchron", "synchron"}, {"async", "sync"},
        {"fals", "true"},       {"unsupport", "support"}, {"unsaf", "safe"},         {"unstabl", "stabl"},
        {"invalid", "valid"},   {"unencrypt", "encrypt"}, {"immut", "mutabl"},       {"insecur", "secur"},
        {"unavail", "avail"},   {"offlin", "onlin"},      {"insensit", "sensit"},    {"incompat", "compat"},
        {"unsign", "sign"},     {"stateless", "state"},   {"unlimit", "limit"},      {"untrust", "trust"},
};
#endif
