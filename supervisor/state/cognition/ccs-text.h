/* Runs: supervisor, CLI. The text of a cognitive state (C-17, schema/ccs.md). The printer is canonical: nine fields in
 * their order, `field: atom & atom` for gist and goals, an atom a line elsewhere. The parser takes more: fields in any
 * order, atoms behind the colon, `;` `&` or a line feed between atoms, `-` or `*` before an atom, more white space,
 * CRLF, `field[3]:`, lines of ``` around. parse(print(x)) = x; print(parse(s)) is canonical. Pure. */
#pragma once

#include "base/buf.h"
#include "cognition/ccs.h"

#define CCS_TEXT_MAX (64 << 10) /* bytes that the parser reads */

/* Reads the fields and the grammar of atoms; ccs_validate() has the rules of each field. A level(...) atom of
 * uncertainty_signal comes to stand first. The message has line, value and rule. On failure *ret is unchanged. Returns
 * 0, -ENOMEM, CCS_E_SYNTAX, CCS_E_FIELD, CCS_E_COUNT (more atoms than the field can have). */
int ccs_parse(const char *text, size_t n, Ccs *ret, Diag *reterr);
/* Adds the canonical text. Returns 0, -ENOMEM, -EFBIG. */
int ccs_print(const Ccs *c, Buf *out);
/* Adds an atom as the text of a state has it: a constraint of the user without "user, ". Returns 0, -ENOMEM, -EFBIG. */
int ccs_print_atom(CcsField f, const char *atom, Buf *out);
/* Bytes and tokens (C-54) of the canonical text. */
void ccs_measure(const Ccs *c, size_t *ret_bytes, size_t *ret_tokens);
