/* Runs: supervisor. carry.*: the sections of a session, for a turn (I-48, I-84). A turn reads the values of the
 * turn's start. A write is checked at once and held until the turn's end: a turn that does not succeed leaves
 * the session as it was (I-86). */
#include "dispatch/dispatch-internal.h"

#include "engine/session.h"
#include "region/region-carry.h"
#include "region/region-key.h"

#include <errno.h>

void dispatch_use_turn(Dispatch *d, const DispatchTurn *turn) {
        d->turn = turn;
}

/* The turn's own write, else the value at the start: {"value","version"}, borrowed, or NULL. */
static const json_t *carry_look(const Dispatch *d, const char *section) {
        return json_object_get(d->carries, section) ?: json_object_get(d->turn->values, section);
}

static int carry_need(const Dispatch *d, const char *section, Diag *reterr) {
        if (!d->turn)
                return diag(reterr, RPC_E_NOT_GRANTED, "this region is no turn of a session");
        if (!json_object_get(d->turn->sections, section))
                return diag(reterr, RPC_E_UNDECLARED_SECTION,
                            "section \"%s\" is not declared in \"session\" of the manifest", DIAG_QUOTED(section));
        return 0;
}

int dispatch_do_carry_read(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *section;
        const json_t *has;
        int r;

        if (json_take(params, "{s:s}", "section", &section) < 0)
                return dispatch_bad_params(params, "{section: string}", reterr);
        r = carry_need(d, section, reterr);
        if (r != 0)
                return r;
        has = carry_look(d, section);
        if (!has)
                return diag(reterr, RPC_E_NO_VALUE, "section %s: no turn has carried a value yet", section);
        return dispatch_answer(json_copied(has), ret_result);
}

static RpcCode carry_code(int e) {
        switch (e) {
        case CARRY_E_UNDECLARED:
                return RPC_E_UNDECLARED_SECTION;
        case CARRY_E_TOO_LARGE:
                return RPC_E_TOO_LARGE;
        case CARRY_E_UNLOCKED:
                return RPC_E_NO_BUDGET;
        default:
                return RPC_E_SCHEMA;
        }
}

int dispatch_do_carry_write(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        json_t *value, *expected = NULL;
        json_int_t expect = -1, version;
        const char *section;
        size_t n;
        int r;

        if (json_take(params, "{s:s, s:o, s?:o}", "section", &section, "value", &value, "expect", &expected) < 0)
                return dispatch_bad_params(params, "{section: string, value: any, expect?: integer}", reterr);
        r = dispatch_take_version(expected, &expect, reterr) ?: carry_need(d, section, reterr);
        if (r != 0)
                return r;
        if (d->carry_writes++ >= CARRY_WRITES_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%d writes to a session are the most of a turn, refused writes "
                            "included", CARRY_WRITES_MAX);
        version = json_integer_value(json_object_get(carry_look(d, section), "version"));
        if (expect >= 0 && expect != version)
                return diag(reterr, RPC_E_CONFLICT,
                            "section %s is at version %" JSON_INTEGER_FORMAT ", not %" JSON_INTEGER_FORMAT, section,
                            version, expect);
        r = dispatch_key_escape(value, reterr);
        if (r != 0)
                return r;
        r = carry_check(d->turn->sections, section, value, &n, reterr);
        if (r == 0 && d->turn->carry)
                r = carry_reserve(d->turn->carry, section, n, reterr);
        if (r != 0)
                return r < 0 ? r : (int)carry_code(r);
        version = json_integer_value(json_object_get(json_object_get(d->turn->values, section), "version")) + 1;
        if ((!d->carries && !(d->carries = json_object())) ||
            json_object_set_new(d->carries, section, json_pack("{s:O, s:I}", "value", value, "version", version)) < 0)
                return -ENOMEM;
        return dispatch_answer_held(d, json_pack("{s:b, s:I}", "held", true, "version", version), ret_result);
}

int dispatch_carry_end(Dispatch *d, Txn *t, bool keep, const char *reason) {
        const char *section;
        json_t *held;
        int r = 0;

        json_decref(d->carried);
        d->carried = NULL;
        if (json_object_size(d->carries) == 0)
                return 0;
        if (!keep)
                return engine_session_drop(t, d->turn->session, d->region, json_object_size(d->carries), reason);
        json_object_foreach(d->carries, section, held) {
                const SessionCarry c = {.session = d->turn->session, .region = d->region, .section = section,
                                        .value = json_object_get(held, "value")};
                Diag why;

                r = r ?: engine_session_carry(t, &c, NULL, &why);
        }
        if (r == 0)
                d->carried = json_incref(d->carries);
        return r > 0 ? -EUCLEAN : r;
}

json_t *dispatch_carried(const Dispatch *d) {
        return json_incref(d->carried);
}
