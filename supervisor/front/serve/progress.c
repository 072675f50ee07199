/* Runs: lethe-serve. Progress of a run for the client of the run: lines made by the run's thread, sent by the front.
 * Reports beyond PROGRESS_MAX that the front has not sent yet are dropped. */
#include "serve/serve.h"

#include <string.h>
#include <sys/eventfd.h>

#define PROGRESS_MAX (64 * 1024) /* bytes of lines of a run that wait for the front */
#define UNREAD_MAX (256 * 1024)  /* unread bytes of a client, beyond which progress is dropped */

void progress_tell(void *userdata, const json_t *params) {
        Job *j = userdata;
        char *id = json_dumps(j->id, JSON_COMPACT | JSON_ENCODE_ANY), *text = json_dumps(params, JSON_COMPACT);

        if (id && text) {
                pthread_mutex_lock(&j->lock);
                if (j->progress.n + strlen(id) + strlen(text) + 64 <= PROGRESS_MAX)
                        buf_printf(&j->progress,
                                   "{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":{\"id\":%s,%s}\n", id,
                                   text + 1); /* without the first brace */
                pthread_mutex_unlock(&j->lock);
                eventfd_write(j->server->done_fd, 1);
        }
        if (text)
                explicit_bzero(text, strlen(text));
        free(text);
        free(id);
}

void progress_send(Job *j) {
        Buf lines;

        pthread_mutex_lock(&j->lock);
        lines = j->progress;
        j->progress = (Buf){};
        pthread_mutex_unlock(&j->lock);
        if (lines.n > 0 && j->client && !j->told && j->client->out.bytes.n - j->client->out.sent < UNREAD_MAX)
                client_send_line(j->client, lines.data, lines.n);
        buf_deinit(&lines);
}
