/* Runs: supervisor. The request that skills make most, a read of a slot, is answered without being taken apart as JSON, when it stands in its line
 * byte for byte as the shims write it and is granted. Whatever differs goes the long way, where it is said what is right and what is wrong with it. */
#include "dispatch/dispatch-internal.h"

#include <string.h>

#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":"
#define MIDDLE ",\"method\":\"slot.read\",\"params\":{\"name\":\""
#define TAIL "\"}}"
#define DIGITS_MAX 15 /* below 2^53 */

static bool skip(const char **at, const char *end, const char *text) {
        size_t n = strlen(text);

        if ((size_t)(end - *at) < n || memcmp(*at, text, n) != 0)
                return false;
        *at += n;
        return true;
}

static bool digit(char c) {
        return c >= '0' && c <= '9';
}

bool quick_read(const char *line, size_t n, QuickRead *ret) {
        const char *at = line, *end = line + n, *id, *name;

        if (!skip(&at, end, HEAD))
                return false;
        for (id = at; at < end && digit(*at); at++)
                ;
        ret->id = id;
        ret->n_id = (size_t)(at - id);
        if (ret->n_id == 0 || ret->n_id > DIGITS_MAX || (*id == '0' && ret->n_id > 1) || !skip(&at, end, MIDDLE))
                return false;
        for (name = at; at < end && *at != '"' && *at != '\\'; at++)
                ;
        ret->n_name = (size_t)(at - name);
        if (ret->n_name > SLOT_NAME_MAX || (size_t)(end - at) != strlen(TAIL) || !skip(&at, end, TAIL))
                return false;
        memcpy(ret->name, name, ret->n_name);
        ret->name[ret->n_name] = 0;
        return true;
}

int dispatch_answer_quickly(Dispatch *d, const char *line, size_t n, Buf *out) {
        QuickRead q;
        json_t *value;
        Diag why;
        int r;

        if (!quick_read(line, n, &q) || dispatch_slot_value(d, q.name, q.n_name, &value, &why) != 0)
                return 0;
        r = reply_with_id(out, q.id, q.n_id, value);
        return r < 0 ? r : 1;
}
