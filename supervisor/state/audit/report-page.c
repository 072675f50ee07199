#include "audit/report-html.h"
#include "base/clock.h"
#include "base/size.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Colours for light and dark screens; paper is light. Red means not proved, and words say the same. */
static const char report_style[] =
        ":root{color-scheme:light dark;--paper:#fff;--card:#f6f7f9;--ink:#16202c;--soft:#566273;--line:#d9dee5;"
        "--good:#1f7a5c;--good-soft:#e3f3ec;--bad:#c0182b;--bad-soft:#fdeaec;--idle:#8a94a3;--mark:#2b5fa8;"
        "--work:#b25e00;--split:#0b7285;--change:#7a3fa0}"
        "@media (prefers-color-scheme:dark){:root{--paper:#12161c;--card:#1a2029;--ink:#e6eaf0;--soft:#9aa6b6;"
        "--line:#2d3643;--good:#4fc397;--good-soft:#16322a;--bad:#ff6b78;--bad-soft:#3a1a20;--idle:#6f7b8b;"
        "--mark:#7fb0f5;--work:#ffab4d;--split:#5fd0e6;--change:#c79be8}}@page{margin:14mm}*{box-sizing:border-box}html{background:var(--paper)}"
        "body{margin:0 auto;max-width:84rem;padding:2rem 1.5rem 4rem;background:var(--paper);color:var(--ink);"
        "font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-variant-numeric:tabular-nums}"
        "h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}h2{font-size:1.1rem;margin:2.4rem 0 .7rem}"
        "p{margin:.4rem 0;max-width:60rem}a{color:var(--mark)}.soft{color:var(--soft)}.mono,code,"
        "pre{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,monospace;font-size:.86em}.root{overflow-wrap:anywhere}"
        ".verdict{border:2px solid var(--good);background:var(--good-soft);border-radius:.5rem;padding:.9rem 1.2rem;"
        "margin:1.3rem 0}.verdict.bad{border-color:var(--bad);background:var(--bad-soft)}"
        ".verdict strong{font-size:1.15rem;color:var(--good)}.verdict.bad strong{color:var(--bad)}"
        ".verdict.idle{border-color:var(--idle);background:var(--card)}.verdict.idle strong{color:var(--ink)}"
        ".verdict ul{margin:.4rem 0 0;padding-left:1.2rem}.tiles{display:grid;grid-template-columns:repeat(auto-fit,"
        "minmax(max(7.5rem,18%),1fr));gap:.8rem}.tile{background:var(--card);border:1px solid var(--line);"
        "border-radius:.5rem;padding:.7rem .9rem}.tile b{display:block;font-size:1.55rem;line-height:1.25;"
        "font-weight:650}.tile span{color:var(--soft);font-size:.85rem}.tile.bad{border-color:var(--bad)}"
        ".tile.bad b,.tile.bad span{color:var(--bad)}.pair{display:grid;grid-template-columns:repeat(auto-fit,"
        "minmax(min(30rem,100%),1fr));gap:1rem 1.4rem}figure{margin:0;background:var(--card);"
        "border:1px solid var(--line);border-radius:.5rem;padding:.9rem 1rem;min-width:0}figcaption{font-weight:600;"
        "margin-bottom:.5rem}figcaption small{display:block;font-weight:400;color:var(--soft)}"
        "svg{display:block;width:100%;height:auto;overflow:visible}svg text{fill:var(--soft);font-size:13px}"
        "svg .axis{stroke:var(--line)}svg .bound{stroke:var(--ink);stroke-dasharray:5 4}"
        "svg text.strong{fill:var(--ink)}.f-good{fill:var(--good)}.f-bad{fill:var(--bad)}.f-idle{fill:var(--idle)}"
        ".f-mark{fill:var(--mark)}.f-work{fill:var(--work)}.f-split{fill:var(--split)}.f-change{fill:var(--change)}"
        ".b-work{background:var(--work)}.b-split{background:var(--split)}.b-change{background:var(--change)}"
        "td.line{min-width:16rem}.key{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;margin:.5rem 0 0;padding:0;"
        "list-style:none;font-size:.85rem;color:var(--soft)}.key i{display:inline-block;width:.7rem;height:.7rem;"
        "border-radius:.15rem;margin-right:.4rem}.b-good{background:var(--good)}.b-bad{background:var(--bad)}"
        ".b-idle{background:var(--idle)}.b-mark{background:var(--mark)}.bars{display:grid;"
        "grid-template-columns:max-content 1fr max-content;gap:.35rem .8rem;align-items:center;margin:0}"
        ".bars dt{margin:0}.bars dd{margin:0}.bar{height:.95rem;border-radius:.2rem;min-width:2px}"
        ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.86rem}th,td{text-align:left;"
        "vertical-align:top;padding:.32rem .6rem;border-bottom:1px solid var(--line)}th{color:var(--soft);"
        "font-weight:600;white-space:nowrap}td.n,th.n{text-align:right;white-space:nowrap}td.bad,"
        ".bad-text{color:var(--bad);font-weight:600}.all{font-size:.79rem}.all td,.all th{padding:.3rem .42rem}"
        ".flagged td.bad{min-width:16rem}td.time,td.mono{white-space:nowrap}tr.bad{background:var(--bad-soft)}"
        "td .tag{display:inline-block;border:1px solid var(--line);border-radius:.7rem;padding:0 .5rem;"
        "margin:0 .25rem .15rem 0;font-size:.8rem;white-space:nowrap}td .tag.bad{border-color:var(--bad);"
        "color:var(--bad);font-weight:600}pre{background:var(--card);border:1px solid var(--line);border-radius:.5rem;"
        "padding:.8rem 1rem;overflow-x:auto;white-space:pre-wrap}@media print{:root{color-scheme:light;--paper:#fff;"
        "--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--good:#1f7a5c;--good-soft:#fff;--bad:#c0182b;--bad-soft:#fff;"
        "--idle:#777;--mark:#2b5fa8}body{font-size:9.5pt;max-width:none;padding:0}.tile,figure,tr,.verdict,"
        "pre{break-inside:avoid}h2{break-after:avoid;margin-top:1.4rem}thead{display:table-header-group}"
        ".pair{grid-template-columns:1fr 1fr}.tiles{grid-template-columns:repeat(5,1fr)}.tile b{font-size:1.2rem}"
        ".scroll{overflow:visible}.all td,.all th,.flagged td,.flagged th{font-size:7pt;padding:.12rem .3rem}"
        ".flagged td.bad{min-width:0}.all .mono,.flagged .mono{font-size:6pt}*{print-color-adjust:exact;"
        "-webkit-print-color-adjust:exact}}";

void report_put(Report *r, const char *fmt, ...) {
        va_list ap;

        if (r->error < 0)
                return;
        va_start(ap, fmt);
        r->error = buf_vprintf(r->out, fmt, ap);
        va_end(ap);
}

/* Inside <bdi>, so that marks of writing direction affect only the text itself. */
void report_put_text(Report *r, const char *s) {
        report_put(r, "<bdi>");
        for (; *s && r->error == 0; s++) {
                unsigned char c = (unsigned char)*s;

                if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
                        report_put(r, "&#%u;", c);
                else if (c < 0x20 || c == 0x7F)
                        report_put(r, "&#x%X;", 0x2400u + (c == 0x7F ? 0x21 : c)); /* the control picture */
                else if (c == 0xC2 && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xA0) {
                        report_put(r, "&#xFFFD;"); /* C1 controls have no pictures */
                        s++;
                }
                else
                        r->error = buf_add(r->out, s, 1);
        }
        report_put(r, "</bdi>");
}

void report_put_size(Report *r, uint64_t bytes) {
        char text[SIZE_TEXT_MAX];

        report_put(r, "%s", size_format(bytes, text));
}

void report_put_time(Report *r, uint64_t usec) {
        char text[CLOCK_TEXT_MAX];

        clock_format(usec, text);
        report_put(r, "%.10s %.8s", text, text + 11);
}

bool report_fails(const RegionFacts *f) {
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (region_questions[q].fails && region_question_is(q, f))
                        return true;
        return false;
}

const char *report_mark(const RegionFacts *f) {
        return report_fails(f) ? "bad" : f->ended ? "good" : "idle";
}

static void report_count(Report *r) {
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

static void report_asked(Report *r, const char *name, const char *value) {
        if (!value)
                return;
        report_put(r, "; %s ", name);
        report_put_text(r, value);
}

static void report_header(Report *r) {
        report_put(r,
                   "<!DOCTYPE html>\n"
                   "<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                   "content=\"width=device-width,initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" "
                   "content=\"default-src 'none'; style-src 'unsafe-inline'\"><meta name=\"generator\" "
                   "content=\"lethe %s\"><title>Regions of ",
                   LETHE_VERSION);
        report_put(r, "%s</title><style>", r->h->origin); /* own hex digits */
        report_put(r, "%s", report_style);
        report_put(r,
                   "</style></head><body><header><h1>What became of the memory of %zu region%s</h1><p "
                   "class=\"soft\">Ledger <span class=\"mono\">%s</span>, %" PRIu64 " entr%s",
                   r->totals.regions, r->totals.regions == 1 ? "" : "s", r->h->origin, r->h->entries,
                   r->h->entries == 1 ? "y" : "ies");
        if (r->totals.regions > 0) {
                report_put(r, "; allocated from ");
                report_put_time(r, r->from_usec);
                report_put(r, " to ");
                report_put_time(r, r->to_usec);
                report_put(r, " UTC");
        }
        report_asked(r, "since", r->q->since);
        report_asked(r, "until", r->q->until);
        report_asked(r, "skill", r->q->skill);
        report_asked(r, "key scope", r->q->scope);
        report_put(r, ". Written ");
        report_put_time(r, r->q->now_usec);
        report_put(r,
                   " UTC by lethe %s.</p><p class=\"soft root\">Root <span class=\"mono\">%s</span>, signed by the "
                   "ledger's checkpoint.</p></header><main>",
                   LETHE_VERSION, r->h->root);
}

static void report_uncovered(Report *r) {
        report_put(r, "<a href=\"#uncovered\">%zu of %zu regions</a> left storage of a class that was not covered",
                   r->totals.uncovered, r->totals.regions);
}

static void report_verdict(Report *r) {
        const ReportTotals *t = &r->totals;

        if (t->holds) {
                report_put(r,
                           t->ended > 0
                                   ? "<div class=\"verdict\"><strong>&#10003; All that was held at the end is proved "
                                     "overwritten.</strong> "
                                   : "<div class=\"verdict idle\"><strong>There is nothing to prove.</strong> ");
                if (t->ended == 1)
                        report_put(r, "The region that ended was released once and before its end, within its bound, "
                                      "with its memory overwritten and read back.");
                else if (t->ended > 1)
                        report_put(r,
                                   "Each of the %zu regions that ended was released once and before its end, within "
                                   "its bound, with its memory overwritten and read back.",
                                   t->ended);
                if (t->empty > 0)
                        report_put(r, " In %zu of the regions no program ever ran, and nothing was held.", t->empty);
                if (t->ended == 0)
                        report_put(r, "No region ended.");
                if (t->uncovered > 0) {
                        report_put(r, "<p class=\"bad-text\">");
                        report_uncovered(r);
                        report_put(r, "</p>");
                }
                report_put(r, "</div>");
                return;
        }
        report_put(r, "<div class=\"verdict bad\"><strong>&#10007; Not everything is proved.</strong><ul>");
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (region_questions[q].fails && t->answers[q] > 0)
                        report_put(r, "<li><a href=\"#unproved\">%zu of %zu regions</a> %s</li>", t->answers[q],
                                   t->regions, region_questions[q].what);
        if (t->uncovered > 0) {
                report_put(r, "<li>");
                report_uncovered(r);
                report_put(r, "</li>");
        }
        report_put(r, "</ul></div>");
}

_printf_(4, 5) static void report_tile(Report *r, bool bad, const char *name, const char *fmt, ...) {
        char value[64];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(value, sizeof(value), fmt, ap);
        va_end(ap);
        report_put(r, "<div class=\"tile%s\"><b>%s</b><span>%s%s</span></div>", bad ? " bad" : "", value,
                   bad ? "&#10007; " : "", name);
}

static void report_tiles(Report *r) {
        const ReportTotals *t = &r->totals;
        char size[SIZE_TEXT_MAX];

        report_put(r, "<div class=\"tiles\">");
        report_tile(r, false, "regions", "%zu", t->regions);
        report_tile(r, false, "proved overwritten", "%zu", t->cleared);
        report_tile(r, t->answers[REGION_UNPROVED] > 0, "unproved", "%zu", t->answers[REGION_UNPROVED]);
        report_tile(r, t->answers[REGION_UNRELEASED] > 0, "unreleased", "%zu", t->answers[REGION_UNRELEASED]);
        report_tile(r, t->answers[REGION_LATE] > 0, "late", "%zu", t->answers[REGION_LATE]);
        report_tile(r, false, "alive", "%zu", t->alive);
        report_tile(r, false, "recovered", "%zu", t->answers[REGION_RECOVERED]);
        report_tile(r, false, "discipline none", "%zu", t->answers[REGION_WEAKER]);
        report_tile(r, false, "wider key or grant", "%zu", t->answers[REGION_RELAXED]);
        report_tile(r, t->verified < MAX(t->overwritten, t->held), "overwritten, read back", "%s",
                    size_format(t->verified, size));
        report_put(r, "</div>");
}

static void report_footer(Report *r) {
        report_put(r, "<section><h2>How to check this page</h2><p>The page repeats the ledger and proves nothing by "
                      "itself. These commands ask the ledger, in public formats (lethe-ledger(7)):</p><pre>"
                      "lethe audit                   # is the ledger what it claims to be?\n"
                      "lethe audit regions           # the same answers, exit code 1 when something is not proved\n"
                      "lethe certificate REGION      # one region's end, to be verified with "
                      "openssl</pre></section></main></body></html>\n");
}

int report_render(const History *h, const ReportQuery *q, Buf *ret, ReportTotals *ret_totals) {
        Report r = {.h = h, .q = q, .out = ret};

        report_count(&r);
        report_header(&r);
        report_verdict(&r);
        report_tiles(&r);
        report_charts(&r);
        report_objects(&r);
        report_tables(&r);
        report_footer(&r);
        *ret_totals = r.totals;
        return r.error;
}
