/* Runs: supervisor. log and progress: words for the operator. Messages are shown
 * with --verbose and never recorded, as working state (I-2); the ledger gets the counts at the end. */
#include "dispatch/dispatch-internal.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>

#define MESSAGE_MAX 4096          /* bytes of one message */
#define SHOWN_MAX (1024 * 1024)   /* bytes of all shown messages of one invocation */
#define SHOWN_PART 480            /* bytes of one shown line: escaped, the line fits log_line() */

static const char *const level_words[LOG_LEVELS] = {"debug", "info", "warning", "error"};

/* Shows text in lines of bounded length; a byte that a terminal may read as a command becomes \xNN. */
static void log_show(const Dispatch *d, const char *word, const char *text, size_t n) {
        char line[4 * SHOWN_PART + 1];

        do {
                size_t o = 0, i = 0;

                while (i < n && i < SHOWN_PART) {
                        unsigned char c = (unsigned char)text[i], next = i + 1 < n ? (unsigned char)text[i + 1] : 0;
                        bool control = c < 0x20 || c == 0x7F ||
                                       (c == 0xC2 && next >= 0x80 && next < 0xA0); /* C0, DEL, C1 */

                        if (control && c == 0xC2) {
                                o += (size_t)sprintf(line + o, "\\x%02x", next);
                                i += 2;
                        } else if (control) {
                                o += (size_t)sprintf(line + o, "\\x%02x", c);
                                i++;
                        } else {
                                do
                                        line[o++] = text[i++];
                                /* a character is not cut in two */
                                while (i < n && ((unsigned char)text[i] & 0xC0) == 0x80);
                        }
                }
                line[o] = 0;
                log_debug("%s %s: %s", d->grant->skill_name, word, line);
                text += i;
                n -= i;
        } while (n > 0);
}

/* Counts a message against the bytes that one invocation may show. */
static void log_tell(Dispatch *d, const char *word, const char *text, size_t n) {
        if (d->log_bytes + n > SHOWN_MAX) {
                d->log_dropped++;
                return;
        }
        d->log_bytes += n;
        log_show(d, word, text, n);
}

/* A shown message leaves the region, too (I-11). Returns 0, RpcCode with a message, -errno. */
static int log_check(const char *text, size_t n, Diag *reterr) {
        int r;

        if (n > MESSAGE_MAX)
                return diag(reterr, RPC_E_TOO_LARGE, "a message of %zu bytes: at most %d are allowed", n, MESSAGE_MAX);
        r = region_keys_in_text(text, n);
        return r > 0 ? diag(reterr, RPC_E_KEY_ESCAPE,
                            "a region's key must not leave its region: the message was not shown")
                     : r;
}

int dispatch_do_log(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *level = NULL, *message;
        size_t n_level = 0, n, i = LOG_INFO_;
        int r;

        if (json_take(params, "{s?:s%, s:s%}", "level", &level, &n_level, "message", &message, &n) < 0)
                return dispatch_bad_params(params, "{level?: string, message: string}", reterr);
        if (level)
                for (i = 0; i < LOG_LEVELS; i++)
                        if (strlen(level_words[i]) == n_level && memcmp(level, level_words[i], n_level) == 0)
                                break;
        if (i == LOG_LEVELS)
                return diag(reterr, RPC_E_INVALID_PARAMS, "level is to be one of debug, info, warning, error");
        r = log_check(message, n, reterr);
        if (r != 0)
                return r;
        d->logs[i]++;
        log_tell(d, level_words[i], message, n);
        return dispatch_answer(json_object(), ret_result);
}

int dispatch_do_progress(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *message = "";
        json_t *done, *total = NULL;
        size_t n = 0;
        char text[MESSAGE_MAX + 128];
        int head, r;

        if (json_take(params, "{s:o, s?:o, s?:s%}", "done", &done, "total", &total, "message", &message, &n) < 0)
                return dispatch_bad_params(params, "{done: number, total?: number, message?: string}", reterr);
        if (!json_is_number(done) || json_number_value(done) < 0 ||
            (total && (!json_is_number(total) || json_number_value(total) < 0)))
                return diag(reterr, RPC_E_INVALID_PARAMS, "done and total are to be numbers that are not negative");
        r = log_check(message, n, reterr);
        if (r != 0)
                return r;
        if (total)
                head = snprintf(text, sizeof(text), "%.10g of %.10g%s", json_number_value(done),
                                json_number_value(total), n ? ": " : "");
        else
                head = snprintf(text, sizeof(text), "%.10g%s", json_number_value(done), n ? ": " : "");
        memcpy(text + head, message, n);
        log_tell(d, "progress", text, (size_t)head + n);
        if (d->progress)
                d->progress(d->progress_data, params);
        return dispatch_answer(json_object(), ret_result);
}

void dispatch_tell_progress(Dispatch *d, void (*tell)(void *userdata, const json_t *params), void *userdata) {
        d->progress = tell;
        d->progress_data = userdata;
}

int dispatch_log_summary(const Dispatch *d, json_t **ret) {
        static_assert(LOG_LEVELS == 4, "each level has a member");
        *ret = NULL;
        if (d->logs[0] + d->logs[1] + d->logs[2] + d->logs[3] == 0)
                return 0;
        *ret = json_pack("{s:{s:o, s:o, s:o, s:o}, s:o, s:o}", "messages", level_words[0], json_u64(d->logs[0]),
                         level_words[1], json_u64(d->logs[1]), level_words[2], json_u64(d->logs[2]), level_words[3],
                         json_u64(d->logs[3]), "bytes", json_u64(d->log_bytes), "dropped", json_u64(d->log_dropped));
        return *ret ? 0 : -ENOMEM;
}
