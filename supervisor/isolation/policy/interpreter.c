#include "policy/grant.h"
#include "schema/limits.h"

#include <errno.h>
#include <string.h>

/* Python would try to keep the byte code of each module in /skill and /lethe: a denial for nothing, and the end with "on_denial": "end". */
const char *const grant_usual_env[] = {"PATH=" REGION_LETHE_DIR "/bin:" REGION_PATH, "HOME=" REGION_WORK_DIR, "TMPDIR=" REGION_TMP_DIR, "LANG=C.UTF-8",
                                       "PYTHONPATH=" REGION_LETHE_DIR "/python", "PYTHONDONTWRITEBYTECODE=1",
                                       "NODE_PATH=" REGION_LETHE_DIR "/node", NULL};

/* Whether it can be started ahead without "warm", which says what it is to import. */
static const struct {
        const char *name;
        bool without;
} known[] = {{"node", true}, {"python3", false}, {"perl", false}, {"lethe-load", false}};

/* What an interpreter, or the C library, looks at when it starts or once and for all. */
static bool matters_at_start(const char *line) {
        static const char *const begins[] = {"PATH=", "HOME=", "LANG", "LC_", "TZ", "LD_", "PYTHON", "PERL", "NODE", "UV_", "ICU", "OPENSSL", "SSL", "MALLOC_", "GLIBC_", "GCONV_"};

        if (strncmp(line, "NODE_ENV=", 9) == 0) /* for programs alone */
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
                if (strncmp(line, begins[i], strlen(begins[i])) == 0)
                        return true;
        return false;
}

static bool env_is_usual(char *const *env) {
        for (size_t i = 0; env && env[i]; i++) {
                bool usual = !matters_at_start(env[i]);

                for (size_t k = 0; grant_usual_env[k] && !usual; k++)
                        usual = strcmp(env[i], grant_usual_env[k]) == 0;
                if (!usual)
                        return false;
        }
        return true;
}

/* A program of the skill's own folder that has an interpreter's name stands below /skill. */
static bool of_the_system(const char *program) {
        return !strchr(program, '/') || strncmp(program, "/usr/", 5) == 0 || strncmp(program, "/bin/", 5) == 0 || strcmp(program, REGION_LETHE_DIR "/bin/lethe-load") == 0;
}

int grant_find_interpreter(Grant *g) {
        const char *program = g->argv[0], *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

        /* With /proc the arguments that it was started with could be read. */
        if (!g->skill_dir || g->proc || !of_the_system(program) || !g->argv[1] || g->argv[1][0] == '-' || !env_is_usual(g->env))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(known) && !g->interpreter; i++)
                if (strcmp(name, known[i].name) == 0 && (known[i].without || g->preload) && !(g->interpreter = strdup(program)))
                        return -ENOMEM;
        return 0;
}
