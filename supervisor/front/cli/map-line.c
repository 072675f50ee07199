#include "cli/map-line.h"

#include "cli/cli.h"
#include "cli/cmd-map.h"
#include "schema/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define DEPTH_MAX 128
#define STDERR_TAIL 1000 /* bytes of standard error in the result of a failed line */

int map_request_open(json_t *params, Buf *ret) {
        _cleanup_json_ json_t *owned = params;
        char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
        int e = text ? buf_add_str(ret, "{\"jsonrpc\":\"2.0\",\"method\":\"run\",\"params\":") : -ENOMEM;

        if (e == 0)
                e = buf_add(ret, text, strlen(text) - 1); /* without the last brace */
        if (text)
                explicit_bzero(text, strlen(text));
        free(text);
        return e ?: buf_add_str(ret, ",\"stdin\":\"");
}

/* A line of JSON as the inside of a string: the line has no control character but tabs and carriage returns between
 * values. */
static int map_add_escaped(Buf *b, const char *line, size_t n) {
        size_t from = 0;
        int e = 0;

        for (size_t i = 0; e == 0 && i < n; i++) {
                const char *escape = line[i] == '"'    ? "\\\""
                                     : line[i] == '\\' ? "\\\\"
                                     : line[i] == '\t' ? "\\t"
                                     : line[i] == '\r' ? "\\r"
                                                       : NULL;

                if (!escape)
                        continue;
                e = buf_add(b, line + from, i - from) ?: buf_add_str(b, escape);
                from = i + 1;
        }
        return e ?: buf_add(b, line + from, n - from);
}

int map_request(const Buf *open, uint64_t id, const char *line, size_t n, Buf *ret) {
        int e = buf_add(ret, open->data, open->n) ?: map_add_escaped(ret, line, n);

        return e ?: buf_printf(ret, "\\n\"},\"id\":%" PRIu64 "}\n", id);
}

/* "line 1, " of a text that is one line says nothing. */
static const char *map_in_line(const Diag *d) {
        static const char first[] = "line 1, ";

        return strncmp(d->text, first, sizeof(first) - 1) == 0 ? d->text + sizeof(first) - 1 : d->text;
}

int map_check(const char *line, size_t n, Diag *reterr) {
        _cleanup_json_ json_t *v = NULL;
        Diag d = {};
        int e = json_parse(line, n, MAP_LINE_MAX, DEPTH_MAX, &v, &d);

        return e > 0 ? diag(reterr, e, "not one JSON value: %s", map_in_line(&d)) : e;
}

/* Valid JSON without the white space between tokens: numbers keep their digits, and members their order. */
static int map_add_compact(Buf *b, const char *text, size_t n) {
        bool string = false;
        size_t from = 0;
        int e = 0;

        for (size_t i = 0; e == 0 && i < n; i++) {
                if (text[i] == '"')
                        string = !string;
                else if (string)
                        i += text[i] == '\\';
                else if (strchr(" \t\r\n", text[i])) {
                        e = buf_add(b, text + from, i - from);
                        from = i + 1;
                }
        }
        return e ?: buf_add(b, text + from, n - from);
}

static int map_add_json(Buf *b, json_t *v) {
        _cleanup_json_ json_t *owned = v;
        char *text = owned ? json_dumps(owned, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        int e = text ? buf_add_str(b, text) ?: buf_add(b, "\n", 1) : -ENOMEM;

        free(text); /* overwritten when freed (json_wipe_freed()) */
        return e;
}

int map_result_unrun(const char *outcome, const char *message, Buf *ret) {
        return map_add_json(ret, json_pack("{s:b, s:s, s:s}", "ok", false, "outcome", outcome, "message", message));
}

static uint64_t map_denials(const json_t *receipt) {
        const json_t *list = json_object_get(receipt, "denials");
        uint64_t n = 0;

        for (size_t i = 0; i < json_array_size(list); i++)
                n += json_number(json_array_get(list, i), "count");
        return n;
}

/* The last bytes of a text, from the beginning of a character on. */
static json_t *map_tail(const json_t *text) {
        size_t n = json_string_length(text), from = n > STDERR_TAIL ? n - STDERR_TAIL : 0;
        const char *s = json_bytes(text);

        while (from > 0 && from < n && ((unsigned char)s[from] & 0xc0) == 0x80)
                from++;
        return n > 0 ? json_stringn(s + from, n - from) : NULL;
}

static int map_add_failed(Buf *b, const json_t *result, const char *outcome, const char *message) {
        const json_t *receipt = json_object_get(result, "receipt");

        return map_add_json(b, json_pack("{s:b, s:s, s:O?, s:O?, s:o, s:s*, s:o*}", "ok", false, "outcome",
                                         outcome ?: cli_text(receipt, "outcome") ?: "unknown", "exit_code",
                                         json_object_get(result, "exit_code"), "region",
                                         json_object_get(result, "region"), "denials", json_u64(map_denials(receipt)),
                                         "message", message ?: cli_text(receipt, "reason"), "stderr",
                                         map_tail(json_object_get(result, "stderr"))));
}

/* The value of an end with exit code 0. */
static int map_add_value(const json_t *result, bool as_text, MapVerdict *ret_verdict, Buf *b) {
        const json_t *out = json_object_get(result, "stdout");
        const char *text = json_bytes(out) ?: "";
        size_t n = json_string_length(out);
        _cleanup_json_ json_t *v = NULL;
        Diag d = {}, why;
        int e;

        *ret_verdict = MAP_FAILED;
        if (json_object_get(result, "stdout_cut")) {
                diag(&d, 0, "the output has more than %d bytes", SERVE_CAPTURE_MAX);
                return map_add_failed(b, result, "output_too_long", d.text);
        }
        if (as_text) {
                *ret_verdict = MAP_OK;
                return map_add_json(b, json_pack("{s:b, s:s%}", "ok", true, "value", text, n));
        }
        while (n > 0 && strchr(" \t\r\n", text[n - 1]))
                n--;
        e = n > 0 ? json_parse(text, n, 4 * SERVE_CAPTURE_MAX, DEPTH_MAX, &v, &d) : 0;
        if (e < 0)
                return e;
        if (e > 0) {
                diag(&why, 0, "the output is not one JSON value: %s; --text takes any output as a string", d.text);
                return map_add_failed(b, result, "not_json", why.text);
        }
        *ret_verdict = MAP_OK;
        return buf_add_str(b, "{\"ok\":true,\"value\":")
                       ?: (n > 0 ? map_add_compact(b, text, n) : buf_add_str(b, "null"))
                       ?: buf_add_str(b, "}\n");
}

static int map_of_error(const json_t *error, MapVerdict *ret_verdict, Diag *reterr) {
        *ret_verdict = -cli_integer(error, "code") == SERVE_E_BUSY ? MAP_AGAIN : MAP_STOPPED;
        diag(reterr, 0, "%s", cli_text(error, "message") ?: "lethe serve gives no reason");
        return 0;
}

int map_result(const json_t *answer, bool text, int signo, MapVerdict *ret_verdict, Buf *ret, int *ret_code,
               Diag *reterr) {
        const json_t *error = json_object_get(answer, "error"), *result = json_object_get(answer, "result"),
                     *refusal = json_object_get(result, "refusal");
        const json_int_t code = cli_integer(result, "exit_code");

        if (error)
                return map_of_error(error, ret_verdict, reterr);
        if (signo && code == 128 + signo) {
                *ret_verdict = MAP_CANCELLED;
                return 0;
        }
        *ret_verdict = refusal ? MAP_REFUSED : MAP_FAILED;
        if (refusal) {
                *ret_code = (int)code;
                diag(reterr, 0, "%s", cli_text(refusal, "message") ?: "refused");
                return map_add_failed(ret, result, "refused", reterr->text);
        }
        return code == 0 ? map_add_value(result, text, ret_verdict, ret) : map_add_failed(ret, result, NULL, NULL);
}
