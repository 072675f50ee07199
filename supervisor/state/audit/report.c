#include "audit/report-internal.h"

#include "base/clock.h"
#include "base/size.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void put(Report *r, const char *fmt, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;
        int n;

        if (r->error < 0)
                return;
        va_start(ap, fmt);
        n = vasprintf(&text, fmt, ap);
        va_end(ap);
        if (n < 0)
                text = NULL;
        r->error = n < 0 ? -ENOMEM : buf_add(r->out, text, (size_t)n);
}

/* Between <bdi>, so that marks of writing direction turn nothing but the text itself. */
void put_text(Report *r, const char *s) {
        put(r, "<bdi>");
        for (; *s && r->error == 0; s++) {
                unsigned char c = (unsigned char)*s;

                if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
                        put(r, "&#%u;", c);
                else if (c < 0x20 || c == 0x7F)
                        put(r, "&#x%X;", 0x2400u + (c == 0x7F ? 0x21 : c)); /* its picture */
                else if (c == 0xC2 && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xA0) {
                        put(r, "&#xFFFD;"); /* C1: there are no pictures of these */
                        s++;
                }
                else
                        r->error = buf_add(r->out, s, 1);
        }
        put(r, "</bdi>");
}

void put_size(Report *r, uint64_t bytes) {
        char text[SIZE_TEXT_MAX];

        put(r, "%s", size_format(bytes, text));
}

void put_time(Report *r, uint64_t usec) {
        char text[CLOCK_TEXT_MAX];

        clock_format(usec, text);
        put(r, "%.10s %.8s", text, text + 11);
}

bool report_fails(const RegionFacts *f) {
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (region_question_fails(q) && region_question_is(q, f))
                        return true;
        return false;
}

const char *report_mark(const RegionFacts *f) {
        return report_fails(f) ? "bad" : f->ended ? "good" : "idle";
}

static void count(Report *r) {
        ReportTotals *t = &r->totals;

        t->regions = r->h->n;
        t->holds = true;
        for (size_t i = 0; i < r->h->n; i++) {
                const RegionFacts *f = r->h->regions[i];

                t->ended += f->ended > 0;
                t->cleared += f->ended > 0 && facts_proof(f) == PROOF_CLEARED;
                t->empty += f->ended > 0 && facts_proof(f) == PROOF_EMPTY;
                t->alive += f->ended == 0 && !f->orphan;
                for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                        t->answers[q] += region_question_is(q, f);
                t->uncovered += json_array_size(json_object_get(f->teardown, "not_covered")) > 0;
                t->holds &= !report_fails(f);
                t->held += facts_number(f, "bytes_held");
                t->overwritten += facts_number(f, "bytes_overwritten");
                t->verified += facts_number(f, "bytes_verified");
        }
        r->from_usec = r->h->n ? r->h->regions[0]->allocated_usec : r->h->first_usec;
        r->to_usec = r->h->n ? r->h->regions[r->h->n - 1]->allocated_usec : r->h->last_usec;
        r->to_usec = MAX(r->to_usec, r->from_usec);
}

static void asked(Report *r, const char *name, const char *value) {
        if (!value)
                return;
        put(r, "; %s ", name);
        put_text(r, value);
}

static void header(Report *r) {
        put(r, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"><meta name=\"generator\" content=\"lethe %s\">"
               "<title>Regions of ",
            LETHE_VERSION);
        put(r, "%s</title><style>", r->h->origin); /* hex digits of our own */
        put(r, "%s", report_style);
        put(r, "</style></head><body><header><h1>What became of the memory of %zu region%s</h1><p class=\"soft\">Ledger <span class=\"mono\">%s</span>, %" PRIu64 " entr%s",
            r->totals.regions, r->totals.regions == 1 ? "" : "s", r->h->origin, r->h->entries, r->h->entries == 1 ? "y" : "ies");
        if (r->totals.regions > 0) {
                put(r, "; allocated from ");
                put_time(r, r->from_usec);
                put(r, " to ");
                put_time(r, r->to_usec);
                put(r, " UTC");
        }
        asked(r, "since", r->q->since);
        asked(r, "until", r->q->until);
        asked(r, "skill", r->q->skill);
        asked(r, "key scope", r->q->scope);
        put(r, ". Written ");
        put_time(r, r->q->now_usec);
        put(r, " UTC by lethe %s.</p><p class=\"soft root\">Root <span class=\"mono\">%s</span>, which the ledger's checkpoint is signed for.</p></header><main>", LETHE_VERSION, r->h->root);
}

static void uncovered(Report *r) {
        put(r, "<a href=\"#uncovered\">%zu of %zu regions</a> left storage of a class that was not covered", r->totals.uncovered, r->totals.regions);
}

static void verdict(Report *r) {
        const ReportTotals *t = &r->totals;

        if (t->holds) {
                put(r, t->ended > 0 ? "<div class=\"verdict\"><strong>&#10003; All that was held at the end is proved overwritten.</strong> "
                                    : "<div class=\"verdict idle\"><strong>There is nothing to prove.</strong> ");
                if (t->ended == 1)
                        put(r, "The region that ended was released once and before its end, within its bound, with its memory overwritten and read back.");
                else if (t->ended > 1)
                        put(r, "Each of the %zu regions that ended was released once and before its end, within its bound, with its memory overwritten and read back.", t->ended);
                if (t->empty > 0)
                        put(r, " In %zu of them no program ever ran, and nothing was held.", t->empty);
                if (t->ended == 0)
                        put(r, "No region ended.");
                if (t->uncovered > 0) {
                        put(r, "<p class=\"bad-text\">");
                        uncovered(r);
                        put(r, "</p>");
                }
                put(r, "</div>");
                return;
        }
        put(r, "<div class=\"verdict bad\"><strong>&#10007; Not everything is proved.</strong><ul>");
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (region_question_fails(q) && t->answers[q] > 0)
                        put(r, "<li><a href=\"#unproved\">%zu of %zu regions</a> %s</li>", t->answers[q], t->regions, region_question_what(q));
        if (t->uncovered > 0) {
                put(r, "<li>");
                uncovered(r);
                put(r, "</li>");
        }
        put(r, "</ul></div>");
}

static void tile(Report *r, bool bad, const char *name, const char *fmt, ...) _printf_(4, 5);
static void tile(Report *r, bool bad, const char *name, const char *fmt, ...) {
        char value[64];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(value, sizeof(value), fmt, ap);
        va_end(ap);
        put(r, "<div class=\"tile%s\"><b>%s</b><span>%s%s</span></div>", bad ? " bad" : "", value, bad ? "&#10007; " : "", name);
}

static void tiles(Report *r) {
        const ReportTotals *t = &r->totals;
        char size[SIZE_TEXT_MAX];

        put(r, "<div class=\"tiles\">");
        tile(r, false, "regions", "%zu", t->regions);
        tile(r, false, "proved overwritten", "%zu", t->cleared);
        tile(r, t->answers[REGION_UNPROVED] > 0, "unproved", "%zu", t->answers[REGION_UNPROVED]);
        tile(r, t->answers[REGION_UNRELEASED] > 0, "unreleased", "%zu", t->answers[REGION_UNRELEASED]);
        tile(r, t->answers[REGION_LATE] > 0, "late", "%zu", t->answers[REGION_LATE]);
        tile(r, false, "alive", "%zu", t->alive);
        tile(r, false, "recovered", "%zu", t->answers[REGION_RECOVERED]);
        tile(r, false, "discipline none", "%zu", t->answers[REGION_WEAKER]);
        tile(r, false, "wider key or grant", "%zu", t->answers[REGION_RELAXED]);
        tile(r, t->verified < MAX(t->overwritten, t->held), "overwritten, read back", "%s", size_format(t->verified, size));
        put(r, "</div>");
}

static void footer(Report *r) {
        put(r, "<section><h2>How to check this page</h2><p>The page repeats what the ledger says and proves nothing by itself. These commands ask the ledger, whose formats are public "
               "(lethe-ledger(7)):</p><pre>lethe audit                   # is the ledger what it claims to be?\n"
               "lethe audit regions           # the same answers, exit code 1 when something is not proved\n"
               "lethe certificate REGION      # one region's end, to be verified with openssl</pre></section></main></body></html>\n");
}

int report_render(const History *h, const ReportQuery *q, Buf *ret, ReportTotals *ret_totals) {
        Report r = {.h = h, .q = q, .out = ret};

        count(&r);
        header(&r);
        verdict(&r);
        tiles(&r);
        report_tables(&r);
        footer(&r);
        *ret_totals = r.totals;
        return r.error;
}
