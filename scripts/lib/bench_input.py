"""The input part of scripts/bench: a gigabyte through standard input of a region, beside bubblewrap and a bare program."""
import statistics
import subprocess
import time

TOTAL = 1 << 30


def _rate(argv):
    """Bytes a second of a pipe that `argv` reads to its end."""
    began = time.perf_counter()
    with subprocess.Popen(["/usr/bin/head", "-c", str(TOTAL), "/dev/zero"], stdout=subprocess.PIPE) as source:
        out = subprocess.run(argv, stdin=source.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout
    if int(out) != TOTAL:
        raise SystemExit("%s counted %s bytes of %d" % (argv[0], out, TOTAL))
    return TOTAL / (time.perf_counter() - began)


def standard_input(args, commands, base):
    """Megabytes a second of each command, in turns; the median of the ratios to the one named `base`."""
    turns = [{name: _rate(argv) for name, argv in commands} for _ in range(max(3, args.n // 20))]
    rows = []
    for name, _ in commands:
        rate, ratio = statistics.median(t[name] for t in turns) / 1e6, statistics.median(t[name] / t[base] for t in turns)
        print("%-44s %8.0f MB a second  %.2f of %s" % (name, rate, ratio, base), flush=True)
        rows.append({"name": name, "mb_a_second": rate, "ratio": round(ratio, 3)})
    return rows
