/* Runs: skill. lethe-section: the region's working state for shell scripts, one call a process. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const command_name = "lethe-section";

static const char help[] =
        "Usage: lethe-section read SECTION [--raw | --version]  the value as JSON; --raw: a string's text; --version: its version\n"
        "       lethe-section write SECTION [VALUE|-] [--text] [--expect N]\n"
        "                                                      VALUE is JSON, or text with --text; - or none: standard input;\n"
        "                                                      prints the version that the section has then\n"
        "       lethe-section open SECTION                     a handle, which other processes of the region may use as SECTION\n"
        "       lethe-section close HANDLE\n"
        "       lethe-section list                             name, access (r, rw), most bytes; one section a line\n"
        "SECTION is a name of the manifest's sections, gate.SLOT, or a handle. --of REGION: a section of a region above this one.\n"
        "Ends 0 when it was done, 1 when it was refused (the message begins with the error's code), 2 for a wrong command line,\n"
        "3 when there is no pipe.\n";

typedef struct Args {
        const char *words[3]; /* verb and what is not an option */
        size_t n;
        const char *of;
        long long expect; /* -1: any */
        int raw, version, text;
} Args;

/* Options may stand anywhere; after -- all is words, and a lone - or a negative number is a word. */
static int args_read(int argc, char **argv, Args *a) {
        int only_words = 0;

        *a = (Args){.expect = -1};
        for (int i = 1; i < argc; i++) {
                char *s = argv[i], *end;

                if (only_words || s[0] != '-' || s[1] != '-') {
                        if (a->n == 3)
                                return command_usage("too many arguments");
                        a->words[a->n++] = s;
                } else if (strcmp(s, "--") == 0)
                        only_words = 1;
                else if (strcmp(s, "--raw") == 0)
                        a->raw = 1;
                else if (strcmp(s, "--version") == 0)
                        a->version = 1;
                else if (strcmp(s, "--text") == 0)
                        a->text = 1;
                else if (strcmp(s, "--of") == 0 && i + 1 < argc)
                        a->of = argv[++i];
                else if (strcmp(s, "--expect") == 0 && i + 1 < argc) {
                        s = argv[++i];
                        errno = 0;
                        a->expect = strtoll(s, &end, 10);
                        if (*s < '0' || *s > '9' || *end || errno)
                                return command_usage("--expect takes a version, a number from 0 on");
                } else if (strcmp(s, "--help") == 0) {
                        fputs(help, stdout);
                        exit(EXIT_DONE);
                } else
                        return command_usage("no such option, or it lacks its value");
        }
        return EXIT_DONE;
}

/* A section's name has no dot, or begins with "gate."; a handle begins with a region's id. */
static int is_handle(const char *s) {
        return strcspn(s, ".") == 26 && s[26] == '.';
}

/* The handle that the command line means: its own, which stays open, or one of this process. */
static int open_it(Lethe *l, const Args *a, char handle[LETHE_HANDLE_MAX]) {
        if (!is_handle(a->words[1]))
                return lethe_handle_open(l, a->words[1], a->of, handle);
        snprintf(handle, LETHE_HANDLE_MAX, "%s", a->words[1]);
        return LETHE_OK;
}

/* Closes what open_it() opened. */
static int close_it(Lethe *l, const Args *a, const char *handle) {
        return is_handle(a->words[1]) ? LETHE_OK : lethe_handle_close(l, handle);
}

/* Tells what went wrong first, and leaves no handle open. */
static int give_up(Lethe *l, const Args *a, const char *handle, int r) {
        r = command_failed(l, r);
        if (*handle)
                close_it(l, a, handle);
        return r;
}

static int do_read(Lethe *l, const Args *a) {
        char handle[LETHE_HANDLE_MAX] = "", *copy;
        uint64_t version = 0;
        const char *value;
        int r = open_it(l, a, handle);

        if (r == LETHE_OK)
                r = lethe_handle_read(l, handle, &value, &version);
        if (r != LETHE_OK)
                return give_up(l, a, handle, r);
        if (a->version) {
                printf("%llu\n", (unsigned long long)version);
                r = close_it(l, a, handle);
                return r == LETHE_OK ? EXIT_DONE : command_failed(l, r);
        }
        copy = strdup(value); /* the next call takes its place */
        r = copy ? close_it(l, a, handle) : LETHE_MEMORY;
        if (r == LETHE_OK)
                r = command_print(copy, a->raw);
        else
                r = command_failed(l, r);
        free(copy);
        return r;
}

static int do_write(Lethe *l, const Args *a) {
        char handle[LETHE_HANDLE_MAX] = "", *value = command_value(a->n > 2 ? a->words[2] : NULL, a->text);
        uint64_t version;
        int r;

        if (!value)
                return EXIT_REFUSED;
        r = open_it(l, a, handle);
        if (r == LETHE_OK)
                r = lethe_handle_write(l, handle, value, a->expect, &version);
        free(value);
        if (r != LETHE_OK)
                return give_up(l, a, handle, r);
        r = close_it(l, a, handle);
        if (r != LETHE_OK)
                return command_failed(l, r);
        printf("%llu\n", (unsigned long long)version);
        return EXIT_DONE;
}

static int do_open(Lethe *l, const Args *a) {
        char handle[LETHE_HANDLE_MAX];
        int r = lethe_handle_open(l, a->words[1], a->of, handle);

        if (r != LETHE_OK)
                return command_failed(l, r);
        puts(handle);
        return EXIT_DONE;
}

static int do_close(Lethe *l, const Args *a) {
        int r = lethe_handle_close(l, a->words[1]);

        return r == LETHE_OK ? EXIT_DONE : command_failed(l, r);
}

/* Names hold no quotes and no escapes, and the supervisor writes members in one order: {"bytes":…,"name":…,"write":…}. Only the region's own. */
static int do_list(Lethe *l, const Args *a) {
        const char *p, *end;
        int r = lethe_hello(l, &p);

        (void)a;
        if (r != LETHE_OK)
                return command_failed(l, r);
        p = strstr(p, "\"region\":");
        p = p ? strstr(p, "\"sections\":[") : NULL;
        end = p ? strchr(p, ']') : NULL;
        while (end && (p = strstr(p, "{\"bytes\":")) && p < end) {
                const char *bytes = p + 9, *name = strstr(p, "\"name\":\""), *writes = strstr(p, "\"write\":");

                if (!name || !writes)
                        break;
                printf("%.*s\t%s\t%.*s\n", (int)strcspn(name + 8, "\""), name + 8, writes[8] == 't' ? "rw" : "r", (int)strspn(bytes, "0123456789"), bytes);
                p = writes;
        }
        return EXIT_DONE;
}

static const struct {
        const char *name;
        size_t least, most; /* words after the verb */
        int (*run)(Lethe *l, const Args *a);
} verbs[] = {
        {"read", 1, 1, do_read}, {"write", 1, 2, do_write}, {"open", 1, 1, do_open}, {"close", 1, 1, do_close}, {"list", 0, 0, do_list},
};

int main(int argc, char **argv) {
        Lethe *l = NULL;
        Args a;
        int r = args_read(argc, argv, &a);

        if (r != EXIT_DONE)
                return r;
        if (a.n == 0)
                return command_usage("no verb");
        for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
                if (strcmp(verbs[i].name, a.words[0]) != 0)
                        continue;
                if (a.n - 1 < verbs[i].least || a.n - 1 > verbs[i].most)
                        return command_usage("wrong number of arguments");
                r = lethe_open(&l);
                if (r == LETHE_MEMORY)
                        return EXIT_REFUSED;
                r = r == LETHE_OK ? verbs[i].run(l, &a) : command_failed(l, r);
                lethe_close(l);
                return command_end(r);
        }
        return command_usage("no such verb");
}
