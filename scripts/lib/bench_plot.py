"""Draws what scripts/bench measured as one SVG: for each table its rows' ratios to the row that it is compared with, on a logarithmic axis."""
import math
from html import escape

WIDTH, LABELS, RIGHT, ROW, HEAD = 860, 300, 70, 20, 46
OURS, THEIRS = "#2563eb", "#94a3b8"
PEERS = ("bubblewrap", "firejail", "crun", "runc", "unshare", "gVisor", "SQLite", "sandbox", "pipes", "plain", "memset", "bare")


def bar(x0, x1, y, color):
    return '<rect x="%.1f" y="%d" width="%.1f" height="%d" rx="2" fill="%s"/>' % (min(x0, x1), y + 4, max(1.5, abs(x1 - x0)), ROW - 8, color)


def text(x, y, what, anchor="start", size=12, weight="normal"):
    return '<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" font-weight="%s" fill="currentColor">%s</text>' % (
        x, y, anchor, size, weight, escape(what))


def panel(title, rows, base, y):
    """rows: (name, ratio). Bars begin at 1, the row compared with: to the left is less. Returns lines and the next y."""
    ratios = [r for _, r in rows if r]
    low, high = min(ratios + [0.5]) / 1.2, max(ratios + [2.0]) * 1.2
    scale = (WIDTH - LABELS - RIGHT) / math.log(high / low)
    at = lambda ratio: LABELS + scale * math.log(ratio / low)
    out = [text(0, y + 16, title, size=14, weight="bold")]
    top, bottom = y + HEAD - 8, y + HEAD + ROW * len(rows)
    for tick in (t for p in range(-4, 5) for t in (10 ** p, 2 * 10 ** p, 5 * 10 ** p) if low < t < high):
        out.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="currentColor" stroke-opacity="%s"/>' % (
            at(tick), top, at(tick), bottom, "0.7" if tick == 1 else "0.15"))
        out.append(text(at(tick), top - 3, "%g" % tick, "middle", 10))
    for i, (name, ratio) in enumerate(rows):
        line = y + HEAD + ROW * i
        out.append(text(LABELS - 8, line + 14, name, "end"))
        out.append(bar(at(1), at(ratio), line, THEIRS if any(p in name for p in PEERS) else OURS))
        out.append(text(max(at(1), at(ratio)) + 5, line + 14, "%.2f" % ratio, size=11))
    out.append(text(LABELS, bottom + 13, "median, as a multiple of: %s" % base, size=10))
    return out, bottom + 34


def draw(tables, machine):
    """tables: (title, rows as in the report with `name` and `ratio`, name of the row compared with). Returns the SVG's text."""
    lines, y = [text(0, 20, "Lethe beside others, on %s" % machine, size=15, weight="bold")], 34
    for title, rows, base in tables:
        part, y = panel(title, [(r["name"], r["ratio"]) for r in rows if r.get("ratio", 0) > 0], base, y)
        lines += part
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 0 %d %d" width="%d" height="%d" font-family="sans-serif" color="#475569" role="img">\n%s\n</svg>\n'
            % (WIDTH + 16, y, WIDTH + 16, y, "\n".join(lines)))
