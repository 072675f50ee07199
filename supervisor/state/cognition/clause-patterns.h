/* Runs: supervisor, CLI. Inside of rules-clause.c: words of obligation, permission and prohibition. */
#pragma once

/* Behind "is": "is [not] [strictly] allowed". */
static const char *const clause_permits[] = {
        "allowed",    "permitted",  "ok",           "okay",         "fine",    "alright",    "all right",
        "welcome",    "acceptable", "authorized",   "authorised",   "free to", "possible",   "tolerated",
        "admissible", "fair game",  "unrestricted", "up for grabs", "legal",   "cleared to", "good to go"};
static const char *const clause_forbids[] = {
        "forbidden",           "prohibited",    "banned",    "barred",   "off-limits", "off limits",
        "out of the question", "not an option", "taboo",     "no-go",    "no go",      "unacceptable",
        "out of bounds",       "disallowed",    "ruled out", "verboten", "blocked for"};
static const char *const clause_obliges[] = {
        "required",    "needed",     "necessary",     "mandatory", "essential",   "imperative",     "obligatory",
        "vital",       "crucial",    "must",          "important", "expected to", "supposed to",    "obliged to",
        "required to", "compulsory", "indispensable", "critical",  "called for",  "non-negotiable", "read-only"};
/* Between "is" and these words. */
static const char *const clause_adverbs[] = {
        "now",        "again",     "still",     "strictly",    "absolutely", "always",    "expressly",
        "explicitly", "also",      "generally", "completely",  "totally",    "very",      "really",
        "currently",  "ever",      "just",      "so",          "more",       "therefore", "hereby",
        "a",          "an",        "simply",    "perfectly",   "quite",      "all",       "entirely",
        "longer",     "extremely", "most",      "an absolute", "utterly"};
static const char *const clause_be[] = {"is", "are", "it's", "that's", "isn't", "aren't", "be", "you're",
                                        "was", "were", "wasn't", "weren't", "been",  "they're", "ain't"};
/* A negated need lifts: "you don't need …", "needn't", and with "anymore" any negation. */
static const char *const clause_needless[] = {"don't need",
                                              "do not need",
                                              "doesn't need",
                                              "does not need",
                                              "don't require",
                                              "do not require",
                                              "doesn't require",
                                              "does not require",
                                              "doesn't have to",
                                              "does not have to",
                                              "needn't",
                                              "need not",
                                              "no longer",
                                              "isn't needed",
                                              "isn't necessary",
                                              "isn't required",
                                              "aren't needed",
                                              "aren't necessary",
                                              "aren't required",
                                              "won't need",
                                              "will not need",
                                              "won't be needed",
                                              "is history",
                                              "are history",
                                              "is moot",
                                              "is void",
                                              "are void",
                                              "is obsolete",
                                              "you can stop",
                                              "you may stop",
                                              "you can skip",
                                              "you may skip",
                                              "you can drop",
                                              "you may drop",
                                              "you can forget",
                                              "you may forget",
                                              "no reason to",
                                              "not bound by",
                                              "can be skipped",
                                              "may be skipped",
                                              "can be dropped",
                                              "may be dropped",
                                              "is a thing of the past",
                                              "was lifted",
                                              "were lifted",
                                              "has been waived",
                                              "is waived",
                                              "are waived"};
static const char *const clause_anymore[] = {"anymore", "any more", "any longer"};
static const char *const clause_negations[] = {"not", "don't", "doesn't", "isn't", "aren't", "won't", "needn't",
                                               "cannot", "can't", "no",      "nobody", "never",  "nothing"};
static const char *const clause_times[] = {"now", "again", "after all", "from now on",
                                           "anymore", "any more", "any longer"};
static const char *const clause_terms[] = {"if", "until", "till", "unless", "up to", "when",
                                           "as long as", "within", "provided", "only",   "at most", "once"};
/* "I'd rather you didn't touch …". */
static const char *const clause_rather[] = {"i'd rather you didn't",
                                            "i would rather you didn't",
                                            "i'd rather you did not",
                                            "i'd rather not",
                                            "i would rather not",
                                            "i'd prefer not to",
                                            "i would prefer not to",
                                            "i prefer not to",
                                            "we'd rather not",
                                            "we prefer not to",
                                            "i'd prefer you didn't",
                                            "i'd prefer if you didn't",
                                            "we'd rather you didn't",
                                            "i would prefer you not to",
                                            "i'd prefer you not to",
                                            "i'd appreciate it if you didn't",
                                            "better not",
                                            "you'd better not",
                                            "try not to",
                                            "i'm not comfortable with",
                                            "i'd hate to",
                                            "spare me",
                                            "i refuse to",
                                            "we refuse to",
                                            "i will not",
                                            "please spare us",
                                            "please spare me"};
static const char *const clause_demands[] = {
        "i expect you to",  "you need",      "we expect you to", "see to it that",   "see to it",       "see that",
        "take care that",   "take care to",  "don't forget to",  "do not forget to", "never forget to", "you will need",
        "you'll need",      "you are to",    "you're to",        "mind that",        "make certain",    "be certain to",
        "it's on you to",   "i insist that", "i insist on",      "we insist on",     "we insist that",  "i demand that",
        "i rely on you to", "you ought to",  "you had better",   "you'd better"};
static const char *const clause_warnings[] = {
        "be careful not to", "take care not to", "make sure not to",   "be sure not to",   "you are not to",
        "you're not to",     "you will not",     "you won't",          "you will never",   "you'll never",
        "you are never to",  "you're never to",  "it won't do to",     "i won't have",     "i won't accept",
        "we won't accept",   "i won't tolerate", "we do not tolerate", "we don't tolerate"};
/* A verb in the present behind a plural or "every …": a habit. */
static const char *const clause_habits[] = {"go", "goes", "belong", "belongs", "need", "needs",
                                            "get",   "gets",  "stay",   "stays",   "remain",  "remains",
                                            "come",  "comes", "happen", "happens", "have to", "has to",
                                            "leave", "end",   "start",  "count",   "should"};
static const char *const clause_every[] = {"all", "every", "each", "any", "anything",
                                           "everything", "everyone",   "anyone", "anybody", "everybody",
                                           "no one but", "nobody but", "only"};
static const char *const clause_stays[] = {"stays", "stay", "remains", "remain", "must stay",
                                           "is to remain", "is to stay", "are to remain", "are to stay", "is to be",
                                           "are to be",    "has to",     "have to",       "needs to",    "need to"};
/* With a number: a bound. */
static const char *const clause_refuses[] = {"can't", "cannot", "won't", "can not",
                                             "will not", "mustn't", "couldn't", "wouldn't"};
static const char *const clause_bounds[] = {"more than", "less than", "over", "above", "before",
                                            "after",     "later than", "earlier than", "longer than", "below",
                                            "under",     "exceed",     "fewer than",   "beyond"};
/* An imperative with "no" before its object. */
static const char *const clause_makes[] = {"make", "give", "send", "take", "use", "put", "leave",
                                           "let",    "start", "run",     "open",  "allow",  "add",   "accept",
                                           "issue",  "grant", "promise", "quote", "share",  "show",  "create",
                                           "delete", "order", "buy",     "book",  "charge", "spend", "tell"};
/* The past, and guesses: no rules. */
static const char *const clause_past[] = {
        "last year",     "last month",  "last week",          "last night", "yesterday",      "used to",
        "back then",     "in the past", "formerly",           "years ago",  "months ago",     "weeks ago",
        "days ago",      "at the time", "the old policy was", "had to",     "at my last job", "ago",
        "in those days", "once upon",   "previously",         "at my old",  "before me",      "once was"};
static const char *const clause_moods[] = {
        "tired", "kidding", "joking",   "mistaken",   "right",     "wrong",    "proud", "busy",         "crazy",
        "new",   "sure",    "confused", "dreaming",   "exhausted", "thrilled", "happy", "glad",         "aware",
        "hard",  "fun",     "nice",     "great",      "a mistake", "an error", "a bug", "some mistake", "something",
        "why",   "how",     "because",  "the reason", "worried",   "upset",    "angry", "familiar",     "bored"};
static const char *const clause_own_who[] = {"nobody", "no one", "nothing", "we never", "i never", "they never"};
static const char *const clause_own_allow[] = {
        "you can",        "you could",         "go ahead and",    "you may go ahead and",
        "you're free to", "i'm fine with you", "i'm ok with you", "i have no objection to"};
static const char *const clause_own_open[] = {"unclear", "unknown", "open", "unresolved", "to be seen",
                                              "uncertain", "the same", "a mystery", "a problem",  "an issue"};
static const char *const clause_own_wants[] = {"i want", "we want", "i need", "we need", "i'd like", "i would like"};
static const char *const clause_own_terms[] = {"until", "unless", "as long as", "whenever",
                                               "in case", "every time", "any time",   "each time"};
static const char *const clause_own_forbids[] = {"must not", "may not", "should not", "shouldn't", "can't",
                                                 "cannot",   "mustn't", "don't want", "do not want", "can not",
                                                 "nobody",   "no one",  "couldn't"};
static const char *const clause_own_bars[] = {"must no longer", "may no longer", "shall no longer", "should no longer"};
static const char *const clause_own_by_now[] = {"by now", "already", "soon", "shortly", "in a minute", "in a moment"};
/* With a word for all times behind: a rule. */
static const char *const clause_you[] = {"i'd like you to", "i want you to", "i need you to", "we want you to",
                                         "we need you to",  "we'd like you to", "i would like you to", "i ask you to"};
static const char *const clause_ever[] = {"always", "never", "every", "each",
                                          "at all times", "at any time",   "every time", "each time",
                                          "from now on",  "going forward", "whenever",   "all"};
/* A fact, no rule: "we can't reach the host". */
static const char *const clause_unable[] = {"we can't", "we cannot", "i can't", "i cannot", "we can not"};
static const char *const clause_failing[] = {"reach", "find", "see", "log in", "connect", "tell", "remember",
                                             "say",   "get into", "access", "log on", "explain", "figure", "reproduce"};
