/* Runs: skill. */
#pragma once

#include "chat.h"

/* One POST of JSON to the server of the configuration: no redirect is followed, no proxy asked, nothing but HTTP spoken, and no more taken than
 * CHAT_BODY_MAX. key NULL: none. Returns the answer, owned, or NULL with *ret_why, which has no word of the server's. */
char *http_post(const Config *c, const char *key, const char *body, size_t *ret_n, const char **ret_why);
