#include "cli/actions.h"

#include "base/clock.h"
#include "base/clean.h"
#include "base/io.h"
#include "base/size.h"
#include "engine/scope.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* said: a word that is no action, or NULL. */
static int actions_none(const char *verb, const char *said, const Action *actions, size_t n) {
        char list[256] = "";

        for (size_t i = 0, at = 0; i < n && at < sizeof(list); i++)
                at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i > 0 ? ", " : "", actions[i].name);
        return said ? cli_usage(verb, "'%s' is no action of the verb: %s", said, list)
                    : cli_usage(verb, "which action? %s", list);
}

int actions_main(const char *verb, const char *help, const Action *actions, size_t n, const struct option *options,
                 int argc, char **argv) {
        ActionArgs a = {.verb = verb, .o.help = help};
        const Action *action = actions;
        int opt;

        while ((opt = store_next_option(&a.o, argc, argv, options)) > 0) {
                /* two different values: no guess at the intended value */
                if (optarg && a.o.value[opt] && strcmp(optarg, a.o.value[opt]) != 0)
                        return cli_usage(verb, "--%s is '%s' and '%s': give the option a single time",
                                         store_option_name(options, opt), a.o.value[opt], optarg);
                a.o.value[opt] = optarg ?: "";
        }
        if (opt < 0)
                return a.o.code;
        while (optind < argc && action < actions + n && strcmp(action->name, argv[optind]) != 0)
                action++;
        if (optind >= argc || action == actions + n)
                return actions_none(verb, argv[optind], actions, n);
        a.action = action->name;
        a.o.must_exist = !action->makes_store;
        a.argv = argv + optind + 1;
        a.argc = argc - optind - 1;
        if (a.o.value[ACTIONS_LAST]) {
                *--a.argv = (char *)"--last"; /* over the action's name */
                a.argc++;
        }
        for (int i = 0; i < (int)ARRAY_SIZE(a.o.value); i++)
                if (a.o.value[i] && !strchr(action->options, i))
                        return cli_usage(verb, "--%s is no option of %s", store_option_name(options, i), action->name);
        if (a.argc > action->most)
                return cli_usage(verb, "%s takes %s: '%s' is extra", action->name,
                                 *action->arguments ? action->arguments : "no argument", a.argv[action->most]);
        if (a.argc < action->least)
                return cli_usage(verb, "%s takes %s", action->name, action->arguments);
        return action->fn(&a);
}

const char *action_who(void) {
        static char who[32];

        snprintf(who, sizeof(who), "uid:%u", (unsigned)getuid());
        return who;
}

const char *action_scope(const ActionArgs *a) {
        return a->o.value['S'] ?: SCOPE_DEFAULT;
}

int action_number(const ActionArgs *a, const char *what, const char *text, uint64_t *ret) {
        return cli_number(a->verb, what, text, 0, COUNT_MOST, ret);
}

int action_moment(ActionArgs *a, const char *text, uint64_t *ret_seq) {
        *ret_seq = PAST_NOW;
        return text ? past_moment(a->t, text, clock_real_usec(), ret_seq, &a->d) : 0;
}

int action_line(const ActionArgs *a, const char *what, const char *text) {
        size_t bad, n = text ? strlen(text) : 0;
        Diag d = {0};

        if (!text)
                return EXIT_OK;
        if (!utf8_valid(text, n, &bad))
                return cli_usage(a->verb, "%s is not UTF-8 at byte %zu", what, bad);
        if (clean_check(what, text, n, true, &d) != 0)
                return cli_usage(a->verb, "%s", d.text);
        return clean_blank(text, n) ? cli_usage(a->verb, "%s is empty: give a line of text", what) : EXIT_OK;
}

int action_text(ActionArgs *a, const char *arg, size_t most, char **ret, size_t *ret_n) {
        int r = 0;

        if (strcmp(arg, "-") == 0)
                r = io_read_all(STDIN_FILENO, most, ret, ret_n);
        else {
                *ret = strdup(arg);
                *ret_n = strlen(arg);
                r = *ret ? *ret_n > most ? -EFBIG : 0 : -ENOMEM;
        }
        if (r == -EFBIG) {
                char message[96];

                snprintf(message, sizeof(message), "%s: the text has more than %zu bytes", a->action, most);
                return action_refused(a, engine_code_name(ENGINE_E_TOO_LARGE), message);
        }
        return r < 0 ? cli_fail(a->verb, EXIT_NOT, "%s: standard input: %s", a->action, strerror(-r)) : EXIT_OK;
}

int action_refused(ActionArgs *a, const char *code, const char *message) {
        json_t *o = a->more ? a->more : json_object();

        a->more = NULL;
        if (a->o.json && o &&
            json_object_set_new(o, "error", json_pack("{s:s, s:s}", "code", code, "message", message)) == 0)
                action_print(a, json_incref(o));
        json_decref(o);
        return cli_fail(a->verb, EXIT_NOT, "%s (%s)", message, code);
}

int action_failed(ActionArgs *a, const Store *s, int r, const Diag *d) {
        if (r == ENGINE_E_NO_SCOPE) {
                char message[sizeof(d->text) + 96];

                snprintf(message, sizeof(message),
                         "%s; `lethe scope list` shows the scopes, `lethe scope create` makes one", d->text);
                return action_refused(a, engine_code_name((EngineCode)r), message);
        }
        return r > 0 ? action_refused(a, engine_code_name((EngineCode)r), d->text)
                     : with_store_failed(a->verb, s, r, d);
}

int action_begin(ActionArgs *a, bool write) {
        int r = with_store(a->verb, &a->o, write ? STORE_WRITE : STORE_READ, &a->store);

        if (r == EXIT_OK && (r = store_begin(a->store, write, &a->t, &a->d)) != 0)
                r = with_store_failed(a->verb, a->store, r, &a->d);
        if (r != EXIT_OK)
                store_free(TAKE_PTR(a->store));
        a->writes = write;
        return r;
}

int action_end(ActionArgs *a, int r) {
        Diag d = {0};
        int c = a->writes && r >= 0 ? store_commit(TAKE_PTR(a->t), &d) : 0, code = EXIT_OK;

        if (c != 0)
                code = with_store_failed(a->verb, a->store, c, &d);
        else if (r != 0)
                code = action_failed(a, a->store, r, &a->d);
        store_abort(TAKE_PTR(a->t));
        store_free(TAKE_PTR(a->store));
        return code;
}

int action_parse(ActionArgs *a, const char *what, const char *text, size_t n, size_t most, unsigned depth,
                 const char *hint, json_t **ret) {
        static const char *const codes[] = {[JSON_E_SYNTAX] = "syntax",
                                            [JSON_E_DUPLICATE] = "duplicate_key",
                                            [JSON_E_DEPTH] = "too_deep",
                                            [JSON_E_SIZE] = "too_large"};
        char message[sizeof(((Diag *)NULL)->text) + 128];
        Diag d = {0};
        size_t bad;
        int r;

        if (n <= most && !utf8_valid(text, n, &bad)) {
                snprintf(message, sizeof(message),
                         "%s is not UTF-8 at byte %zu, which is 0x%02x: JSON is text in UTF-8", what, bad,
                         (unsigned char)text[bad]);
                return action_refused(a, engine_code_name(ENGINE_E_BAD_UTF8), message);
        }
        if (n <= most && clean_blank(text, n)) {
                snprintf(message, sizeof(message), "%s is not JSON: the text is empty%s", what, hint);
                return action_refused(a, "syntax", message);
        }
        r = json_parse(text, n, most, depth, ret, &d);
        if (r > 0) {
                snprintf(message, sizeof(message), r == JSON_E_SYNTAX ? "%s is not JSON: %s%s" : "%s: %s%s", what,
                         d.text, hint);
                return action_refused(a, codes[r], message);
        }
        return r < 0 ? cli_fail(a->verb, EXIT_NOT, "%s: %s", what, strerror(-r)) : EXIT_OK;
}

int action_json(ActionArgs *a, const char *what, const char *arg, size_t most, json_t **ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = arg ? action_text(a, arg, most, &text, &n) : EXIT_OK;

        return r != EXIT_OK || !arg ? r : action_parse(a, what, text, n, most, JSON_DEPTH_DEFAULT, "", ret);
}

void action_show(const json_t *o, const char *member, const char *before) {
        const json_t *v = json_object_get(o, member);

        if (!json_is_string(v) || json_string_length(v) == 0)
                return;
        fputs(before, stdout);
        print_safe(stdout, json_bytes(v), json_string_length(v));
}

void action_show_disputes(const json_t *row) {
        const json_t *of;
        size_t i;

        json_array_foreach(json_object_get(row, "disputed"), i, of)
                printf("            disputed by %s/%s\n", cli_text(of, "kind"),
                       json_text(json_object_get(of, "rule")) ?: cli_text(of, "id"));
        if (json_is_true(json_object_get(row, "disputed_more")))
                printf("            disputed by others, too\n");
}

int action_dump(const ActionArgs *a, json_t *o) {
        _cleanup_free_ char *text = NULL;

        if (a->o.json)
                return action_print(a, o);
        text = json_dumps(o, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
        json_decref(o);
        if (!text)
                return cli_fail(a->verb, EXIT_NOT, "out of memory");
        for (const char *line = text; *line;) {
                size_t n = strcspn(line, "\n");

                print_safe(stdout, line, n);
                putchar('\n');
                line += n + (line[n] == '\n');
        }
        return cli_done(a->verb, EXIT_OK);
}

int action_print(const ActionArgs *a, json_t *o) {
        bool ok = o && json_object_set_new(o, "version", json_integer(1)) == 0 && print_json(stdout, o) >= 0;

        json_decref(o);
        return ok ? cli_done(a->verb, EXIT_OK) : cli_fail(a->verb, EXIT_NOT, "out of memory");
}

int action_tell(const ActionArgs *a, json_t *o, const char *fmt, ...) {
        va_list ap;

        if (a->o.json)
                return action_print(a, o);
        json_decref(o);
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        putchar('\n');
        return cli_done(a->verb, EXIT_OK);
}

int action_rows(const ActionArgs *a, json_t *o, const char *name, void (*line)(const json_t *row)) {
        json_t *row;
        size_t i;

        if (a->o.json || !o)
                return action_print(a, o);
        json_array_foreach(json_object_get(o, name), i, row)
                line(row);
        json_decref(o);
        return cli_done(a->verb, EXIT_OK);
}

int action_answer(const ActionArgs *a, const char *name, json_t *o) {
        return a->o.json ? action_print(a, json_pack("{s:o}", name, o)) : action_dump(a, o);
}
