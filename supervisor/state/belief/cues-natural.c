/* Runs: supervisor, CLI. Notes of plain English: the sentences one by one, and the first line of a change. */
#include "belief/cues-natural.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A change's first line, "net/x: fix y": the fixed thing is "net/x: y". Labels of to-do lists tell no finished work. */
static int natural_commit_head(Piece note, Piece aliases, BeliefRequest *ret, Diag *reterr) {
        static const char *const labels[] = {
                "todo:", "next:",  "later:",    "goal:",  "idea:",     "wip:",     "fixme:",    "want:",
                "need:", "needs:", "question:", "maybe:", "proposal:", "request:", "reminder:", "action:",
                "note:", "step:",  "please:",   "agent:", "user:",     "system:",  NULL,
        };
        static const char *const verbs[] = {"fix", "fixes", "fixed", NULL};
        static const Cue cue = {"", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.7};
        _cleanup_free_ char *text = NULL;
        Piece rest = note, line, area;
        Sentence s;
        CueWord label;
        size_t from;
        int n;

        if (!piece_line(&rest, &line) || line.n > CANON_PHRASE_BYTES)
                return CUES_NONE;
        area = (Piece){line.s, 0};
        while (area.n < line.n && (ascii_letter(line.s[area.n]) ||
                                   (area.n > 0 && strchr("0123456789_/.,*+-", line.s[area.n]) && line.s[area.n])))
                area.n++;
        if (area.n < 2 || area.n + 1 >= line.n || line.s[area.n] != ':' || line.s[area.n + 1] != ' ')
                return CUES_NONE;
        label = (CueWord){.s = line.s, .n = (uint16_t)(area.n + 1)};
        rest = (Piece){line.s + area.n + 2, line.n - area.n - 2};
        if (word_is_one_of(&label, labels) || !sentence_next(&rest, &s) || s.n < 2 || s.too_long || s.question ||
            s.words[0].quoted || s.words[0].stop || !word_is_one_of(&s.words[0], verbs) || sentence_has_but(&s, 1))
                return CUES_NONE;
        from = s.n > 2 && word_is(&s.words[1], "for") ? 2 : 1;
        line = sentence_piece(&s, from, s.n);
        n = asprintf(&text, "%.*s: %.*s", (int)area.n, area.s, (int)line.n, line.s);
        if (n < 0)
                return -ENOMEM;
        return natural_request_of_change(&cue, (Piece){text, (size_t)n}, note, aliases, ret, reterr);
}

/* Tells whether the note describes a change, "net/x: add y". Its rules and faults are about the change alone. */
static bool natural_is_change(Piece note) {
        const char *end = memchr(note.s, ':', note.n), *slash = memchr(note.s, '/', note.n),
                   *blank = memchr(note.s, ' ', note.n);

        return end && slash && slash < end && blank == end + 1;
}

/* Cuts the lines of aliases from the end of the note. */
static Piece natural_cut_aliases(Piece note, Piece *ret_aliases) {
        *ret_aliases = PIECE_NULL;
        for (size_t i = note.n; i > 0; i--)
                if (note.s[i - 1] == '\n' && cues_alias_line((Piece){note.s + i, note.n - i}, ret_aliases))
                        return (Piece){note.s, i - 1};
        return note;
}
/* Takes back the end that was found. */
static bool natural_takes_back(const Sentence *s, const NaturalFound *found) {
        return op_ends(found->cue.op) && sentence_takes_back(s);
}

/* Sentences inside of a fence of code are no statement. */
static bool natural_next(Piece *rest, bool *fenced, Sentence *ret) {
        while (sentence_next(rest, ret)) {
                bool was = *fenced;
                Piece p = {ret->begin, (size_t)(ret->end - ret->begin)};

                for (const char *at; (at = memmem(p.s, p.n, "```", 3));
                     p = (Piece){at + 3, p.n - (size_t)(at + 3 - p.s)})
                        *fenced = !*fenced;
                if (!was)
                        return true;
        }
        return false;
}

int cues_natural_says(Piece note, Kind kind, Op op, BeliefRequest *ret) {
        bool fenced = false, has = false;
        NaturalFound found, f;
        Piece aliases, rest;
        Sentence s;
        int r;

        note = natural_cut_aliases(note, &aliases);
        rest = note;
        while (natural_next(&rest, &fenced, &s)) {
                bool more, is = natural_find(&s, &f, &more);

                if (has && !is && natural_takes_back(&s, &found))
                        return CUES_NONE;
                if (has || !is || f.doubtful || f.cue.kind != kind || f.cue.op != op)
                        continue;
                has = true;
                found = f;
        }
        r = has ? natural_request(&found, note, aliases, ret, NULL) : CUES_NONE;
        return r > 0 ? CUES_NONE : r;
}

int cues_natural(Piece note, BeliefRequest *ret, Diag *reterr) {
        bool fenced = false, has = false;
        NaturalFound found, f;
        Piece aliases, rest;
        Sentence s;
        int r;

        note = natural_cut_aliases(note, &aliases);
        r = natural_commit_head(note, aliases, ret, reterr);
        if (r != CUES_NONE || natural_is_change(note))
                return r;
        rest = note;
        while (natural_next(&rest, &fenced, &s)) {
                bool more, is = natural_find(&s, &f, &more);

                if (has && !is && natural_takes_back(&s, &found))
                        return CUES_NONE;
                if (!is)
                        continue;
                if (has || more)
                        return diag(reterr, BELIEF_E_SEVERAL,
                                    "the note says more than one thing: write one note for each");
                has = true;
                found = f;
        }
        return has ? natural_request(&found, note, aliases, ret, reterr) : CUES_NONE;
}
