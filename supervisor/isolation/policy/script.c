/* Runs: supervisor, CLI. A file of a skill without an entry of lethe.json: the file, or the file with its interpreter
 * (A-13). */
#include "base/path-lookup.h"
#include "base/watchdog.h"
#include "policy/merge.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define SCRIPT_MAX (16 * 1024 * 1024)
#define SCRIPT_LINE_MAX 256 /* of the first line, as the kernel reads it (execve(2)) */
#define SCRIPT_PROGRAMS 5
#define SCRIPTS_SHOWN 8

/* Interpreters by extension: the first that a system folder has. A second word is the interpreter's argument. */
static const struct {
        const char *extension, *programs[SCRIPT_PROGRAMS];
} scripts[] = {
        {".py", {"python3"}},
        {".js", {"node", "bun"}},
        {".mjs", {"node", "bun"}},
        {".ts", {"bun", "deno run", "tsx", "ts-node", "node"}},
        {".sh", {"bash", "sh"}},
        {".rb", {"ruby"}},
        {".pl", {"perl"}},
};

/* The row of the file's extension; ARRAY_SIZE(scripts): no row. */
static size_t script_row(const char *path) {
        const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash + 1 : path, '.');
        size_t i = 0;

        while (i < ARRAY_SIZE(scripts) && !(dot && strcmp(scripts[i].extension, dot) == 0))
                i++;
        return i;
}

static bool script_may_run(const BundleFile *f) {
        return f->executable || script_row(f->path) < ARRAY_SIZE(scripts);
}

/* Adds up to two words of `line`: the kernel gives an interpreter a single argument. */
static int script_add_words(char ***argv, const char *line) {
        _cleanup_free_ char *words = strdup(line);
        char *rest;
        int r;

        if (!words)
                return -ENOMEM;
        rest = strpbrk(words, " \t");
        if (rest)
                *rest++ = 0;
        r = strv_add(argv, words);
        if (rest)
                rest += strspn(rest, " \t");
        return r == 0 && rest && *rest ? strv_add(argv, rest) : r;
}

static int script_by_extension(char ***argv, size_t row, const char *path, Diag *reterr) {
        char list[128] = "";
        size_t o = 0;

        for (size_t i = 0; i < SCRIPT_PROGRAMS && scripts[row].programs[i]; i++) {
                const char *program = scripts[row].programs[i];
                _cleanup_free_ char *name = strndup(program, strcspn(program, " ")), *found = NULL;
                int r = name ? path_search(name, &found) : -ENOMEM;

                if (r < 0)
                        return r;
                if (found)
                        return script_add_words(argv, program);
                o += (size_t)snprintf(list + o, sizeof(list) - o, "%s%s", i > 0 ? ", " : "", name);
        }
        return diag(reterr, GRANT_E_NOT_FOUND, "\"%s\": to run %s files needs one of %s in " REGION_PATH,
                    DIAG_QUOTED(path), scripts[row].extension, list);
}

/* The first line behind "#!", without the spaces at both ends. *ret: empty without such a line. */
static int script_first_line(const Skill *s, const BundleFile *f, char ret[static SCRIPT_LINE_MAX], Diag *reterr) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -1;
        size_t n, from = 2, to;
        Diag why = {0};
        int r;

        *ret = 0;
        if (f->bytes > SCRIPT_MAX)
                return 0;
        r = s->copy.path ? 0 : lookup_may_read(s->dir); /* a dry run makes no copy */
        if (r < 0)
                return diag(reterr, GRANT_E_SOURCE, "%s: %s", s->dir, lookup_strerror(r));
        _cleanup_watchdog_ WatchdogWait w = watchdog_wait("the skill", s->dir);
        fd = open(s->copy.path ?: s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return diag(reterr, GRANT_E_SOURCE, "%s: %s", s->dir, strerror(errno));
        r = bundle_read_file(&s->bundle, fd, f->path, SCRIPT_MAX, &text, &n, &why);
        if (r > 0)
                return diag(reterr, GRANT_E_SOURCE, "%s/%s", s->dir, why.text);
        if (r < 0 || n < 2 || text[0] != '#' || text[1] != '!')
                return r;
        to = from + strcspn(text + from, "\n\r");
        while (from < to && (text[from] == ' ' || text[from] == '\t'))
                from++;
        while (to > from && (text[to - 1] == ' ' || text[to - 1] == '\t'))
                to--;
        if (to - from >= SCRIPT_LINE_MAX || memchr(text + from, 0, to - from))
                return diag(reterr, GRANT_E_NOT_EXECUTABLE,
                            "\"%s\": the first line names no interpreter within %d bytes", f->path, SCRIPT_LINE_MAX);
        memcpy(ret, text + from, to - from);
        ret[to - from] = 0;
        return 0;
}

/* The interpreter of a file: nothing is added for a file that the kernel starts by itself. */
static int script_interpreter(const Skill *s, const BundleFile *f, char ***argv, Diag *reterr) {
        const size_t row = script_row(f->path);
        char line[SCRIPT_LINE_MAX] = "";
        int r = 0;

        if (f->executable && row == ARRAY_SIZE(scripts))
                return 0;
        if (!f->link)
                r = script_first_line(s, f, line, reterr);
        if (r != 0 || (*line && f->executable))
                return r;
        if (*line)
                return script_add_words(argv, line);
        if (row < ARRAY_SIZE(scripts))
                return script_by_extension(argv, row, f->path, reterr);
        return f->link ? 0
                       : diag(reterr, GRANT_E_NOT_EXECUTABLE,
                              "\"%s\": neither executable (chmod +x) nor a script: no \"#!\" line, and no extension of "
                              ".py .js .mjs .ts .sh .rb .pl",
                              DIAG_QUOTED(f->path));
}

/* A list for messages: the files that can be run. */
static const char *script_list(const Skill *s, char list[static 512]) {
        size_t n = 0, o = 0;

        for (size_t i = 0; i < s->bundle.n_files && o < 480; i++) {
                if (!script_may_run(&s->bundle.files[i]))
                        continue;
                if (n++ == SCRIPTS_SHOWN) {
                        snprintf(list + o, 512 - o, " and more");
                        break;
                }
                o += (size_t)snprintf(list + o, 480 - o, "%s%s", o > 0 ? ", " : "files to run: ", s->bundle.files[i].path);
        }
        return n > 0 ? list : "no file can be run";
}

int merge_script_missing(const Skill *s, const char *shown, Diag *reterr) {
        char list[512] = "";

        if (shown)
                return diag(reterr, GRANT_E_NOT_FOUND, "\"%s\": no such file in %s; %s", shown, s->dir,
                            script_list(s, list));
        return diag(reterr, GRANT_E_USAGE,
                    "the skill has %s: name the file to run behind SKILL, or --exec PROGRAM; %s",
                    s->has_manifest ? "no \"entry\" in its lethe.json" : "no lethe.json", script_list(s, list));
}

int merge_script(char ***argv, const Skill *s, const char *path, Diag *reterr) {
        const char *shown = DIAG_QUOTED(path);
        _cleanup_free_ char *said = text_printf("\"%s\"", shown), *inside = NULL;
        const BundleFile *f;
        int r;

        /* the path in the region names the file, too */
        if (path_is_under(path, REGION_SKILL_DIR))
                path += strlen(REGION_SKILL_DIR);
        r = said ? merge_skill_file(s, path, said, &f, &inside, reterr) : -ENOMEM;
        if (r != 0)
                return r;
        if (!f)
                return merge_script_missing(s, shown, reterr);
        return script_interpreter(s, f, argv, reterr) ?: strv_add(argv, inside);
}
