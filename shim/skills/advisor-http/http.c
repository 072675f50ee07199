#include "http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct Body {
        char *s;
        size_t n, room;
        bool too_long;
} Body;

static size_t http_take(char *bytes, size_t size, size_t count, void *userdata) {
        Body *b = userdata;
        size_t n = size * count;

        if (n > CHAT_BODY_MAX - b->n) {
                b->too_long = true;
                return 0;
        }
        if (b->n + n + 1 > b->room) {
                size_t room = 2 * (b->n + n + 1);
                char *more = realloc(b->s, room);

                if (!more)
                        return 0;
                b->s = more;
                b->room = room;
        }
        memcpy(b->s + b->n, bytes, n);
        b->n += n;
        b->s[b->n] = 0;
        return n;
}

static struct curl_slist *http_headers(const char *key) {
        static const char *const plain[] = {"Content-Type: application/json", "Accept: application/json", "Expect:"};
        static const char word[] = "Authorization: Bearer ";
        struct curl_slist *list = NULL, *more;

        for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++, list = more)
                if (!(more = curl_slist_append(list, plain[i])))
                        goto fail;
        if (key) {
                size_t n = strlen(word) + strlen(key) + 1;
                char *line = malloc(n);

                if (!line)
                        goto fail;
                snprintf(line, n, "%s%s", word, key);
                more = curl_slist_append(list, line);
                explicit_bzero(line, n);
                free(line);
                if (!more)
                        goto fail;
                list = more;
        }
        return list;
fail:
        curl_slist_free_all(list);
        return NULL;
}

static const char *http_judge(CURL *h, CURLcode code, const Body *b) {
        static char text[128];
        const char *type = NULL;
        long status = 0;

        if (b->too_long)
                return "the server's answer is too long";
        if (code != CURLE_OK)
                return curl_easy_strerror(code);
        curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(h, CURLINFO_CONTENT_TYPE, &type);
        if (status != 200) {
                snprintf(text, sizeof(text), "the server answered with status %ld", status);
                return text;
        }
        if (!type || strncasecmp(type, "application/json", 16) != 0 || (type[16] && !strchr("; \t", type[16])))
                return "the server's answer is not application/json";
        return b->n == 0 ? "the server's answer is empty" : NULL;
}

/* "::ADDRESS:PORT" makes CURLOPT_CONNECT_TO connect to the address for any host name: a region cannot look up names. */
static struct curl_slist *http_connect_to(const char *address) {
        char text[160];

        if (strlen(address) > 100)
                return NULL;
        snprintf(text, sizeof(text), "::%s", address);
        return curl_slist_append(NULL, text);
}

static bool http_set_up(CURL *h, const Config *c, const char *body, struct curl_slist *list, struct curl_slist *to,
                        Body *b) {
        return curl_easy_setopt(h, CURLOPT_URL, c->url) == CURLE_OK &&
               curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
               curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
               curl_easy_setopt(h, CURLOPT_PROXY, "") == CURLE_OK &&
               curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
               curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
               curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, c->timeout_ms) == CURLE_OK &&
               curl_easy_setopt(h, CURLOPT_POSTFIELDS, body) == CURLE_OK &&
               curl_easy_setopt(h, CURLOPT_HTTPHEADER, list) == CURLE_OK &&
               curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, http_take) == CURLE_OK &&
               curl_easy_setopt(h, CURLOPT_WRITEDATA, b) == CURLE_OK &&
               (!to || curl_easy_setopt(h, CURLOPT_CONNECT_TO, to) == CURLE_OK) &&
               (!c->ca_file || curl_easy_setopt(h, CURLOPT_CAINFO, c->ca_file) == CURLE_OK);
}

char *http_post(const Config *c, const char *key, const char *body, size_t *ret_n, const char **ret_why) {
        struct curl_slist *list = http_headers(key), *to = c->connect ? http_connect_to(c->connect) : NULL;
        CURL *h = curl_easy_init();
        Body b = {0};

        if (!h || !list || (c->connect && !to) || !http_set_up(h, c, body, list, to, &b))
                *ret_why = "libcurl cannot be set up";
        else
                *ret_why = http_judge(h, curl_easy_perform(h), &b);
        curl_easy_cleanup(h);
        for (struct curl_slist *l = list; l; l = l->next)
                explicit_bzero(l->data, strlen(l->data));
        curl_slist_free_all(list);
        curl_slist_free_all(to);
        if (*ret_why) {
                free(b.s);
                return NULL;
        }
        *ret_n = b.n;
        return b.s;
}
