/* Runs: skill. */
#pragma once

#include "chat.h"

/* POSTs JSON to the server of the configuration, over HTTP only, without redirects and without a proxy; takes at
 * most CHAT_BODY_MAX bytes. key NULL: no key. Returns the answer, owned, or NULL with *ret_why, which holds no word
 * from the server. */
char *http_post(const Config *c, const char *key, const char *body, size_t *ret_n, const char **ret_why);
