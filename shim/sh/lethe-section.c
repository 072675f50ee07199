/* Runs: skill. lethe-section: the region's working state for shell scripts. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char command_name[] = "lethe-section";

const char command_help[] =
        "Usage: lethe-section read SECTION [--raw | --version]  the value as JSON; --raw: a string's text; --version: the version\n"
        "       lethe-section write SECTION [VALUE|-] [--text] [--expect N]\n"
        "                                                      VALUE is JSON, or text with --text; - or no VALUE: standard input;\n"
        "                                                      prints the new version of the section\n"
        "       lethe-section open SECTION                     a handle, usable as SECTION by all processes of the region\n"
        "       lethe-section close HANDLE\n"
        "       lethe-section list                             name, access (r, rw), most bytes; a line for each section\n"
        "SECTION is a name of the manifest's sections, gate.SLOT, or a handle. --of REGION: a section of a region above.\n"
        "Ends 0 after success, 1 after a refusal (the message begins with the error's code), 2 for a wrong command line,\n"
        "3 without a pipe.\n";

const CommandOption command_options[] = {
        {"--raw", COMMAND_FLAG, offsetof(CommandArgs, raw)},
        {"--version", COMMAND_FLAG, offsetof(CommandArgs, version)},
        {"--text", COMMAND_FLAG, offsetof(CommandArgs, text)},
        {"--of", COMMAND_TEXT, offsetof(CommandArgs, of)},
        {"--expect", COMMAND_VERSION, offsetof(CommandArgs, expect)}, {0},
};

/* A section's name has no dot, or begins with "gate."; a handle begins with a region's id. */
static int section_is_handle(const char *s) {
        return strcspn(s, ".") == 26 && s[26] == '.';
}

/* The handle of the command line: a given handle, which stays open, or a new handle of the process. */
static int section_take_handle(Lethe *l, const CommandArgs *a, char handle[LETHE_HANDLE_MAX]) {
        if (!section_is_handle(a->words[1]))
                return lethe_handle_open(l, a->words[1], a->of, handle);
        snprintf(handle, LETHE_HANDLE_MAX, "%s", a->words[1]);
        return LETHE_OK;
}

/* Closes the handle that section_take_handle() opened. */
static int section_drop_handle(Lethe *l, const CommandArgs *a, const char *handle) {
        return section_is_handle(a->words[1]) ? LETHE_OK : lethe_handle_close(l, handle);
}

/* Reports the error before the handle is closed, because closing changes the message. */
static int section_give_up(Lethe *l, const CommandArgs *a, const char *handle, int r) {
        r = command_failed(l, r);
        if (*handle)
                section_drop_handle(l, a, handle);
        return r;
}

static int section_do_read(Lethe *l, const CommandArgs *a) {
        char handle[LETHE_HANDLE_MAX] = "", *copy;
        uint64_t version = 0;
        const char *value;
        int r = section_take_handle(l, a, handle);

        if (r == LETHE_OK)
                r = lethe_handle_read(l, handle, &value, &version);
        if (r != LETHE_OK)
                return section_give_up(l, a, handle, r);
        if (a->version) {
                command_number(l, r, version);
                return command_result(l, section_drop_handle(l, a, handle));
        }
        copy = strdup(value); /* the next call overwrites the value */
        r = copy ? section_drop_handle(l, a, handle) : LETHE_MEMORY;
        if (r == LETHE_OK)
                r = command_print(copy, a->raw);
        else
                r = command_failed(l, r);
        free(copy);
        return r;
}

static int section_do_write(Lethe *l, const CommandArgs *a) {
        char handle[LETHE_HANDLE_MAX] = "", *value = command_value(a->n > 2 ? a->words[2] : NULL, a->text);
        uint64_t version;
        int r;

        if (!value)
                return EXIT_REFUSED;
        r = section_take_handle(l, a, handle);
        if (r == LETHE_OK)
                r = lethe_handle_write(l, handle, value, a->expect, &version);
        free(value);
        if (r != LETHE_OK)
                return section_give_up(l, a, handle, r);
        r = section_drop_handle(l, a, handle);
        return command_number(l, r, version);
}

static int section_do_open(Lethe *l, const CommandArgs *a) {
        char handle[LETHE_HANDLE_MAX] = "";
        int r = lethe_handle_open(l, a->words[1], a->of, handle);

        return command_line(l, r, handle);
}

static int section_do_close(Lethe *l, const CommandArgs *a) {
        int r = lethe_handle_close(l, a->words[1]);

        return command_result(l, r);
}

/* Lists the region's own sections. Names hold no quotes and no escapes, and the supervisor writes members in a fixed
 * order: {"bytes":…,"name":…,"write":…}. */
static int section_do_list(Lethe *l, const CommandArgs *a) {
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
                printf("%.*s\t%s\t%.*s\n", (int)strcspn(name + 8, "\""), name + 8, writes[8] == 't' ? "rw" : "r",
                       (int)strspn(bytes, "0123456789"), bytes);
                p = writes;
        }
        return EXIT_DONE;
}

const CommandVerb command_verbs[] = {
        {"read", 1, 1, section_do_read},
        {"write", 1, 2, section_do_write},
        {"open", 1, 1, section_do_open},
        {"close", 1, 1, section_do_close},
        {"list", 0, 0, section_do_list}, {0},
};
