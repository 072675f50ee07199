/* doubles FILE: each line of FILE is a double's bits in hexadecimal and the text that another implementation gave it. The canonical form has
 * the same text (TAP). Whole numbers from 2^53 to 1e21 are refused instead (RFC 7493 2.2): their text would be read back as an integer out of range. */
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
        FILE *f = argc == 2 ? fopen(argv[1], "re") : NULL;
        unsigned n = 0, n_refused = 0, n_wrong = 0;
        char text[64];
        uint64_t bits;

        if (!f)
                return 2;
        while (fscanf(f, "%" SCNx64 " %63s", &bits, text) == 2) {
                _cleanup_free_ char *out = NULL;
                _cleanup_json_ json_t *v = NULL;
                bool right;
                double d;
                int r;

                memcpy(&d, &bits, sizeof(d));
                v = json_real(d);
                r = json_canonical(v, &out, NULL);
                if (fabs(d) > (double)JSON_INTEGER_MOST && fabs(d) < 1e21) {
                        right = r == -ERANGE;
                        n_refused++;
                } else
                        right = r == 0 && strcmp(out, text) == 0;
                n++;
                if (!right && n_wrong++ < 20)
                        printf("# %016" PRIx64 ": %s, not %s\n", bits, r == 0 ? out : "refused", text);
        }
        fclose(f);
        printf("# %u doubles, %u of them whole and out of range\n", n, n_refused);
        printf("%sok 1 - each double has the text that the other implementation gave it\n1..1\n", n > 0 && n_wrong == 0 ? "" : "not ");
        return n > 0 && n_wrong == 0 ? 0 : 1;
}
