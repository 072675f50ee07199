/* Requests and answers of models: the bytes decide, never the pieces; what is accepted as JSON, jansson accepts too, with
 * the same model; the secret never passes redaction. */
#include "proxy/model.h"
#include "proxy/redact.h"
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static void check_request(const char *bytes, size_t n) {
        ModelRequest m;
        const char *why = model_request_parse(bytes, n, &m);
        json_t *o, *model;

        fuzz_check(why || (m.answers >= 1 && memchr(m.model, 0, sizeof(m.model))));
        if (why)
                return;
        o = json_loadb(bytes, n, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
        /* jansson refuses broken UTF-8, lone surrogates and numbers beyond its types */
        model = json_object_get(o, "model");
        fuzz_check(!o || (json_is_object(o) && (model ? json_is_string(model) && strcmp(json_string_value(model), m.model) == 0 : !*m.model)));
        json_decref(o);
}

static void check_usage(const char *bytes, size_t n, bool events, size_t piece) {
        ModelUsage whole, parts;

        model_usage_begin(&whole, events);
        model_usage_begin(&parts, events);
        model_usage_feed(&whole, bytes, n);
        for (size_t at = 0; at < n; at += piece)
                model_usage_feed(&parts, bytes + at, at + piece > n ? n - at : piece);
        model_usage_end(&whole);
        model_usage_end(&parts);
        fuzz_check(whole.has == parts.has && whole.bad == parts.bad && whole.in == parts.in && whole.out == parts.out);
}

static void check_redaction(const char *bytes, size_t n, size_t piece) {
        static const char secret[] = "aba\"aba{";
        static uint16_t borders[sizeof(secret)];
        const size_t n_secret = sizeof(secret) - 1;
        char *out = malloc(n + n_secret + 1);
        Redact r = {.secret = secret, .n = n_secret, .borders = borders};
        size_t n_out = 0;

        redact_borders(secret, n_secret, borders);
        for (size_t at = 0; at < n; at += piece)
                n_out += redact_feed(&r, bytes + at, at + piece > n ? n - at : piece, out + n_out);
        n_out += redact_end(&r, out + n_out);
        fuzz_check(n_out == n && !memmem(out, n_out, secret, n_secret));
        free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const size_t piece = n > 0 ? data[0] % 17 + 1 : 1;

        check_request((const char *)data, n);
        check_usage((const char *)data, n, false, piece);
        check_usage((const char *)data, n, true, piece);
        check_redaction((const char *)data, n, piece);
        return 0;
}
