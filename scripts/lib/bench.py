"""The work of scripts/bench: see there. Runs the programs of tests/bench and sets their numbers side by side."""
import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile


def run(argv, **kw):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)


def works(argv):
    try:
        return run(argv, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def bwrap(tiny):
    """The view that a region has, as bubblewrap says it: /usr read-only, few files of /etc, few devices, private scratch."""
    argv = ["/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
            "--ro-bind", "/usr", "/usr", "--dir", "/etc", "--dir", "/dev"]
    for link in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink("/" + link):
            argv += ["--symlink", os.readlink("/" + link), "/" + link]
        elif os.path.isdir("/" + link):
            argv += ["--ro-bind", "/" + link, "/" + link]
    for f in ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "passwd", "group"):
        argv += ["--ro-bind-try", "/etc/" + f, "/etc/" + f]
    for d in ("null", "zero", "full", "random", "urandom"):
        argv += ["--dev-bind", "/dev/" + d, "/dev/" + d]
    return argv + ["--tmpfs", "/work", "--tmpfs", "/tmp", "--ro-bind", tiny, tiny, "--chdir", "/work", tiny]


def oci_bundle(folder, tiny, runtime):
    """A folder that crun and runc start from, made from the runtime's own specimen."""
    os.makedirs(folder + "/rootfs")
    shutil.copy(tiny, folder + "/rootfs/tiny")
    command = [runtime, "spec"] + ([] if os.geteuid() == 0 else ["--rootless"])
    if run(command, cwd=folder).returncode != 0:
        return False
    with open(folder + "/config.json", encoding="utf-8") as f:
        config = json.load(f)
    config["process"]["args"] = ["/tiny"]
    config["process"]["terminal"] = False
    with open(folder + "/config.json", "w", encoding="utf-8") as f:
        json.dump(config, f)
    return True


def sandboxes(tiny, work):
    """Name and command of each other sandbox that works here."""
    found = []
    candidates = [
        ("bubblewrap", bwrap(tiny)),
        ("firejail", ["/usr/bin/firejail", "--quiet", "--noprofile", "--net=none", "--caps.drop=all", "--seccomp",
                      "--nonewprivs", "--private", "--private-dev", tiny]),
    ]
    for runtime in ("/usr/bin/crun", "/usr/sbin/runc"):
        bundle = "%s/oci-%s" % (work, os.path.basename(runtime))
        if os.access(runtime, os.X_OK) and oci_bundle(bundle, tiny, runtime):
            argv = [runtime, "--root", bundle + "/state", "run", "--bundle", bundle, "lethe-bench-%d" % os.getpid()]
            candidates.append((os.path.basename(runtime), argv))
    for name, argv in candidates:
        if works(argv):
            found.append((name, argv))
        else:
            print("%s does not work on this machine: left out" % name, file=sys.stderr)
    return found


def lines(argv, env=None):
    p = run(argv, env=env)
    if p.returncode != 0:
        sys.exit("%s ended %d: %s" % (argv[0], p.returncode, p.stderr.strip()))
    return [json.loads(line) for line in p.stdout.splitlines() if line.startswith("{")]


def table(title, rows, base):
    """Prints rows with their ratio to the row named `base`."""
    print("\n%s" % title)
    print("%-44s %6s %12s %12s %12s %10s" % ("", "n", "median", "p90", "p99", "ratio"))
    at = next((r["median_usec"] for r in rows if r["name"] == base), None)
    for r in rows:
        r["ratio"] = round(r["median_usec"] / at, 3) if at else None
        print("%-44s %6d %9.1f us %9.1f us %9.1f us %10s" % (
            r["name"], r["n"], r["median_usec"], r["p90_usec"], r["p99_usec"], "%.2f" % r["ratio"] if at else "-"))
    print("(ratio: median divided by that of %s)" % base, flush=True)
    return rows


def launch(args, work):
    tiny = work + "/tiny"
    shutil.copy(args.build + "/tests/bench/tiny", tiny)
    commands = [("posix_spawn, no sandbox", [tiny]),
                ("lethe run", [args.build + "/lethe", "run", "--store", work + "/store", "--exec", tiny])]
    if run(commands[1][1]).returncode != 0:
        sys.exit("lethe run does not work here: " + run(commands[1][1]).stderr.strip())
    others = sandboxes(tiny, work)
    if "bubblewrap" not in [name for name, _ in others]:
        sys.exit("bubblewrap does not work here: nothing to compare with")
    argv = [args.build + "/tests/bench/launch", str(args.n)]
    for i, (name, command) in enumerate(commands + others):
        argv += (["--"] if i else []) + [name] + command
    return table("A tiny static program, from start to recorded end", lines(argv), "bubblewrap")


def pipe(args, work):
    rows = lines([args.build + "/tests/bench/pingpong"])
    program = args.build + "/tests/bench/slot-roundtrip"
    rows += lines([program], env=dict(os.environ, LETHE=args.build + "/lethe", TMPDIR=work))
    return table("Round trips from inside a region", rows, rows[0]["name"])


def durable(args, work):
    measured = lines([args.build + "/tests/bench/slot-durable", work + "/durable", str(args.n * 5)])
    rows = []
    for batch in ("one slot a commit", "64 slots a commit"):
        part = [r for r in measured if r["name"].endswith(batch)]
        rows += table("Slot writes that are on the disk before the answer, " + batch, part, "SQLite WAL FULL, " + batch)
    print()
    for r in rows:
        print("%-44s %9.0f a second" % (r["name"], r["per_second"]))
    return rows


def scrub(args, work):
    """Each size has its own base: the plain kill of the same process, and the memset of as many bytes."""
    folder = work + "/scrub"
    os.mkdir(folder)
    measured = lines([args.build + "/tests/bench/scrub", args.build + "/lethe-guard", folder, str(args.n)])
    rows = []
    for size in dict.fromkeys(r["name"].split(", ")[1] for r in measured):
        part = [r for r in measured if r["name"].endswith(", " + size)]
        rows += table("From the kill to the reaped process, %s resident" % size, part, "plain, " + size)
        megabytes = float(size.split()[0]) * (1000 if size.endswith("GB") else 1)
        rates = {r["name"].split(",")[0]: megabytes / r["median_usec"] for r in part}
        for r in part:
            r["gb_per_second"] = round(rates[r["name"].split(",")[0]] * 1e6 / 1e3, 2)
            r["rate_to_memset"] = round(rates[r["name"].split(",")[0]] / rates["memset"], 3)
        for r in part[1:3]:
            print("%-44s %6.2f GB/s, %.3f of memset" % (r["name"] + ", written and read back", r["gb_per_second"], r["rate_to_memset"]))
    return rows


def giveback(args, work):
    """munmap of 64 KiB in a region, under zero and under multipass."""
    program = work + "/giveback"
    shutil.copy(args.build + "/tests/bench/giveback", program)
    rows = []
    for threads in ("0", "4"):
        took = {"no sandbox": [], "zero": [], "multipass": []}
        for _ in range(max(3, args.n // 40)):
            for way, times in took.items():
                inside = [] if way == "no sandbox" else [args.build + "/lethe", "run", "--quiet", "--store", work + "/store", "--discipline", way, "--exec"]
                times.append(lines(inside + [program, threads])[0]["usec"])
        part = []
        for way, times in took.items():
            times.sort()
            part.append({"name": "%s, %s other threads" % (way, threads), "n": len(times), "median_usec": times[len(times) // 2],
                         "p90_usec": times[len(times) * 9 // 10], "p99_usec": times[-1]})
        rows += table("64 KiB mapped, touched and unmapped, one of 10,000 times", part, "zero, %s other threads" % threads)
    return rows


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("-n", type=int, default=200, help="rounds of each command (200)")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers there")
    parser.add_argument("--only", choices=["launch", "pipe", "durable", "scrub", "giveback"], action="append")
    args = parser.parse_args()
    if args.n < 1:
        parser.error("-n takes a number of rounds, at least 1")

    # On the disk that the project is on: /tmp may be memory, where a durable write costs nothing.
    work = tempfile.mkdtemp(prefix="bench-", dir=args.build if os.access(args.build, os.W_OK) else None)
    # The anchor and the other sandboxes' state stay out of the caller's home.
    os.environ["XDG_STATE_HOME"] = work + "/state"
    for name in ("LETHE_STORE", "LETHE_POLICY", "LETHE_ANCHOR"):
        os.environ.pop(name, None)
    report = {"version": 1, "machine": "%d cores, %s, Linux %s" % (os.cpu_count(), platform.machine(), platform.release().split("-")[0]),
              "user": "root" if os.geteuid() == 0 else "ordinary user"}
    print("%s, as %s; times are of this machine, compare the ratios" % (report["machine"], report["user"]))
    try:
        for part in (launch, pipe, durable, scrub, giveback):
            if not args.only or part.__name__ in args.only:
                report[part.__name__] = part(args, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=2)
            f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
