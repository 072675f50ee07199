"""Makes calls of the Python shim as it is told; see driver.c."""
import json
import sys
import threading

import lethe


def call(op, *args):
    if op == "hello":
        return lethe.hello()
    if op == "read":
        return lethe.read_value(args[0])._asdict()
    if op == "write":
        return dict(lethe.write(*args)._asdict(), seq=0)
    if op == "list":
        return {"slots": lethe.list_slots()}
    if op == "open":
        return {"handle": lethe.open_section(args[0])}
    if op == "read_handle":
        return lethe.read_handle(args[0])._asdict()
    if op == "write_handle":
        return {"version": lethe.write_handle(*args)}
    if op == "close":
        lethe.close_handle(args[0])
    elif op == "carry":
        return lethe.carry_value(args[0])._asdict()
    elif op == "carry_write":
        return {"held": True, "version": lethe.carry_write(*args)}
    elif op == "ccs":
        return lethe.ccs_read()._asdict()
    elif op == "ccs_tool":
        return {"held": True, "tools": lethe.ccs_tool(*args)}
    elif op == "note":
        return {"note": lethe.note_add(*args)}
    elif op == "canon":
        return {key: value for key, value in lethe.canon_read(*args)._asdict().items() if value is not None}
    elif op == "context":
        return lethe.context_read(*args)
    elif op in ("kernel", "notes", "pending"):
        f = {"kernel": lethe.kernel_read, "notes": lethe.note_list, "pending": lethe.pending_list}[op]
        return {key: value for key, value in f(*args)._asdict().items() if value is not None}
    elif op == "view":
        return {"view": lethe.memory_view(*args)}
    elif op == "refs":
        return lethe.memory_refs(*args)
    elif op == "save":
        return lethe.memory_save(*args)
    elif op == "load":
        return {"record": lethe.memory_load(*args)}
    elif op == "records":
        return {key: value for key, value in lethe.memory_list(*args)._asdict().items() if value is not None}
    elif op == "search":
        return {key: value for key, value in lethe.memory_search(*args)._asdict().items() if value is not False}
    elif op == "history":
        return {key: value for key, value in lethe.memory_history(*args)._asdict().items() if value is not None}
    elif op == "delete":
        return {"deleted": lethe.memory_delete(*args), "scope": "default"}
    elif op == "log":
        lethe.log(args[1], args[0])
    elif op == "run":
        return lethe.run(*args)
    elif op == "progress":
        lethe.progress(*args)
    else:
        lethe.result(*args)
    return {}


def stress(rounds, failed):
    try:
        last = 0
        for _ in range(rounds):
            assert lethe.read("facts") == {"n": 1}
            assert lethe.read("notes/a").startswith("héllo")
            version = lethe.write("out", {"by": "python"}).version
            assert version > last
            last = version
            sys.stdout.write("%d\n" % version)
    except BaseException as e:
        failed.append(e)
        raise


if len(sys.argv) == 4:
    failed = []
    threads = [threading.Thread(target=stress, args=(int(sys.argv[2]), failed)) for _ in range(int(sys.argv[3]))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    sys.exit(1 if failed else 0)
for line in sys.stdin:
    try:
        outcome = {"ok": call(*json.loads(line))}
    except lethe.LetheError as e:
        outcome = {"error": e.code}
    print(json.dumps(outcome), flush=True)
