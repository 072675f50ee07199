/* Runs: supervisor, CLI. Inside of compress-limits.c: units, and words by which a limit changes. */
#pragma once

/* Names of one unit, the first is canonical. Amounts of unlike currencies can stand for one another. */
static const struct LimitUnit {
        const char *words;
        bool money;
} limit_units[] = {
        {" $ dollars dollar usd bucks ", true},
        {" \xe2\x82\xac euros euro eur ", true},
        {" \xc2\xa3 pounds pound gbp quid ", true},
        {" chf francs franc ", true},
        {" kr kroner krona kronor krone nok sek dkk crowns ", true},
        {" \xc2\xa5 yen jpy yuan cny rmb ", true},
        {" inr rupees rupee ", true},
        {" peso pesos mxn ", true},
        {" zloty pln zlotys ", true},
        {" cents cent ", true},
        {" % percent pct percentage ", false},
        {" ms millisecond milliseconds msec ", false},
        {" s sec secs second seconds ", false},
        {" min mins minute minutes ", false},
        {" h hr hrs hour hours ", false},
        {" kg kilo kilos kilogram kilograms ", false},
        {" g gram grams ", false},
        {" t ton tons tonne tonnes ", false},
        {" m metre metres meter meters ", false},
        {" km kilometre kilometres kilometer kilometers ", false},
        {" mb megabyte megabytes ", false},
        {" gb gigabyte gigabytes gig gigs ", false},
        {" kcal calories calorie cal ", false},
        {" degree degrees celsius ", false},
};
/* The clause names a limit. */
static const char *const limit_names[] = {
        "limit", "cap", "ceiling", "max", "maximum", "threshold", "budget", "upper bound", "at most", "up to", "minimum",
        "no more than", "not more than", "at least", "tops", "under", "below", "within", "or less", "capped at", "floor",
        "at the most", "less than", "allowance"};
/* Behind a measure: the measure is accepted. */
static const char *const limit_fine[] = {
        "is fine", "is ok", "is okay", "is acceptable", "is alright", "is all right", "is enough", "is good enough",
        "are fine", "are ok", "are okay", "are acceptable", "are alright", "are all right", "would be fine",
        "would be ok", "would be okay", "would be alright", "would be all right", "would be acceptable", "will do",
        "would do", "is also fine", "is still fine", "is still ok", "is still okay", "is tolerable", "is allowed",
        "are allowed", "will be fine", "is more realistic", "is realistic", "is reasonable", "is better", "works too",
        "is also ok", "is also okay", "is fair"};
/* The number of the limit does not fit. */
static const char *const limit_unfit[] = {
        "too strict", "too tight", "too low", "too high", "too little", "too much", "too short", "too long", "too small",
        "too few", "too many", "too large", "too ambitious", "too generous", "too loose", "not enough", "unrealistic",
        "not realistic", "impossible", "not feasible", "too narrow", "too harsh", "won't work", "doesn't work",
        "can't be met", "cannot be met", "is tight", "was wrong", "is wrong", "not possible", "isn't enough",
        "won't be enough", "unreachable", "isn't realistic", "is not achievable", "isn't feasible"};
/* The sentence changes a limit. */
static const char *const limit_turns[] = {
        "now", "new", "instead", "rather", "change", "changed", "changes", "raise", "raised", "raises", "lower", "lowered",
        "increase", "increased", "reduce", "reduced", "bump", "bumped", "extend", "extended", "relax", "relaxed", "from",
        "actually", "not", "let's say", "make it", "make that", "revised", "updated", "correction", "from now on", "cut",
        "went up", "went down", "loosen", "tighten", "let us say", "moves to", "goes up", "goes down", "after all"};
/* Words without the matter of a limit. */
static const char *const limit_idle[] = {
        "limit", "cap", "ceiling", "max", "maximum", "threshold", "budget", "upper", "bound", "most", "least", "more",
        "less", "than", "under", "below", "above", "over", "within", "up", "tops", "capped", "floor", "minimum", "stay",
        "stays", "keep", "kept", "exceed", "spend", "pay", "go", "limited", "beyond", "new", "now", "instead", "rather",
        "fine", "ok", "okay", "acceptable", "enough", "alright", "right", "allowed", "accept", "afford", "may", "can",
        "later", "earlier", "too", "also", "nothing", "use", "take", "raise", "raised", "better", "still", "let's",
        "fewer", "allow", "get", "cost", "costs", "price", "be", "is", "are", "say", "per", "set", "deadline"};
static const char *const limit_least[] = {"at least", "no less than", "minimum", "no fewer than", "not below", "least"};
/* The sentence makes no decision. */
static const char *const limit_guesses[] = {"might", "maybe", "perhaps", "possibly", "whether", "if", "wonder", "guess",
                                            "not sure", "suppose", "claims", "says", "said", "costs", "cost", "priced"};
