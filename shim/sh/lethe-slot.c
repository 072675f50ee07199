/* Runs: skill. lethe-slot: the pipe for shell scripts. */
#include "command.h"
#include "own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_SUB_SKILL 4

const char command_name[] = "lethe-slot";

const char command_help[] =
        "Usage: lethe-slot read NAME [--raw | --version]   the value as JSON; --raw: a string's text; --version: the version\n"
        "       lethe-slot write NAME [VALUE|-] [--text] [--expect N] [--confidence C]\n"
        "                                                  VALUE is JSON, or text with --text; - or no VALUE: standard input;\n"
        "                                                  prints the new version; C: 0 to 1, for slots that are decided\n"
        "                                                  by confidence\n"
        "       lethe-slot list                            name, access (r, w, rw), version; a line for each slot\n"
        "       lethe-slot note [TEXT|-] [--role ROLE]     a note of the region; prints the number. ROLE: agent (default)\n"
        "                                                  or tool_result\n"
        "       lethe-slot canon [BUCKET [ID]] [--state STATE] [--after PLACE] [--limit N] [--at MOMENT]\n"
        "                                                  shared belief as JSON: {\"rows\":[...]}, and \"next\" when more rows\n"
        "                                                  remain: the PLACE for --after\n"
        "       lethe-slot context [--scope SCOPE] [--query QUERY] [--lane N] [--bytes N] [--at MOMENT]\n"
        "                                                  what holds now: kernels, shared belief, lanes of memory; as JSON\n"
        "       lethe-slot kernel agent|world [--section NAME] [--after ID] [--limit N]\n"
        "       lethe-slot notes [--after N] [--limit N]   the notes of this run, and what became of them; as JSON\n"
        "       lethe-slot pending [--after N] [--limit N] those that wait, and for what\n"
        "       lethe-slot memory save KIND [PAYLOAD|-] [--id ID] [--type TYPE] [--refs JSON] [--expect N]\n"
        "       lethe-slot memory load KIND ID | list [FILTER] | search QUERY | history KIND ID | delete KIND ID [--reason TEXT]\n"
        "                  | view KIND ID | refs KIND ID [--scope SCOPE] [--after PLACE] [--limit N]\n"
        "                  load: [--record-version N | --at MOMENT], an earlier version, or as of an event or a time\n"
        "                                                  typed memory; answers as JSON. KIND: memory_substrate (--type episodic,\n"
        "                                                  semantic or observational), knowledge_projections, skill_artifacts\n"
        "       lethe-slot carry read SECTION [--raw | --version]\n"
        "       lethe-slot carry write SECTION [VALUE|-] [--text] [--expect N]\n"
        "                                                  a section of the session, in a turn of `lethe session`\n"
        "       lethe-slot ccs read | state | input        the cognitive state and the input of the turn: as JSON, or one as text\n"
        "       lethe-slot ccs tool [TEXT|-] [--name NAME] an output of a tool, for the next turn; prints how many there are\n"
        "       lethe-slot log [--level LEVEL] MESSAGE     LEVEL: debug, info (default), warning, error\n"
        "       lethe-slot progress DONE [TOTAL [MESSAGE]]\n"
        "       lethe-slot result [VALUE|-] [--text]       the invocation's result, once\n"
        "       lethe-slot run SKILL [--entry NAME] [--input TEXT|-] [--raw] [--] [ARGS...]\n"
        "                                                  a sub-skill, to the end: the result as JSON; --raw: the output\n"
        "       lethe-slot hello                           region, limits and slots as JSON\n"
        "Ends 0 after success, 1 after a refusal (the message begins with the error's code), 2 for a wrong command line,\n"
        "3 without a pipe, 4 when a sub-skill ended otherwise than with exit code 0.\n";

#define TEXT(field) {"--" #field, COMMAND_TEXT, offsetof(CommandArgs, field)}

const CommandOption command_options[] = {
        {"--raw", COMMAND_FLAG, offsetof(CommandArgs, raw)},
        {"--version", COMMAND_FLAG, offsetof(CommandArgs, version)},
        {"--text", COMMAND_FLAG, offsetof(CommandArgs, text)},
        TEXT(name), TEXT(level), TEXT(entry), TEXT(input), TEXT(role), TEXT(state), TEXT(after),
        TEXT(id), TEXT(type), TEXT(refs), TEXT(reason), TEXT(scope), TEXT(query), TEXT(section),
        TEXT(at),
        {"--record-version", COMMAND_VERSION, offsetof(CommandArgs, record_version)},
        {"--lane", COMMAND_LIMIT, offsetof(CommandArgs, lane)},
        {"--bytes", COMMAND_LIMIT, offsetof(CommandArgs, bytes)},
        {"--limit", COMMAND_LIMIT, offsetof(CommandArgs, limit)},
        {"--expect", COMMAND_VERSION, offsetof(CommandArgs, expect)},
        {"--confidence", COMMAND_CONFIDENCE, offsetof(CommandArgs, confidence)}, {0},
};

static int slot_do_read(Lethe *l, const CommandArgs *a) {
        const char *value;
        uint64_t version = 0;
        int r = lethe_slot_read(l, a->words[1], &value, &version);

        if (r != LETHE_OK || a->version)
                return command_number(l, r, version);
        return command_print(value, a->raw);
}

static int slot_do_write(Lethe *l, const CommandArgs *a) {
        uint64_t version = 0;
        char *value = command_value(a->n > 2 ? a->words[2] : NULL, a->text);
        int r;

        if (!value)
                return EXIT_REFUSED;
        r = lethe_slot_propose(l, a->words[1], value, a->expect, a->confidence, &version);
        free(value);
        return command_number(l, r, version);
}

/* Names hold no quotes and no escapes, and the supervisor writes members in a fixed order:
 * {"name":…,"read":…,"version"?:…,"write":…}. */
static int slot_do_list(Lethe *l, const CommandArgs *a) {
        const char *p;
        int r = lethe_slot_list(l, &p);

        if (r != LETHE_OK)
                return command_failed(l, r);
        while ((p = strstr(p, "{\"name\":\""))) {
                const char *name = p + 9, *end = strchr(p, '}'), *reads = strstr(p, "\"read\":"),
                           *writes = strstr(p, "\"write\":"), *version = strstr(p, "\"version\":");

                if (!end || !reads || !writes || reads > end || writes > end)
                        break;
                printf("%.*s\t%s%s\t%.*s\n", (int)strcspn(name, "\""), name, reads[7] == 't' ? "r" : "",
                       writes[8] == 't' ? "w" : "",
                       version && version < end ? (int)strspn(version + 10, "0123456789") : 1,
                       version && version < end ? version + 10 : "-");
                p = end;
        }
        return EXIT_DONE;
}

static int slot_do_note(Lethe *l, const CommandArgs *a) {
        const char *word = a->n > 1 ? a->words[1] : NULL;
        char *text = command_value(word, 0);
        uint64_t note = 0;
        int r;

        if (!text)
                return EXIT_REFUSED;
        r = lethe_note_add(l, text, a->role, &note);
        free(text);
        return command_number(l, r, note);
}

static int slot_do_canon(Lethe *l, const CommandArgs *a) {
        const char *answer = NULL;
        int r = lethe_canon_read_past(l, a->n > 1 ? a->words[1] : NULL, a->n > 2 ? a->words[2] : NULL, a->state,
                                      a->after, (unsigned)a->limit, a->at, &answer);

        return command_line(l, r, answer);
}

/* Each slot_memory_ function returns LETHE_*, or the negative exit code after a message. */
static int slot_memory_save(Lethe *l, const CommandArgs *a, const char **ret) {
        char *payload = command_value(a->n > 3 ? a->words[3] : NULL, 0);
        int r;

        if (!payload)
                return -EXIT_REFUSED;
        r = lethe_memory_save(l,
                              &(LetheSave){.kind = a->words[2], .payload = payload, .id = a->id, .type = a->type,
                                           .refs = a->refs, .expect = a->expect, .scope = a->scope},
                              ret);
        free(payload);
        return r;
}

static int slot_memory_load(Lethe *l, const CommandArgs *a, const char **ret) {
        return lethe_memory_load_past(l, a->words[2], a->words[3], a->scope, (uint64_t)a->record_version, a->at, ret);
}

static int slot_memory_list(Lethe *l, const CommandArgs *a, const char **ret) {
        return lethe_memory_list(l, a->n > 2 ? a->words[2] : NULL, a->after, (unsigned)a->limit, a->scope, ret);
}

static int slot_memory_search(Lethe *l, const CommandArgs *a, const char **ret) {
        return lethe_memory_search(l, a->words[2], (unsigned)a->limit, a->scope, ret);
}

static int slot_memory_history(Lethe *l, const CommandArgs *a, const char **ret) {
        unsigned long long after;
        int r = own_after(a, &after);

        return r ?: lethe_memory_history(l, a->words[2], a->words[3], after, (unsigned)a->limit, a->scope, ret);
}

static int slot_memory_view(Lethe *l, const CommandArgs *a, const char **ret) {
        return lethe_memory_view(l, a->words[2], a->words[3], a->scope, ret);
}

static int slot_memory_refs(Lethe *l, const CommandArgs *a, const char **ret) {
        return lethe_memory_refs(l, a->words[2], a->words[3], a->scope, ret);
}

static int slot_memory_delete(Lethe *l, const CommandArgs *a, const char **ret) {
        return lethe_memory_delete(l, a->words[2], a->words[3], a->reason, a->scope, ret);
}

static int slot_do_memory(Lethe *l, const CommandArgs *a) {
        static const struct {
                const char *name;
                size_t least, most;
                int (*ask)(Lethe *l, const CommandArgs *a, const char **ret);
        } all[] = {{"save", 3, 4, slot_memory_save},       {"load", 4, 4, slot_memory_load},
                   {"list", 2, 3, slot_memory_list},       {"search", 3, 3, slot_memory_search},
                   {"history", 4, 4, slot_memory_history}, {"delete", 4, 4, slot_memory_delete},
                   {"view", 4, 4, slot_memory_view},       {"refs", 4, 4, slot_memory_refs}};
        const char *answer = NULL;

        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
                int r;

                if (strcmp(all[i].name, a->words[1]) != 0)
                        continue;
                if (a->n < all[i].least || a->n > all[i].most)
                        return command_usage("memory %s: %zu arguments; from %zu to %zu are allowed", a->words[1], a->n - 2,
                                             all[i].least - 2, all[i].most - 2);
                r = all[i].ask(l, a, &answer);
                if (r < 0)
                        return -r;
                return command_line(l, r, answer);
        }
        return command_usage("memory: '%s' is none of save, load, list, search, history, view, refs and delete", a->words[1]);
}

static int slot_do_carry(Lethe *l, const CommandArgs *a) {
        uint64_t version = 0;
        const char *value;
        char *text;
        int r;

        if (strcmp(a->words[1], "read") == 0 && a->n == 3) {
                r = lethe_carry_read(l, a->words[2], &value, &version);
                return r != LETHE_OK || a->version ? command_number(l, r, version) : command_print(value, a->raw);
        }
        if (strcmp(a->words[1], "write") != 0)
                return command_usage("carry %s: read SECTION or write SECTION [VALUE|-] is allowed", a->words[1]);
        text = command_value(a->n > 3 ? a->words[3] : NULL, a->text);
        if (!text)
                return EXIT_REFUSED;
        r = lethe_carry_write(l, a->words[2], text, a->expect, &version);
        free(text);
        return command_number(l, r, version);
}

static int slot_do_ccs_tool(Lethe *l, const CommandArgs *a) {
        char *quoted = command_value(a->n > 2 ? a->words[2] : NULL, 1), *text = NULL;
        uint64_t tools = 0;
        ptrdiff_t n;
        int r;

        if (!quoted)
                return EXIT_REFUSED;
        n = lethe_json_unquote(quoted, NULL, 0);
        text = malloc((size_t)n + 1);
        if (text)
                lethe_json_unquote(quoted, text, (size_t)n + 1);
        free(quoted);
        if (!text) {
                fprintf(stderr, "%s: out of memory\n", command_name);
                return EXIT_REFUSED;
        }
        r = lethe_ccs_tool(l, text, a->name, &tools);
        free(text);
        return command_number(l, r, tools);
}

static int slot_do_ccs(Lethe *l, const CommandArgs *a) {
        const char *ccs, *input, *verb = a->words[1];
        uint64_t turn = 0;
        int r;

        if (strcmp(verb, "tool") == 0)
                return slot_do_ccs_tool(l, a);
        if (a->n > 2 || (strcmp(verb, "read") != 0 && strcmp(verb, "state") != 0 && strcmp(verb, "input") != 0))
                return command_usage("ccs %s: read, state, input or tool [TEXT|-] is allowed", verb);
        r = lethe_ccs_read(l, &ccs, &input, &turn);
        if (r != LETHE_OK)
                return command_failed(l, r);
        if (*verb == 's')
                return command_put_text(ccs);
        if (*verb == 'i')
                return command_print(input, 1);
        printf("{\"ccs\":%s,\"input\":%s,\"turn\":%llu}\n", ccs, input, (unsigned long long)turn);
        return EXIT_DONE;
}

static int slot_do_log(Lethe *l, const CommandArgs *a) {
        int r = lethe_log(l, a->level, a->words[1]);

        return command_result(l, r);
}

static int slot_do_progress(Lethe *l, const CommandArgs *a) {
        double v[2] = {0, -1};
        char *end;
        int r;

        for (size_t i = 1; i <= 2 && i < a->n; i++) {
                v[i - 1] = strtod(a->words[i], &end);
                if (end == a->words[i] || *end)
                        return command_usage("DONE and TOTAL are numbers");
        }
        r = lethe_progress(l, v[0], v[1], a->n > 3 ? a->words[3] : NULL);
        return command_result(l, r);
}

static int slot_do_result(Lethe *l, const CommandArgs *a) {
        char *value = command_value(a->n > 1 ? a->words[1] : NULL, a->text);
        int r;

        if (!value)
                return EXIT_REFUSED;
        r = lethe_result(l, value);
        free(value);
        return command_result(l, r);
}

/* The value of a member of an answer in canonical form. key: the bytes before the value, with quotes and colon; no text
 * within the answer can hold these bytes, because quotes are escaped. */
static const char *slot_member(const char *answer, const char *key) {
        const char *p = strstr(answer, key);

        return p ? p + strlen(key) : "";
}

static int slot_do_run(Lethe *l, const CommandArgs *a) {
        char *input = NULL;
        const char *answer = NULL;
        int r, good;

        if (a->input && strcmp(a->input, "-") == 0 && !(input = command_value("-", 0)))
                return EXIT_REFUSED;
        r = lethe_skill_run(l, a->words[1], a->entry, a->words + 2, input ? input : a->input, &answer);
        free(input);
        if (r != LETHE_OK)
                return command_failed(l, r);
        good = strncmp(answer, "{\"exit_code\":0,", 15) == 0;
        if (!a->raw)
                puts(answer);
        else if ((r = command_put_text(slot_member(answer, ",\"output\":"))) != EXIT_DONE)
                return r;
        return good ? EXIT_DONE : EXIT_SUB_SKILL;
}

static int slot_do_hello(Lethe *l, const CommandArgs *a) {
        const char *answer = NULL;
        int r = lethe_hello(l, &answer);

        if (r != LETHE_OK)
                return command_failed(l, r);
        /* Leaves out the key's digits: a key must not reach a terminal, a file or a log. No name has quotes. */
        for (const char *key; (key = strstr(answer, "\"key\":\"")); answer = key + strcspn(key, "\"")) {
                key += 7;
                fwrite(answer, 1, (size_t)(key - answer), stdout);
        }
        puts(answer);
        return EXIT_DONE;
}

const CommandVerb command_verbs[] = {
        {"read", 1, 1, slot_do_read},
        {"write", 1, 2, slot_do_write},
        {"list", 0, 0, slot_do_list},
        {"log", 1, 1, slot_do_log},
        {"progress", 1, 3, slot_do_progress},
        {"result", 0, 1, slot_do_result},
        {"hello", 0, 0, slot_do_hello},
        {"run", 1, COMMAND_WORDS_MAX - 1, slot_do_run},
        {"note", 0, 1, slot_do_note},
        {"canon", 0, 2, slot_do_canon},
        {"memory", 1, 3, slot_do_memory},
        {"context", 0, 0, own_do_context},
        {"kernel", 1, 1, own_do_kernel},
        {"notes", 0, 0, own_do_notes},
        {"pending", 0, 0, own_do_pending},
        {"carry", 2, 3, slot_do_carry},
        {"ccs", 1, 2, slot_do_ccs}, {0},
};
