#include "proxy/redact.h"

#include <string.h>

void redact_borders(const char *secret, size_t n, uint16_t *ret) {
        size_t border = 0;

        if (n > 0)
                ret[0] = 0;
        for (size_t i = 1; i < n; i++) {
                while (border > 0 && secret[i] != secret[border])
                        border = ret[border - 1];
                border += secret[i] == secret[border];
                ret[i] = (uint16_t)border;
        }
}

size_t redact_feed(Redact *r, const char *bytes, size_t n, char *out) {
        size_t n_out = 0;

        if (!r->secret || r->n == 0) {
                memcpy(out, bytes, n);
                return n;
        }
        for (size_t i = 0; i < n; i++) {
                while (r->held > 0 && bytes[i] != r->secret[r->held]) {
                        const size_t shorter = r->borders[r->held - 1];

                        memcpy(out + n_out, r->secret, r->held - shorter); /* the held bytes are the secret's own */
                        n_out += r->held - shorter;
                        r->held = shorter;
                }
                if (bytes[i] != r->secret[r->held]) {
                        out[n_out++] = bytes[i];
                        continue;
                }
                if (++r->held == r->n) {
                        memset(out + n_out, '*', r->n);
                        n_out += r->n;
                        r->held = 0;
                        r->found++;
                }
        }
        return n_out;
}

size_t redact_end(Redact *r, char *out) {
        const size_t n = r->held;

        memcpy(out, r->secret ? r->secret : "", n);
        r->held = 0;
        return n;
}
