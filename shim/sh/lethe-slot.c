/* Runs: skill. lethe-slot: the pipe for shell scripts, one call a process. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_SUB_SKILL 4
#define WORDS_MAX 258

const char *const command_name = "lethe-slot";

static const char help[] =
        "Usage: lethe-slot read NAME [--raw | --version]   the value as JSON; --raw: a string's text; --version: its version\n"
        "       lethe-slot write NAME [VALUE|-] [--text] [--expect N] [--confidence C]\n"
        "                                                  VALUE is JSON, or text with --text; - or none: standard input;\n"
        "                                                  prints the version that the value gets; C: 0 to 1, for slots\n"
        "                                                  that are decided by it\n"
        "       lethe-slot list                            name, access (r, w, rw), version; one slot a line\n"
        "       lethe-slot note [TEXT|-] [--role ROLE]     a note of this region's own; prints its number. ROLE: agent (default)\n"
        "                                                  or tool_result\n"
        "       lethe-slot canon [BUCKET [ID]] [--state STATE] [--after PLACE] [--limit N]\n"
        "                                                  shared belief as JSON: {\"rows\":[...]}, and \"next\" when there is more:\n"
        "                                                  what --after takes\n"
        "       lethe-slot memory save KIND [PAYLOAD|-] [--id ID] [--type TYPE] [--refs JSON] [--expect N]\n"
        "       lethe-slot memory load KIND ID | list [FILTER] | search QUERY | history KIND ID | delete KIND ID [--reason TEXT]\n"
        "                  [--scope SCOPE] [--after PLACE] [--limit N]\n"
        "                                                  typed memory; answers as JSON. KIND: memory_substrate (--type episodic,\n"
        "                                                  semantic or observational), knowledge_projections, skill_artifacts\n"
        "       lethe-slot log [--level LEVEL] MESSAGE     LEVEL: debug, info (default), warning, error\n"
        "       lethe-slot progress DONE [TOTAL [MESSAGE]]\n"
        "       lethe-slot result [VALUE|-] [--text]       the invocation's result, once\n"
        "       lethe-slot run SKILL [--entry NAME] [--input TEXT|-] [--raw] [--] [ARGS...]\n"
        "                                                  a sub-skill, to its end: how it ended as JSON; --raw: its output\n"
        "       lethe-slot hello                           region, limits and slots as JSON\n"
        "Ends 0 when it was done, 1 when it was refused (the message begins with the error's code), 2 for a wrong command line,\n"
        "3 when there is no pipe, 4 when a sub-skill ended otherwise than with exit code 0.\n";

typedef struct Args {
        const char *words[WORDS_MAX + 1]; /* NULL-terminated; verb and what is not an option */
        size_t n;
        const char *level, *entry, *input, *role, *state, *after, *id, *type, *refs, *reason, *scope;
        unsigned limit;
        long long expect; /* -1: any */
        double confidence; /* -1: none */
        int raw, version, text;
} Args;

/* Options may stand anywhere; after -- all is words, and a lone - or a negative number is a word. */
static int args_read(int argc, char **argv, Args *a) {
        int only_words = 0;

        *a = (Args){.level = "info", .expect = -1, .confidence = -1};
        for (int i = 1; i < argc; i++) {
                char *s = argv[i], *end;

                if (only_words || s[0] != '-' || s[1] != '-') {
                        if (a->n == WORDS_MAX)
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
                else if (strcmp(s, "--level") == 0 && i + 1 < argc)
                        a->level = argv[++i];
                else if (strcmp(s, "--entry") == 0 && i + 1 < argc)
                        a->entry = argv[++i];
                else if (strcmp(s, "--input") == 0 && i + 1 < argc)
                        a->input = argv[++i];
                else if (strcmp(s, "--role") == 0 && i + 1 < argc)
                        a->role = argv[++i];
                else if (strcmp(s, "--state") == 0 && i + 1 < argc)
                        a->state = argv[++i];
                else if (strcmp(s, "--after") == 0 && i + 1 < argc)
                        a->after = argv[++i];
                else if (strcmp(s, "--id") == 0 && i + 1 < argc)
                        a->id = argv[++i];
                else if (strcmp(s, "--type") == 0 && i + 1 < argc)
                        a->type = argv[++i];
                else if (strcmp(s, "--refs") == 0 && i + 1 < argc)
                        a->refs = argv[++i];
                else if (strcmp(s, "--reason") == 0 && i + 1 < argc)
                        a->reason = argv[++i];
                else if (strcmp(s, "--scope") == 0 && i + 1 < argc)
                        a->scope = argv[++i];
                else if (strcmp(s, "--limit") == 0 && i + 1 < argc) {
                        unsigned long v = strtoul(argv[++i], &end, 10);

                        if (*argv[i] < '1' || *argv[i] > '9' || *end || v > 1000000)
                                return command_usage("--limit takes a number from 1 on");
                        a->limit = (unsigned)v;
                } else if (strcmp(s, "--expect") == 0 && i + 1 < argc) {
                        s = argv[++i];
                        errno = 0;
                        a->expect = strtoll(s, &end, 10);
                        if (*s < '0' || *s > '9' || *end || errno)
                                return command_usage("--expect takes a version, a number from 0 on");
                } else if (strcmp(s, "--confidence") == 0 && i + 1 < argc) {
                        s = argv[++i];
                        a->confidence = strtod(s, &end);
                        if (*s < '0' || *s > '1' || *end || !(a->confidence >= 0 && a->confidence <= 1))
                                return command_usage("--confidence takes a number from 0 to 1");
                } else if (strcmp(s, "--help") == 0) {
                        fputs(help, stdout);
                        exit(EXIT_DONE);
                } else
                        return command_usage("no such option, or it lacks its value");
        }
        return EXIT_DONE;
}

static int do_read(Lethe *l, const Args *a) {
        unsigned long long version = 0;
        const char *value;
        uint64_t v;
        int r = lethe_slot_read(l, a->words[1], &value, &v);

        if (r != LETHE_OK)
                return command_failed(l, r);
        version = v;
        if (a->version)
                printf("%llu\n", version);
        else
                return command_print(value, a->raw);
        return EXIT_DONE;
}

static int do_write(Lethe *l, const Args *a) {
        uint64_t version;
        char *value = command_value(a->n > 2 ? a->words[2] : NULL, a->text);
        int r;

        if (!value)
                return EXIT_REFUSED;
        r = lethe_slot_propose(l, a->words[1], value, a->expect, a->confidence, &version);
        free(value);
        if (r != LETHE_OK)
                return command_failed(l, r);
        printf("%llu\n", (unsigned long long)version);
        return EXIT_DONE;
}

/* Names hold no quotes and no escapes, and the supervisor writes members in one order: {"name":…,"read":…,"version"?:…,"write":…}. */
static int do_list(Lethe *l, const Args *a) {
        const char *p;
        int r = lethe_slot_list(l, &p);

        if (r != LETHE_OK)
                return command_failed(l, r);
        while ((p = strstr(p, "{\"name\":\""))) {
                const char *name = p + 9, *end = strchr(p, '}'), *reads = strstr(p, "\"read\":"), *writes = strstr(p, "\"write\":"), *version = strstr(p, "\"version\":");

                if (!end || !reads || !writes || reads > end || writes > end)
                        break;
                printf("%.*s\t%s%s\t%.*s\n", (int)strcspn(name, "\""), name, reads[7] == 't' ? "r" : "", writes[8] == 't' ? "w" : "",
                       version && version < end ? (int)strspn(version + 10, "0123456789") : 1, version && version < end ? version + 10 : "-");
                p = end;
        }
        return EXIT_DONE;
}

static int do_note(Lethe *l, const Args *a) {
        const char *word = a->n > 1 ? a->words[1] : NULL;
        char *text = command_value(word, 0);
        uint64_t note;
        int r;

        if (!text)
                return EXIT_REFUSED;
        r = lethe_note_add(l, text, a->role, &note);
        free(text);
        if (r != LETHE_OK)
                return command_failed(l, r);
        printf("%llu\n", (unsigned long long)note);
        return EXIT_DONE;
}

static int do_canon(Lethe *l, const Args *a) {
        const char *answer;
        int r = lethe_canon_read(l, a->n > 1 ? a->words[1] : NULL, a->n > 2 ? a->words[2] : NULL, a->state, a->after, a->limit, &answer);

        if (r != LETHE_OK)
                return command_failed(l, r);
        puts(answer);
        return EXIT_DONE;
}

/* What these return below 0 is how the process ends, with the reason told already; else it is LETHE_*. */
static int memory_save(Lethe *l, const Args *a, const char **ret) {
        char *payload = command_value(a->n > 3 ? a->words[3] : NULL, 0);
        int r;

        if (!payload)
                return -EXIT_REFUSED;
        r = lethe_memory_save(l, &(LetheSave){.kind = a->words[2], .payload = payload, .id = a->id, .type = a->type, .refs = a->refs, .expect = a->expect,
                                              .scope = a->scope}, ret);
        free(payload);
        return r;
}

static int memory_load(Lethe *l, const Args *a, const char **ret) {
        return lethe_memory_load(l, a->words[2], a->words[3], a->scope, ret);
}

static int memory_list(Lethe *l, const Args *a, const char **ret) {
        return lethe_memory_list(l, a->n > 2 ? a->words[2] : NULL, a->after, a->limit, a->scope, ret);
}

static int memory_search(Lethe *l, const Args *a, const char **ret) {
        return lethe_memory_search(l, a->words[2], a->limit, a->scope, ret);
}

static int memory_history(Lethe *l, const Args *a, const char **ret) {
        unsigned long long after = 0;
        char *end;

        if (a->after) {
                errno = 0;
                after = strtoull(a->after, &end, 10);
                if (*a->after < '0' || *a->after > '9' || *end || errno)
                        return -command_usage("memory history: --after takes a number from 0 on");
        }
        return lethe_memory_history(l, a->words[2], a->words[3], after, a->limit, a->scope, ret);
}

static int memory_delete(Lethe *l, const Args *a, const char **ret) {
        return lethe_memory_delete(l, a->words[2], a->words[3], a->reason, a->scope, ret);
}

static int do_memory(Lethe *l, const Args *a) {
        static const struct {
                const char *name;
                size_t least, most;
                int (*ask)(Lethe *l, const Args *a, const char **ret);
        } all[] = {{"save", 3, 4, memory_save}, {"load", 4, 4, memory_load}, {"list", 2, 3, memory_list}, {"search", 3, 3, memory_search},
                   {"history", 4, 4, memory_history}, {"delete", 4, 4, memory_delete}};
        const char *answer;

        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
                int r;

                if (strcmp(all[i].name, a->words[1]) != 0)
                        continue;
                if (a->n < all[i].least || a->n > all[i].most)
                        return command_usage("wrong number of arguments");
                r = all[i].ask(l, a, &answer);
                if (r < 0)
                        return -r;
                if (r != LETHE_OK)
                        return command_failed(l, r);
                puts(answer);
                return EXIT_DONE;
        }
        return command_usage("memory: save, load, list, search, history or delete");
}

static int do_log(Lethe *l, const Args *a) {
        int r = lethe_log(l, a->level, a->words[1]);

        return r == LETHE_OK ? EXIT_DONE : command_failed(l, r);
}

static int do_progress(Lethe *l, const Args *a) {
        double v[2] = {0, -1};
        char *end;
        int r;

        for (size_t i = 1; i <= 2 && i < a->n; i++) {
                v[i - 1] = strtod(a->words[i], &end);
                if (end == a->words[i] || *end)
                        return command_usage("DONE and TOTAL are numbers");
        }
        r = lethe_progress(l, v[0], v[1], a->n > 3 ? a->words[3] : NULL);
        return r == LETHE_OK ? EXIT_DONE : command_failed(l, r);
}

static int do_result(Lethe *l, const Args *a) {
        char *value = command_value(a->n > 1 ? a->words[1] : NULL, a->text);
        int r;

        if (!value)
                return EXIT_REFUSED;
        r = lethe_result(l, value);
        free(value);
        return r == LETHE_OK ? EXIT_DONE : command_failed(l, r);
}

/* A member of an answer in canonical form, which begins with these characters; no text within can look like one, because of its quotes. */
static const char *member(const char *answer, const char *key) {
        const char *p = strstr(answer, key);

        return p ? p + strlen(key) : "";
}

static int do_run(Lethe *l, const Args *a) {
        char *input = NULL;
        const char *answer;
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
        else if ((r = command_put_text(member(answer, ",\"output\":"))) != EXIT_DONE)
                return r;
        return good ? EXIT_DONE : EXIT_SUB_SKILL;
}

static int do_hello(Lethe *l, const Args *a) {
        const char *answer;
        int r = lethe_hello(l, &answer);

        if (r != LETHE_OK)
                return command_failed(l, r);
        /* The key is not for a terminal, a file or a log: its digits are left out. The supervisor writes members in one order, and no name has quotes. */
        for (const char *key; (key = strstr(answer, "\"key\":\"")); answer = key + strcspn(key, "\"")) {
                key += 7;
                fwrite(answer, 1, (size_t)(key - answer), stdout);
        }
        puts(answer);
        return EXIT_DONE;
}

static const struct {
        const char *name;
        size_t least, most; /* words after the verb */
        int (*run)(Lethe *l, const Args *a);
} verbs[] = {
        {"read", 1, 1, do_read},         {"write", 1, 2, do_write},   {"list", 0, 0, do_list}, {"log", 1, 1, do_log},
        {"progress", 1, 3, do_progress}, {"result", 0, 1, do_result}, {"hello", 0, 0, do_hello},
        {"run", 1, WORDS_MAX - 1, do_run}, {"note", 0, 1, do_note},  {"canon", 0, 2, do_canon}, {"memory", 1, 3, do_memory},
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
