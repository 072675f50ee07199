#include "cli/serve-client-detach.h"

#include "base/log.h"
#include "cli/cli.h"
#include "cli/serve-call.h"
#include "schema/serve.h"

#include <errno.h>
#include <string.h>

#define AGAIN (-1) /* the daemon ran nothing: another may */

static json_t *detach_request(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o,
                              const DetachAsked *asked) {
        json_t *request = serve_client_request(t, a, exec, o, asked->place.store, NULL),
               *params = json_object_get(request, "params");

        if (!request || json_object_del(params, "stdio") < 0 || json_object_set_new(params, "receipt", json_false()) < 0 ||
            /* the hosts were compared with the caller's places already */
            json_object_del(params, "policy") < 0 || json_object_set_new(params, "detach", json_true()) < 0 ||
            json_object_set_new(params, "interactive", json_boolean(asked->interactive)) < 0 ||
            json_object_set_new(params, "remove", json_boolean(asked->remove)) < 0) {
                json_decref(request);
                return NULL;
        }
        return request;
}

/* The program did not start: the command ends as a run of its own would. */
static int detach_not_started(const SkillRequest *a, const char *exec, const RunOptions *o, const json_t *result) {
        const json_t *refusal = json_object_get(result, "refusal"), *code = json_object_get(result, "exit_code");
        const char *why = cli_text(refusal, "message"), *said = cli_text(result, "stderr"), *told = cli_text(result, "message");

        if (said)
                fputs(said, stderr);
        if (why && json_is_true(json_object_get(refusal, "usage")))
                cli_usage("run", "%s", why);
        else if (why || told)
                cli_fail("run", EXIT_LETHE, "%s", why ?: told);
        if (!json_is_integer(code))
                return serve_client_failed(a, exec, o, "lethe serve: malformed answer");
        return (int)json_integer_value(code) & 0xFF;
}

static int detach_tell(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o, bool public,
                       const json_t *answer) {
        const json_t *error = json_object_get(answer, "error"), *result = json_object_get(answer, "result");
        const char *region = cli_text(result, "region");
        Diag d = {};

        if (-cli_integer(error, "code") == SERVE_E_STOPPING && !public) /* its last region just ended */
                return AGAIN;
        if (error && public && serve_client_must_run_alone(-cli_integer(error, "code"))) {
                serve_client_tell_refused(t, o, -cli_integer(error, "code"), cli_text(error, "message"));
                return AGAIN;
        }
        if (error) {
                diag(&d, 0, "lethe serve: %s", cli_text(error, "message") ?: "malformed answer");
                return serve_client_failed(a, exec, o, d.text);
        }
        if (!json_is_true(json_object_get(result, "detached")) || !region || !region_id_valid(region))
                return detach_not_started(a, exec, o, result);
        fputs(cli_text(result, "stderr") ?: "", stderr);
        printf("%s\n", region);
        return cli_done("run", EXIT_OK);
}

static int detach_ask(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o,
                      const DetachAsked *asked, int fd, const char *socket, int signals) {
        _cleanup_liveness_ Liveness liveness = {.probe = -1};
        _cleanup_buf_ Buf line = {.max = SERVE_ANSWER_MAX};
        _cleanup_json_ json_t *answer = NULL;
        json_t *request = detach_request(t, a, exec, o, asked);
        int e;

        if (!request)
                return serve_client_failed(a, exec, o, "an argument is not UTF-8: --detach needs a daemon, and arguments of a "
                                                       "daemon's run are text");
        liveness_begin(&liveness, fd, socket);
        e = serve_call_send(fd, request, NULL, 0);
        if (e == 0)
                e = serve_call_receive(fd, signals, &liveness, &line);
        if (e == 0 && json_parse(line.data, line.n, line.n, 32, &answer, NULL) != 0)
                e = -EPROTO;
        if ((e == -EPIPE || e == -ECONNRESET) && !liveness.signo)
                return AGAIN;
        if (e == -ETIMEDOUT)
                return 128 + liveness.signo;
        return e == 0 ? detach_tell(t, a, exec, o, socket, answer) : serve_client_failed(a, exec, o, strerror(-e));
}

int serve_client_detach(ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o,
                        const DetachAsked *asked, int signals) {
        _cleanup_free_ char *socket = NULL;
        _cleanup_close_ int fd = -1;
        bool foreign = false;
        Diag d = {};
        int e;

        if (t->cannot)
                return serve_client_failed(a, exec, o, "an option is not UTF-8: --detach needs a daemon, and options of a daemon's "
                                                       "run are text");
        if (!asked->alone)
                fd = serve_client_connect(t, o, asked->place.store, asked->place.socket, &foreign, &socket);
        if (foreign) {
                serve_client_tell_refused(t, o, SERVE_E_NOT_ALLOWED, "a run of another user than the daemon's own ends with its "
                                                                     "connection");
                closep(&fd);
        }
        e = fd >= 0 ? detach_ask(t, a, exec, o, asked, fd, socket, signals) : AGAIN;
        if (e != AGAIN)
                return e;
        closep(&fd);
        e = session_host_like(&asked->place, &fd, &d);
        if (e != 0)
                return serve_client_failed(a, exec, o, *d.text ? d.text : strerror(-e));
        e = detach_ask(t, a, exec, o, asked, fd, NULL, signals);
        if (e != AGAIN)
                return e;
        closep(&fd);
        e = session_host_private(&asked->place, &fd, &d);
        if (e != 0)
                return serve_client_failed(a, exec, o, *d.text ? d.text : strerror(-e));
        e = detach_ask(t, a, exec, o, asked, fd, NULL, signals);
        return e != AGAIN ? e : serve_client_failed(a, exec, o, "the private daemon of the run ended before the program ran");
}
