/* Runs: tests. opposed TABLE [--list] [--check]: which pairs of statements does Lethe take for opposed (G-69)?
 *
 * A line of TABLE: "opposed" or "-", a statement and another one, with tabs between. A statement "A | B | C" is a triple.
 * Found: a pair that is opposed and taken for it; a false alarm: one that is not, and is taken for it. --check: a test
 * (TAP), at most 1 false alarm in 40 pairs, and 8 of 10 opposed ones found. */
#include "engine/statement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int claims(Tokenizer *bag, char *text, ClaimList *ret) {
        char *predicate = strstr(text, " | "), *object = predicate ? strstr(predicate + 3, " | ") : NULL;

        if (!object)
                return statement_claims(bag, text, strlen(text), ret);
        *predicate = *object = 0;
        return statement_triple(bag, text, predicate + 3, object + 3, ret);
}

int main(int argc, char **argv) {
        bool list = false, check = false;
        unsigned right = 0, missed = 0, quiet = 0, alarms = 0;
        _cleanup_tokenizer_ Tokenizer *bag = NULL;
        ClaimList *l = calloc(2, sizeof(*l));
        char line[8192];
        FILE *f;

        for (int i = 2; i < argc; i++) {
                list |= strcmp(argv[i], "--list") == 0;
                check |= strcmp(argv[i], "--check") == 0;
        }
        f = argc > 1 ? fopen(argv[1], "re") : NULL;
        if (!f || !l || tokenizer_new(&bag) < 0)
                return 2;
        while (fgets(line, sizeof(line), f)) {
                char *save = NULL, *want = strtok_r(line, "\t\n", &save), *a = strtok_r(NULL, "\t\n", &save), *b = strtok_r(NULL, "\t\n", &save);
                char shown[2][2048];
                bool is, found;

                if (!want || *want == '#')
                        continue;
                if (!a || !b || (strcmp(want, "opposed") != 0 && strcmp(want, "-") != 0)) {
                        fprintf(stderr, "%s: not \"opposed\" or \"-\", and two statements: %s\n", argv[1], want);
                        return 2;
                }
                snprintf(shown[0], sizeof(shown[0]), "%s", a);
                snprintf(shown[1], sizeof(shown[1]), "%s", b);
                if (claims(bag, a, &l[0]) < 0 || claims(bag, b, &l[1]) < 0)
                        return 2;
                found = claims_opposed(&l[0], &l[1]);
                if (found != claims_opposed(&l[1], &l[0]))
                        printf("# not the same the other way round: %s / %s\n", shown[0], shown[1]);
                is = *want == 'o';
                right += is && found;
                missed += is && !found;
                alarms += !is && found;
                quiet += !is && !found;
                if (list && is != found)
                        printf("# %s: %s / %s (%zu, %zu claims)\n", is ? "missed" : "false alarm", shown[0], shown[1], l[0].n, l[1].n);
        }
        fclose(f);
        free(l);
        printf("# %u opposed, %u found; %u not opposed, %u false alarms\n", right + missed, right, alarms + quiet, alarms);
        if (!check)
                return 0;
        printf("1..2\n%sok 1 - opposed pairs are found (G-69)\n%sok 2 - few other pairs are taken for opposed (G-69)\n",
               right > 0 && 10 * right >= 8 * (right + missed) ? "" : "not ", quiet > 0 && 40 * alarms <= alarms + quiet ? "" : "not ");
        return !(right > 0 && 10 * right >= 8 * (right + missed) && quiet > 0 && 40 * alarms <= alarms + quiet);
}
