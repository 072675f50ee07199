/* Runs: tests. The options of `lethe run`: each with its good and bad values; programs of --exec; the places in a region. */
#include "base/io.h"
#include "policy/request.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
        const char *option, *value, *says; /* says NULL: accepted */
        int code;
} options[] = {
        {"memory", "128m", NULL, 0},
        {"memory", "0", "--memory", REQUEST_E_BAD},
        {"memory", "", "--memory", REQUEST_E_BAD},
        {"memory", "5x", "a size such as", REQUEST_E_BAD},
        {"memory", "9999999999999999999999", "from 1 MiB to", REQUEST_E_BAD},
        {"timeout", "1.5s", NULL, 0},
        {"timeout", "90", NULL, 0},
        {"timeout", "-1", "--timeout", REQUEST_E_BAD},
        {"cpu-time", "25h", "--cpu-time", REQUEST_E_BAD},
        {"pids-limit", "1", NULL, 0},
        {"pids-limit", "1k", "whole number", REQUEST_E_BAD},
        {"nofile", "8", NULL, 0},
        {"nofile", "7", "from 8", REQUEST_E_BAD},
        {"file-size", "1", NULL, 0},
        {"scratch", "4k", NULL, 0},
        {"output-limit", "1m", NULL, 0},
        {"volume", "/etc:/data", NULL, 0},
        {"volume", "/etc:/data:ro", NULL, 0},
        {"volume", "/etc:/data:rw", NULL, 0},
        {"volume", "/etc/../etc:/data", NULL, 0},
        {"volume", "/etc:/etc/sub", "below the system folder /etc", REQUEST_E_BAD},
        {"volume", "/etc:/work/data", NULL, 0},
        {"volume", "/etc", "SOURCE:TARGET", REQUEST_E_BAD},
        {"volume", ":/data", "SOURCE:TARGET", REQUEST_E_BAD},
        {"volume", "/etc:", "SOURCE:TARGET", REQUEST_E_BAD},
        {"volume", "/etc:ro", "SOURCE:TARGET", REQUEST_E_BAD},
        {"volume", "/etc:data", "absolute", REQUEST_E_BAD},
        {"volume", "/etc:/data:rx", "\"rx\" is neither ro, rw, overlay", REQUEST_E_BAD},
        {"volume", "/etc:/a/../b", "\"..\"", REQUEST_E_BAD},
        {"volume", "/etc:/", "mounted over", REQUEST_E_BAD},
        {"volume", "/etc:/lethe", "Lethe's own", REQUEST_E_BAD},
        {"volume", "/etc:/lethe/bin/x", "Lethe's own", REQUEST_E_BAD},
        {"volume", "/etc:/./skill//x", "Lethe's own", REQUEST_E_BAD},
        {"volume", "/etc:/proc/self", "Lethe's own", REQUEST_E_BAD},
        {"volume", "/etc:/dev/fd", "Lethe's own", REQUEST_E_BAD},
        {"volume", "/etc:/sys", "Lethe's own", REQUEST_E_BAD},
        {"volume", "/etc:/work", "mounted over", REQUEST_E_BAD},
        {"volume", "/etc:/tmp/", "mounted over", REQUEST_E_BAD},
        {"volume", "/etc:/usr", "mounted over", REQUEST_E_BAD},
        {"volume", "/etc:/lethe-data", NULL, 0},
        {"volume", "/nowhere:/data", "No such file", REQUEST_E_SOURCE},
        {"volume", "/etc:/a\033b", "control", REQUEST_E_BAD},
        {"env", "A=b", NULL, 0},
        {"env", "A=", NULL, 0},
        {"env", "HERE", NULL, 0},
        {"env", "NOT_SET_ANYWHERE", "not set here", REQUEST_E_BAD},
        {"env", "=b", "-e", REQUEST_E_BAD},
        {"env", "9A=b", "-e", REQUEST_E_BAD},
        {"env", "A B=c", "-e", REQUEST_E_BAD},
        {"env", "LETHE_REGION=x", "Lethe's own", REQUEST_E_BAD},
        {"workdir", "/work/x", NULL, 0},
        {"workdir", "x", "absolute", REQUEST_E_BAD},
        {"network", "none", NULL, 0},
        {"network", "host", NULL, 0},
        {"network", "bridge", "none, loopback or host", REQUEST_E_BAD},
        {"connect", "127.0.0.1:1", NULL, 0},
        {"connect", "[::1]:65535", NULL, 0},
        {"connect", "localhost:80", "numeric", REQUEST_E_BAD},
        {"connect", "127.0.0.1:080", "port", REQUEST_E_BAD},
        {"connect", "127.0.0.1:", "port", REQUEST_E_BAD},
        {"connect", "[::1]", "[ADDRESS]:PORT", REQUEST_E_BAD},
        {"connect", "[::1:80", "[ADDRESS]:PORT", REQUEST_E_BAD},
        {"connect", "[fe80::1%eth0]:80", "numeric", REQUEST_E_BAD},
        {"entry", "x", NULL, 0},
        {"entry", "", "empty", REQUEST_E_BAD},
        {"tier", "landlock", NULL, 0},
        {"discipline", "multipass:2", NULL, 0},
        {"discipline", "none", NULL, 0}, /* the policy's word comes later */
        {"discipline", "shred", "--discipline: \"shred\"", REQUEST_E_BAD},
        {"discipline", "multipass:99", "from 1 to 16", REQUEST_E_BAD},
        {"tier", "gvisor", "namespaces or landlock", REQUEST_E_BAD},
        {"proc", NULL, NULL, 0},
        {"terminals", NULL, NULL, 0},
        {"privileged", "1", "no such option", REQUEST_E_BAD},
};

Test(request, options) {
        setenv("HERE", "x", 1);
        unsetenv("NOT_SET_ANYWHERE");
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                _cleanup_request_ RunRequest q = {0};
                Diag d = {0};
                int r = request_option(&q, options[i].option, options[i].value, &d);

                cr_expect_eq(r, options[i].code, "--%s %s: %d %s", options[i].option, options[i].value ?: "", r, d.text);
                cr_expect(!options[i].says || strstr(d.text, options[i].says), "--%s %s: %s", options[i].option, options[i].value ?: "", d.text);
        }
}

Test(request, combinations) {
        static const struct {
                const char *what, *first[2], *second[2];
                int code;
        } pairs[] = {
                {"network, then connect", {"network", "none"}, {"connect", "127.0.0.1:1"}, REQUEST_E_BAD},
                {"connect, then network", {"connect", "127.0.0.1:1"}, {"network", "host"}, REQUEST_E_BAD},
                {"two connects", {"connect", "127.0.0.1:1"}, {"connect", "127.0.0.1:2"}, 0},
                {"two mounts at one place", {"volume", "/etc:/x"}, {"volume", "/usr:/x/"}, REQUEST_E_BAD},
                {"the last word counts", {"memory", "64m"}, {"memory", "32m"}, 0},
        };

        for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
                _cleanup_request_ RunRequest q = {0};
                Diag d = {0};
                int r;

                cr_assert_eq(request_option(&q, pairs[i].first[0], pairs[i].first[1], &d), 0, "%s: %s", pairs[i].what, d.text);
                r = request_option(&q, pairs[i].second[0], pairs[i].second[1], &d);
                cr_expect_eq(r, pairs[i].code, "%s: %d %s", pairs[i].what, r, d.text);
                cr_expect(i != 4 || q.budget.memory_bytes == 32U << 20);
        }
}

/* A value may be a secret: no message repeats it. */
Test(request, messages_keep_secrets) {
        _cleanup_request_ RunRequest q = {0};
        Diag d = {0};

        cr_assert_eq(request_option(&q, "env", "LETHE_KEY=hunter2", &d), REQUEST_E_BAD);
        cr_expect_null(strstr(d.text, "hunter2"), "%s", d.text);
        cr_assert_eq(request_option(&q, "env", "A-B=hunter2", &d), REQUEST_E_BAD);
        cr_expect_null(strstr(d.text, "hunter2"), "%s", d.text);
}

Test(request, programs) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char path[PATH_MAX], expected[PATH_MAX];
        static const struct {
                const char *what, *program; /* relative to the temporary folder when it begins with @ */
                int code;
                bool bind;
                const char *path; /* NULL: the same */
        } programs[] = {
                {"system", "/usr/bin/env", 0, false, NULL},
                {"system by name", "env", 0, false, "/usr/bin/env"},
                {"link in the system", "/bin/sh", 0, false, NULL},
                {"with dots", "/usr/bin/../bin/env", 0, false, "/usr/bin/env"},
                {"elsewhere", "@/tool", 0, true, NULL},
                {"link elsewhere", "@/link", 0, true, NULL},
                {"link into the system", "@/env", 0, false, NULL},
                {"missing", "@/gone", REQUEST_E_NOT_FOUND, false, NULL},
                {"missing name", "no-such-program-anywhere", REQUEST_E_NOT_FOUND, false, NULL},
                {"dangling", "@/dangling", REQUEST_E_NOT_FOUND, false, NULL},
                {"not executable", "@/text", REQUEST_E_NOT_EXECUTABLE, false, NULL},
                {"folder", "@/", REQUEST_E_NOT_EXECUTABLE, false, NULL},
                {"FIFO", "@/fifo", REQUEST_E_NOT_EXECUTABLE, false, NULL},
                {"device", "/dev/null", REQUEST_E_NOT_EXECUTABLE, false, NULL},
                {"empty", "", REQUEST_E_BAD, false, NULL},
        };

        cr_assert_eq(temp_dir_make(&t), 0);
        cr_assert_eq(io_write_file(t.fd, "tool", "#!/bin/sh\n", 10, 0755, false), 0);
        cr_assert_eq(io_write_file(t.fd, "text", "x", 1, 0644, false), 0);
        cr_assert_eq(symlinkat("tool", t.fd, "link") | symlinkat("/usr/bin/env", t.fd, "env") | symlinkat("gone", t.fd, "dangling"), 0);
        cr_assert_eq(mkfifoat(t.fd, "fifo", 0755), 0);
        for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
                _cleanup_request_ RunRequest q = {0};
                const char *p = programs[i].program, *e = programs[i].path ?: p;
                Diag d = {0};
                int r;

                snprintf(path, sizeof(path), "%.2000s%.2000s", *p == '@' ? t.path : "", *p == '@' ? p + 1 : p);
                snprintf(expected, sizeof(expected), "%.2000s%.2000s", *e == '@' ? t.path : "", *e == '@' ? e + 1 : e);
                r = request_exec(&q, path, &d);
                cr_expect_eq(r, programs[i].code, "%s: %d %s", programs[i].what, r, d.text);
                if (r != 0)
                        continue;
                cr_expect_eq(q.program.real != NULL, programs[i].bind, "%s", programs[i].what);
                cr_expect_str_eq(q.program.path, expected, "%s", programs[i].what);
                cr_expect(strncmp(q.program.digest, "sha256:", 7) == 0 && strlen(q.program.digest) == 71);
        }
}
