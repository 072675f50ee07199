#!/usr/bin/python3
"""I-59: the interface of the isolation wing, looked at as it is linked: no function in it yields what a region keeps without a key. TAP.

usage: leak-paths.py SOURCE BUILD

What a region keeps with us (sections, key, handles) lies in a Vault, whose inside is declared in one header. So it is enough that
1. only three files include that header, and the public headers hand out the type without its inside;
2. what these three export is this list, and nothing else: each function with what it yields;
3. each one that yields or takes a section's bytes takes what was presented (a key), and says in its body whether it may be used;
4. nothing in the wing has another way to a region's memory than its own: what reads or writes the memory of processes is in one folder, but
   for the arguments of a call that waits for its answer.
"""
import pathlib
import re
import subprocess
import sys

source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
region = source / "supervisor" / "isolation" / "region"
cases = []


def case(name, good, why=""):
    cases.append((name, bool(good), str(why)))


VAULT = ["region-handle.c", "region-section.c", "region-vault.c"]
# Exported by the three: what of a region leaves through it.
YIELDS = {
    "handle_open": "key",            # a handle, for the key
    "handle_read": "key",            # a section's value, for the key
    "handle_write": "key",           # the section's new version, for the key
    "handle_close": "key",
    "handle_code_name": "words",
    "handle_unbind": "nothing",
    "handle_tell_tries": "nothing",
    "region_keys_hold": "search",    # keys, to look for them in what leaves; see who calls it below
    "region_keys_let_go": "nothing",
    "region_keys": "search",         # these two, for who may not name them: promotion
    "region_keys_in_text": "yes or no",
    "region_keys_in_json": "yes or no",
    "region_keys_count": "a number",
    "region_keys_but": "search",
    "vault_hand_over": "own key",    # to the region itself and to whom its scope reaches
    "vault_key_is": "yes or no",
    "vault_may_use": "yes or no",
    "vault_above": "a vault",
    "vault_region": "the id",
    "vault_new": "a vault",
    "vault_add_evidence": "nothing",
    "vault_trace_to": "nothing",
    "vault_bytes": "a number",
    "vault_declared": "declarations",
    "vault_unbind": "a number",
    "vault_wipe": "numbers",
    "vault_free": "nothing",
    "vault_find": "inside",          # for the three alone
    "vault_enlist": "inside",
    "vault_delist": "inside",
    "vault_try_elsewhere": "inside",
    "vault_take_tries": "inside",
}


def text(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)


sources = sorted((source / "supervisor").rglob("*.[ch]"))
includers = sorted(p.name for p in sources if '"region/region-vault.h"' in text(p))
case("the inside of a vault is for three files", includers == VAULT, includers)
public = {p.name: text(p) for p in region.glob("*.h") if p.name != "region-vault.h"}
case("no public header has the inside", not any(re.search(r"struct (Vault|Section|HandleSlot)\s*\{", t) for t in public.values()))

wings = [str(build / "supervisor" / w / f"lib{w}.a") for w in ("isolation", "state", "front")]
nm = subprocess.run(["nm", "--portability", *wings], check=True, capture_output=True, text=True).stdout
exports, users, member = set(), {}, None
for line in nm.splitlines():
    fields = line.split()
    if line.endswith(":"):
        member = line.split("[")[-1].rstrip("]:").rsplit("/", 1)[-1]
        member = re.sub(r"\.o$", "", member)
    elif len(fields) >= 2 and fields[1] == "U":
        users.setdefault(fields[0], set()).add(member)
    elif len(fields) >= 2 and fields[1].isupper() and member in {"region_" + n for n in VAULT} and not fields[0].startswith("__"):
        exports.add(fields[0])
case("what the three export is known", exports == set(YIELDS), sorted(exports ^ set(YIELDS)))

headers = "\n".join(public.values())
code = {n: text(region / n) for n in VAULT}


def body(function):
    for t in code.values():
        m = re.search(r"^[\w \*]*\b%s\([^;{]*\)\s*\{(.*?)^\}" % re.escape(function), t, re.S | re.M)
        if m:
            return m[0]
    return ""


for name in sorted(n for n, y in YIELDS.items() if y == "key"):
    declared = re.search(r"\b%s\(const Presented \*p[,)]" % name, headers)
    case(name + " takes what was presented", declared)
    case(name + " looks at it first", re.search(r"\bhandle_(look_up|reach)\(p, ", body(name)), body(name)[:300])
reach = body("handle_reach")
order = [reach.find("vault_key_is"), reach.find("vault_may_use"), reach.find("*ret = v")]
case("no vault is reached before key and scope were looked at", -1 not in order and order == sorted(order), reach)
case("a handle is looked up only through that", body("handle_look_up").count("handle_reach(p, ") == 1)
case("the key is compared in constant time", "sodium_memcmp" in body("vault_key_is") and not re.search(r"\bmemcmp|strcmp", body("vault_key_is")))
case("a key is handed over only within its scope", re.search(r"if \(!vault_may_use\(to, owner\)", body("vault_hand_over")))
declared = set(re.findall(r"\b(\w+)\(|\bextern const KeyHold (\w+);", headers))
declared = {name for names in declared for name in names} & set(YIELDS)
case("the rest of the list is declared, but for what is inside", {n for n, y in YIELDS.items() if y == "inside"} == set(YIELDS) - declared, set(YIELDS) - declared)
case("bytes of a section leave in one function", [f for f in YIELDS if re.search(r"json_parse\(\(const char \*\)s->memory", body(f))] == ["handle_read"])

# Who may search for keys, and who may be given one.
searchers = {"dispatch_slot.c", "dispatch_note.c", "dispatch_write-buffer.c", "region_region-handle.c"}
case("keys are looked for at the ways out alone", users.get("region_keys_hold", set()) <= searchers, users.get("region_keys_hold"))
borrowers = {"invoke_run.c", "invoke_compressor.c", "cli_cmd-promote.c", "cli_cmd-pending.c"}
case("they are lent to promotion and to the compressor alone", users.get("region_keys", set()) <= borrowers, users.get("region_keys"))
run = (source / "supervisor/front/invoke/run.c").read_text()
promotes = re.search(r"^int run_promote_notes\(.*?^}", run, re.S | re.M)[0]
case("of a run, in one function", run.count("region_keys") == promotes.count("&region_keys") == 1)
asks = (source / "supervisor/front/invoke/compressor.c").read_text()
case("of the compressor, in one function", asks.count("region_keys") == re.search(r"^int compressor_ask\(.*?^}", asks, re.S | re.M)[0].count("&region_keys") == 1)
case("keys are handed over by hello alone", users.get("vault_hand_over") == {"dispatch_hello.c"}, users.get("vault_hand_over"))
case("nobody outside takes handles away or lists vaults", all(users.get(n, set()) <= {"region_" + v for v in VAULT} for n, y in YIELDS.items() if y in ("inside",) or n in ("handle_unbind", "handle_tell_tries")))

# Another way to a region's memory would be one of these.
readers = {n: users.get(n, set()) for n in ("process_vm_readv", "process_vm_writev", "ptrace", "pidfd_getfd")}
# region-notify-task.c reads the path that a program passed to a call which waits for its answer, into that region's own record of denials, and writes
# the answer of F_GETLK. request/rate.c traces children of its own that it ends to measure how long that takes: it overwrites nobody's memory but theirs.
others = {"process_vm_readv": {"region_region-notify-task.c"}, "process_vm_writev": {"region_region-notify-task.c"}, "pidfd_getfd": {"region_region-notify-task.c"}, "ptrace": {"request_rate.c"}}
other = sorted(u for name, use in readers.items() for u in use if not u.startswith("scrub_") and u not in others[name])
case("the memory of a region's processes is reached by the scrubber alone, and the arguments of their calls", not other, other)
mem = [str(p.relative_to(source)) for p in sources if re.search(r'"[^"]*/mem"', text(p)) and p.parent.name not in ("scrub", "guard")]
case("so is /proc/PID/mem", not mem, mem)

print("1..%d" % len(cases))
for i, (name, good, why) in enumerate(cases, 1):
    print("%s %d - %s" % ("ok" if good else "not ok", i, name))
    if not good:
        print("# " + why.replace("\n", "\n# "))
sys.exit(0 if all(good for _, good, _ in cases) else 1)
