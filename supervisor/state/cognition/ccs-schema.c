#include "cognition/ccs.h"

/* The hash is over this text and not over schema/ccs.md: prose may be mended there without a new schema, and a program
 * needs no file at run time. A test compares the text with schema/ccs.md, the hash with the text, and the numbers with
 * ccs_field_bounds(). */
static const char ccs_schema[] =
        CCS_SCHEMA "\n"
        "text: a line \"field:\" for each field, in this order; an atom a line below, behind one blank; "
        "semantic_gist and goal_orientation: "
        "atoms behind the colon, joined by \" & \"\n"
        "atom: name(argument, ...); name [a-z][a-z0-9_]{0,31}; argument: words, numbers, \"quoted strings\" "
        "and atoms side by side; depth 3; 96 bytes\n"
        "episodic_trace 0..8: what changed in this turn, from this turn alone\n"
        "semantic_gist 1..8: the dominant intent or topic; 160 bytes together\n"
        "focal_entities 0..24: type(id), oldest first; an id stands once, a value once for each type\n"
        "relational_map 0..24: timing(...) before(...) after(...) cause(...) possible(...) depends(...) "
        "part_of(...) owner(...)\n"
        "goal_orientation 1..4: the persistent objective\n"
        "constraints 0..32: must(SOURCE, ...) must_not(SOURCE, ...) allowed(SOURCE, ...) avoid(SOURCE, ...); "
        "SOURCE: operator or policy, or user; a text leaves \"user, \" out\n"
        "predictive_cue 0..4: the expected next operation\n"
        "uncertainty_signal 1..9: level(low) or level(medium) or level(high), then 0..8 gaps: gap(...)\n"
        "retrieved_artifacts 0..8: label(id@version), oldest first; never raw content\n"
        "bound: 2048 bytes and 512 tokens, or what the session fixed at its start\n";

const char *ccs_schema_text(void) {
        return ccs_schema;
}

const char *ccs_schema_hash(void) {
        return "f4582873c9d79d376b0c3a904cbe640190b3b6c123c5fde5f69e1a71f41bdf1e";
}
