/* Runs: CLI. Classes of programs that people run, each tried with the least options that let it run. */
#include "base/util.h"
#include "cli/doctor.h"
#include "schema/limits.h"
#include "spawn/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM_MSEC 90000
#define OPTIONS_MAX 16

typedef struct ProgramClass {
        const char *name;
        const char *program;    /* in the region's PATH; more may follow in the job */
        const char *install;    /* the fix where the program is not there */
        const char *options;    /* of `lethe run`, joined by blanks */
        const char *job;        /* for /bin/sh -c */
} ProgramClass;

static const ProgramClass program_classes[] = {
        {"program-python", "python3", "apt install python3", "", "python3 -c 'import sys, json, ssl, tempfile'"},
        {"program-node", "node", "apt install nodejs", "--proc --memory 1g",
         "node -e 'const os = require(\"os\"); process.exit(os.cpus().length > 0 && os.totalmem() > 0 ? 0 : 1)'"},
        {"program-java", "java", "apt install default-jre-headless", "--proc --memory 1g --pids-limit 200",
         "java -version"},
        {"program-browser", "chromium", "apt install chromium",
         "--proc --network loopback --memory 2g --scratch 400m --pids-limit 400 --nofile 1024",
         "chromium --headless --no-sandbox --disable-gpu --dump-dom about:blank"},
        {"program-office", "soffice", "apt install libreoffice-writer-nogui",
         "--proc --network loopback --memory 1g --scratch 200m --pids-limit 200",
         "echo text > a.txt && soffice --headless --convert-to pdf a.txt && test -s a.pdf"},
        /* the remote helper is there and comes as far as the connection, which nobody takes */
        {"program-git-https", "git", "apt install git", "--network loopback",
         "git ls-remote https://127.0.0.1:9/x 2>&1 | tee /dev/stderr | grep -qi connect"},
        {"program-habits", "sh", "", "",
         "echo x | cat /dev/stdin >/dev/stdout && id -un && touch /tmp/x $HOME/y && test -s /etc/passwd -a ! -w /usr"},
};

static bool program_is_there(const char *name) {
        char path[PATH_MAX];

        for (const char *p = REGION_PATH; *p;) {
                size_t n = strcspn(p, ":");

                snprintf(path, sizeof(path), "%.*s/%s", (int)n, p, name);
                if (access(path, X_OK) == 0)
                        return true;
                p += n + (p[n] == ':');
        }
        return false;
}

static void program_try(ProbeReport *r, const char *folder, const ProgramClass *c) {
        static const char meaning[] = "a small job of the program did not end with success in a region";
        const char *words[OPTIONS_MAX + 8] = {"--timeout", "60s"};
        char options[256], said[DOCTOR_SAID_MAX], *save = NULL;
        size_t n = 2;
        int e;

        snprintf(options, sizeof(options), "%s", c->options);
        for (char *p = strtok_r(options, " ", &save); p && n < OPTIONS_MAX; p = strtok_r(NULL, " ", &save))
                words[n++] = p;
        words[n++] = "--exec";
        words[n++] = "/bin/sh";
        words[n++] = "-c";
        words[n++] = c->job;
        e = doctor_try(folder, words, PROGRAM_MSEC, said);
        if (e == 0)
                probe_add(r, c->name, PROBE_OK, "", "", "%s runs%s%s", c->program, *c->options ? " with " : "",
                          c->options);
        else
                probe_add(r, c->name, PROBE_WARN, meaning, "'lethe run' with these options, and 'lethe why --last'",
                          "%s does not run with %.100s: %.100s", c->program, *c->options ? c->options : "no options",
                          e < 0 ? strerror(-e) : said);
}

void doctor_programs(ProbeReport *r, const char *store) {
        char folder[PATH_MAX];

        if (!doctor_folder(store, folder)) {
                probe_add(r, "programs", PROBE_WARN, "no program was tried",
                          "a writable folder, for the store or as /tmp", "%.100s: %s", folder, strerror(errno));
                return;
        }
        for (size_t i = 0; i < ARRAY_SIZE(program_classes); i++)
                if (program_is_there(program_classes[i].program))
                        program_try(r, folder, &program_classes[i]);
                else
                        probe_add(r, program_classes[i].name, PROBE_NOTE, "", program_classes[i].install,
                                  "%s is not installed", program_classes[i].program);
        spawn_scratch_remove(folder);
}
