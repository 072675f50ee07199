#include "belief/cues.h"

#include "belief/cues-draft.h"
#include "refs/reserved-names.h"

#include <errno.h>
#include <string.h>

static bool cues_is_any(Piece name, const char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (piece_is(name, words[i]))
                        return true;
        return false;
}

/* A note cannot set fields of the service or of an interpreter. Field names that are plain English words are refused
 * only in a note of the grammar. */
static int cues_no_forged_lines(Piece note, bool in_grammar, Diag *reterr) {
        static const char *const requests[] = {"target_id", "candidate_aliases", "reference_text"};
        static const char *const plain[] = {"scope", "region", "agent", "run", "policy", "seq", "degraded"};
        Piece line, name, value;

        while (piece_line(&note, &line)) {
                char word[64];

                if (!cues_field_line(line, &name, &value) || name.n >= sizeof(word))
                        continue;
                for (size_t i = 0; i < name.n; i++)
                        word[i] = (char)(name.s[i] | (name.s[i] == '_' ? 0 : 0x20));
                word[name.n] = 0;
                if (cues_is_any(name, requests, ARRAY_SIZE(requests)))
                        return diag(reterr, BELIEF_E_FORGED,
                                    "a note has no field %s: only an interpreter's request has", word);
                if (strchr(word, '_') ? reserved_name_is(word)
                                      : in_grammar && cues_is_any(name, plain, ARRAY_SIZE(plain)))
                        return diag(reterr, BELIEF_E_SERVICE, "%s is filled in by the service: no note may hold it",
                                    word);
        }
        return 0;
}

static int cues_no_cue(BeliefRequest *ret, Diag *reterr) {
        _cleanup_json_ json_t *o = json_pack("{s:s, s:s}", "decision", "reject", "rationale", CUE_NO_CUE);

        return o ? belief_request_read(o, ret, reterr) : -ENOMEM;
}

int cues_interpret(const char *text, size_t n, CueRole role, BeliefRequest *ret, Diag *reterr) {
        _cleanup_canon_request_ BeliefRequest made = {0};
        Piece note = {text, n};
        bool in_grammar;
        int r = belief_note_check(text, n, reterr);

        if (r != 0)
                return r;
        note = piece_trim(note);
        r = cues_grammar(note, role == CUE_TOOL_RESULT, &made, reterr);
        in_grammar = r == 0 && made.kind != KIND_PLAN; /* a plan may have any lines */
        if (r == CUES_NONE && role == CUE_AGENT)
                r = cues_natural(note, &made, reterr);
        if (r == CUES_NONE)
                r = cues_no_cue(&made, reterr);
        if (r == 0)
                r = cues_no_forged_lines(note, in_grammar, reterr);
        if (r != 0)
                return r;
        *ret = made;
        made = (BeliefRequest){0};
        return 0;
}

void cues_first_clause(const char *text, size_t n, const char **ret, size_t *ret_n) {
        Piece rest = piece_trim((Piece){text, n}), line = PIECE_NULL;

        if (piece_line(&rest, &line))
                for (size_t i = 0; i < line.n; i++)
                        if (line.s[i] && strchr(".!?;", line.s[i]) && (i + 1 == line.n || line.s[i + 1] == ' '))
                                line.n = i;
        line = piece_trim(line);
        *ret = line.s;
        *ret_n = line.n;
}
