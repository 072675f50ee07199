#include "tests/eval/cognition/judge.h"

#include "base/ascii.h"

static double score_rate(unsigned part, unsigned whole) {
        return (double)part / (double)MAX(whole, 1U);
}

double score_drift(const Score *s) {
        return score_rate(s->violated + s->omitted, s->active);
}

double score_unsupported(const Score *s) {
        return score_rate(s->unsupported, s->supported + s->unsupported);
}

double score_relevance(const Score *s) {
        return s->asked > 0 ? 10 * score_rate(s->answered, s->asked) : 10;
}

/* The harmonic mean of right claims among all and of active slots that are there. */
double score_quality(const Score *s) {
        double right = 1 - score_unsupported(s), there = s->active > 0 ? 1 - score_rate(s->omitted, s->active) : 1;

        return right + there > 0 ? 20 * right * there / (right + there) : 0;
}

double score_instruction(const Score *s) {
        return s->orders > 0 ? 10 * score_rate(s->followed, s->orders) : 10;
}

double score_coherence(const Score *s) {
        return 10 * (1 - score_rate(s->torn, s->active));
}

size_t judge_tokens(const char *text) {
        size_t n = 0;
        bool in_word = false;

        for (; *text; text++) {
                bool word = ascii_letter(*text) || ascii_digit(*text) || *text == '_';

                /* One character of UTF-8 has one byte that does not continue another. */
                n += word ? !in_word : !ascii_blank(*text) && ((unsigned char)*text & 0xc0) != 0x80;
                in_word = word;
        }
        return n;
}
