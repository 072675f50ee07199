/* Runs: supervisor, CLI. The constraint meant by the words of a speaker. */
#include "cognition/compress-inside.h"

bool constraint_read(const char *atom, CompressSource *ret_source, char *body, size_t n_body) {
        const char *at = strchr(atom, '('), *end = at ? strchr(at, ',') : NULL;
        size_t n;

        if (!end)
                return false;
        for (CompressSource s = 0; s < COMPRESS_SOURCES; s++)
                if (strlen(compress_source_name(s)) == (size_t)(end - at - 1) &&
                    memcmp(at + 1, compress_source_name(s), (size_t)(end - at - 1)) == 0) {
                        *ret_source = s;
                        end += 1 + (end[1] == ' ');
                        n = strlen(end);
                        n -= n > 0;
                        if (n > 1 && end[0] == '"' && memchr(end + 1, '"', n - 1) == end + n - 1) {
                                end++; /* words with a comma: the quotes are of the atom */
                                n -= 2;
                        }
                        n = MIN(n, n_body - 1);
                        memcpy(body, end, n);
                        body[n] = '\0';
                        return true;
                }
        return false;
}

bool constraint_limits(const char *body) {
        static const char *const words[] = {"most", "least", "more than", "less than", "under",
                                            "below", "budget", "limit", "up to", "exceed",
                                            "later than", "earlier than", "maximum", "deadline", "above",
                                            "over", "beyond", "within", "cap", "capped", "max", "ceiling",
                                            "longer than", "limited to", "cheaper than", "fewer than", "minimum"};

        return strpbrk(body, "0123456789") && PHRASE_WITHIN(words, body) > 0;
}

bool constraint_about_rules(const char *body, bool *ret_limit) {
        static const char *const any[] = {"rule", "restriction", "constraint", "requirement",
                                          "condition", "ban", "prohibition", "freeze"};
        static const char *const limit[] = {"limit", "budget", "cap", "deadline", "limits"};

        *ret_limit = PHRASE_WITHIN(limit, body) > 0;
        return *ret_limit || PHRASE_WITHIN(any, body) > 0;
}

size_t constraint_meant(const Compress *c, const char *body, bool exact) {
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];
        bool limit, rules = constraint_about_rules(body, &limit);
        size_t best = SIZE_MAX, best_score = 0;
        RuleStems said, old;

        rule_stems(body, &said);
        for (size_t i = 0; i < l->n; i++) {
                char have[ATOM_MAX + 1];
                CompressSource s;
                size_t n = 0, m = 0, shared = 0, score;

                if (!constraint_read(l->atoms[i], &s, have, sizeof(have)))
                        continue;
                rule_stems(have, &old);
                if (rule_stems_meet(&old, &said)) {
                        shared = rule_stems_shared(&old, &said, &n);
                        rule_stems_shared(&said, &old, &m);
                }
                score = n > 0 ? 100 * shared / n : 0;
                if (exact && (shared == 0 || 100 * shared / n < 60 || (m > 0 && 100 * shared / m < 60)))
                        continue;
                if (!exact && score < 50 && !(m > 0 && shared >= 2 && 100 * shared / m >= 60)) {
                        if (!rules || (limit && !constraint_limits(have)))
                                continue;
                        score = 10 + 30 * (shared > 0);
                        if (!limit && s == COMPRESS_USER)
                                score++;
                }
                if (score >= best_score) {
                        best = i;
                        best_score = score;
                }
        }
        return best;
}

/* "Write as you like", "drop the layout rule": the newest rule about how the agent writes. */
static size_t constraint_of_style(const Compress *c, const char *body) {
        static const char *const style[] = {"layout", "format", "formatting", "style", "wording", "as you like",
                                            "as you see fit", "as you wish", "replies", "answers", "tone",
                                            "phrasing", "as you please", "messages"};
        static const char *const writes[] = {"write", "answer", "reply", "replies", "answers", "reports", "messages",
                                             "quote", "list", "name", "cite", "mention", "start", "begin", "end", "sign",
                                             "round", "put", "give", "use", "keep", "show", "add", "format", "text",
                                             "updates", "sentences", "state", "print", "mark", "report"};
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];

        for (size_t i = PHRASE_WITHIN(style, body) > 0 ? l->n : 0; i-- > 0;) {
                char have[ATOM_MAX + 1], first[ATOM_MAX + 1];
                CompressSource s;

                if (strncmp(l->atoms[i], "must(", 5) != 0 || !constraint_read(l->atoms[i], &s, have, sizeof(have)))
                        continue;
                snprintf(first, sizeof(first), "%.*s", (int)strcspn(have, " "), have);
                if (PHRASE_WITHIN(writes, first) > 0)
                        return i;
        }
        return SIZE_MAX;
}

/* "Go ahead without asking": the newest rule about approval. */
static size_t constraint_of_approval(const Compress *c, const char *body) {
        static const char *const free[] = {"without asking", "without approval", "without release", "without extra",
                                           "without further", "without sign off", "without signature",
                                           "without confirmation", "without permission", "no approval", "no release",
                                           "no sign off", "approval step", "approval rule"};
        static const char *const agree[] = {"approval", "approved", "approve", "confirmed", "confirm", "wait", "yes",
                                            "sign off", "signed", "released", "release", "ask", "permission", "consent",
                                            "agreed", "okayed", "signature"};
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];

        for (size_t i = PHRASE_WITHIN(free, body) > 0 ? l->n : 0; i-- > 0;)
                if (strncmp(l->atoms[i], "must(", 5) == 0 && PHRASE_WITHIN(agree, l->atoms[i]) > 0)
                        return i;
        return SIZE_MAX;
}

size_t constraint_permitted(const Compress *c, const char *body) {
        static const char *const idle[] = {"fine", "ok", "okay", "good", "free", "possible", "allowed", "permitted", "go",
                                           "out", "problem", "objection", "mind", "welcome", "safe", "usable"};
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];
        size_t best = SIZE_MAX, best_score = 0, m;

        rule_shared(body, "", &m);
        m -= MIN(m, PHRASE_WITHIN(idle, body));
        for (size_t i = 0; i < l->n; i++) {
                char have[ATOM_MAX + 1];
                CompressSource s;
                size_t n, shared;

                if ((strncmp(l->atoms[i], "must_not(", 9) != 0 && strncmp(l->atoms[i], "avoid(", 6) != 0) ||
                    !constraint_read(l->atoms[i], &s, have, sizeof(have)))
                        continue;
                shared = rule_shared(have, body, &n);
                if (n == 0 || 100 * shared / n < 60 || m > shared + 1 + n / 3 || 100 * shared / n < best_score)
                        continue;
                best = i;
                best_score = 100 * shared / n;
        }
        return best;
}

size_t constraint_hinted(const Compress *c, const char *body) {
        static const char *const meta[] = {"lifted", "lift", "forget", "drop", "dropped", "rule", "gone", "skip", "waive",
                                           "waived", "cancel", "ignore", "step", "withdrawn", "permitted", "expired",
                                           "revoked", "needn", "any longer", "necessary", "unnecessary", "optional", "longer", "requirement", "restriction", "ban", "scratch", "relax",
                                           "matters", "matter", "applies", "apply", "needed", "required"};
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];
        size_t best = SIZE_MAX, best_shared = 0, m;
        bool tie = false;

        rule_shared(body, "", &m);
        m -= MIN(m, PHRASE_WITHIN(meta, body));
        for (size_t i = 0; i < l->n; i++) {
                char have[ATOM_MAX + 1];
                CompressSource s;
                size_t n, shared;

                if (!constraint_read(l->atoms[i], &s, have, sizeof(have)))
                        continue;
                shared = rule_shared(body, have, &n);
                if (shared == 0 || 2 * shared < m)
                        continue;
                tie = shared == best_shared;
                if (shared > best_shared) {
                        best = i;
                        best_shared = shared;
                }
        }
        return tie ? SIZE_MAX : best;
}

size_t constraint_given_up(const Compress *c, const char *body) {
        size_t at = constraint_of_approval(c, body);

        if (at == SIZE_MAX)
                at = constraint_of_style(c, body);
        if (at == SIZE_MAX)
                at = constraint_meant(c, body, false);
        return at;
}
