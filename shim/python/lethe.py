"""A skill's side of the pipe of Lethe (schema/protocol.md), in Python. Needs the standard library and nothing else.

    import lethe
    facts = lethe.read("facts")                     # the slot's value; LetheError with code "no_value" when it has none
    lethe.write("summary", {"n": len(facts)})       # a proposal, durable when the call returns
    with lethe.section("plan") as plan:             # working state, typed by the manifest, gone with the region
        plan.write({"steps": 2})
    lethe.note_add("decision use_lmdb: LMDB it is") # a note of this region's own, until somebody promotes it
    lethe.result({"ok": True})                      # the invocation's result, for the receipt

Values are what the json module makes of them. Every call may be made from several threads, and by several processes of one
region at the same time. What is refused raises LetheError, whose `code` is a word of the protocol's error table.
"""

import fcntl
import json
import os
import select
import threading
from collections import namedtuple

__all__ = ["Belief", "Changes", "Found", "Kernel", "LetheError", "NoPipe", "Notes", "Pending", "Records", "Section", "State", "Value", "Written", "canon_read", "carry_read", "carry_value", "carry_write", "ccs_read", "ccs_tool", "close_handle", "context_read", "hello", "kernel_read", "list_slots",
           "log", "memory_delete", "memory_history", "memory_list", "memory_load", "memory_refs", "memory_save", "memory_search", "memory_view", "note_add", "note_list", "open_section", "pending_list", "progress", "read",
           "read_handle", "read_value", "result", "section", "write", "write_handle"]

LINE_MAX = 1024 * 1024

Value = namedtuple("Value", "value version")
State = namedtuple("State", "turn ccs input")
Written = namedtuple("Written", "seq version held")
Belief = namedtuple("Belief", "rows next")
Records = namedtuple("Records", "records next")
Found = namedtuple("Found", "records cut")
Changes = namedtuple("Changes", "changes next")
Kernel = namedtuple("Kernel", "scope kernel version rules next")
Notes = namedtuple("Notes", "run notes next")
Pending = namedtuple("Pending", "run items next")


class LetheError(Exception):
    """The call was refused. code: a word such as "not_granted"; number: its JSON-RPC code, None when the call was not even sent."""

    def __init__(self, code, message, number=None):
        super().__init__("%s: %s" % (code, message))
        self.code = code
        self.message = message
        self.number = number


class NoPipe(LetheError):
    """This program does not run in a region, or the pipe was closed."""

    def __init__(self, message):
        super().__init__("no_pipe", message)


def _fd(variable, wrong_mode):
    text = os.environ.get(variable)
    if text is None:
        raise NoPipe("%s is not set: this program does not run in a region of Lethe" % variable)
    try:
        fd = int(text)
        if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == wrong_mode:
            raise ValueError
    except (ValueError, OSError, OverflowError):
        raise NoPipe("%s does not name an open pipe" % variable) from None
    return fd


def _encode(request):
    try:
        line = json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        raise LetheError("bad_utf8", "a string holds half of a surrogate pair") from None
    except (TypeError, ValueError, RecursionError) as e:
        raise LetheError("parse", "not a JSON value: %s" % e) from None
    if len(line) > LINE_MAX:
        raise LetheError("line_too_long", "a request of %d bytes: at most %d are allowed" % (len(line), LINE_MAX))
    return line + b"\n"


def _error(error):
    try:
        return LetheError(str(error["data"]["code"]), str(error["message"]), error["code"])
    except (KeyError, TypeError):
        return LetheError("protocol", "an error without code or message")


class _Pipe:
    """How several processes share one pipe: a request and its answer are one critical section, under a record lock on the pipe that
    requests go into, which the kernel drops when its holder dies. What a dead process left does no harm: half a request is ended by
    the newline that begins every section, an answer that nobody read has an id that is not ours, the rest of one is not JSON."""

    HELLO = {"protocol": 1}

    def __init__(self):
        self.mutex = threading.Lock()
        self.greeted = False
        self.keys = None  # region id -> key: of this region, and of those above it whose key it may use
        self.region = None
        self.pid = None
        self.last_id = 0

    def new_id(self):
        if self.pid != os.getpid():
            self.pid = os.getpid()
            self.last_id = int.from_bytes(os.urandom(4), "little") << 20
        self.last_id += 1
        return self.last_id

    def send(self, data):
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.fd_out, view):]
            except BlockingIOError:  # a sibling made the shared pipe nonblocking
                select.select([], [self.fd_out], [])
            except OSError as e:
                raise NoPipe("cannot write to the pipe: %s" % os.strerror(e.errno)) from None

    def lines(self):
        buffer = b""
        while True:
            newline = buffer.find(b"\n")
            if newline >= 0:
                yield buffer[:newline]
                buffer = buffer[newline + 1:]
                continue
            chunks = [buffer]
            while b"\n" not in chunks[-1]:
                try:
                    chunk = os.read(self.fd_in, 65536)
                except BlockingIOError:
                    select.select([self.fd_in], [], [])
                    continue
                except OSError as e:
                    raise NoPipe("cannot read from the pipe: %s" % os.strerror(e.errno)) from None
                if not chunk:
                    raise NoPipe("the pipe was closed")
                chunks.append(chunk)
            buffer = b"".join(chunks)

    def request(self, method, params):
        message = {"jsonrpc": "2.0", "id": self.new_id(), "method": method}
        if params is not None:
            message["params"] = params
        return message["id"], _encode(message)

    def await_answer(self, hello, own, probing):
        """An error whose id is null says that a line was not understood: ours, or what a dead sibling left. To know, a second hello is
        sent: answers come in the order of the requests, so if that one is answered first, ours is the line. Only skill.run is answered out of
        order, and its line is always understood."""
        probe = unread = None
        for line in self.lines():
            try:
                answer = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError):
                continue
            if not isinstance(answer, dict):
                continue
            answer_id, error = answer.get("id"), answer.get("error")
            if answer_id is None:
                if error and probe is None and probing:
                    unread = _error(error)
                    probe, data = self.request("hello", self.HELLO)
                    self.send(b"\n" + data)
            elif answer_id == hello:
                if error:
                    raise _error(error)
                self.keep_keys(answer.get("result"))
                self.greeted = True
            elif answer_id == own:
                if error:
                    raise _error(error)
                if "result" not in answer:
                    raise LetheError("protocol", "an answer without result or error")
                return answer["result"]
            elif answer_id == probe:
                raise unread

    def call(self, method, params=None):
        with self.mutex:
            self.fd_in = _fd("LETHE_IN", os.O_WRONLY)
            self.fd_out = _fd("LETHE_OUT", os.O_RDONLY)
            hello, greeting = None, b""
            if not self.greeted and method != "hello":
                hello, greeting = self.request("hello", self.HELLO)
            own, data = self.request(method, params)
            try:
                fcntl.lockf(self.fd_out, fcntl.LOCK_EX)
            except OSError as e:
                raise NoPipe("cannot lock the pipe: %s" % os.strerror(e.errno)) from None
            try:
                self.send(b"\n" + greeting + data)
                result = self.await_answer(hello, own, method != "skill.run")
            finally:
                fcntl.lockf(self.fd_out, fcntl.LOCK_UN)
            if method == "hello":
                self.keep_keys(result)
                self.greeted = True
            return result

    def keep_keys(self, result):
        try:
            self.region = result["region"]
            self.keys = {above["region"]: above["key"] for above in [result] + result.get("tree", [])}
        except (KeyError, TypeError):
            self.keys = {}

    def add_key(self, params, region=None):
        """The key of a region, when it is known; without it the supervisor refuses, and says what is wrong."""
        if self.keys is None:
            self.call("hello", self.HELLO)
        key = self.keys.get(region or self.region)
        if key is not None:
            params["key"] = key
        return params


_pipe = _Pipe()


def _fresh_mutex():
    # A child that is forked while another thread holds the mutex would wait for ever; the lock on the pipe stays with the parent.
    _pipe.mutex = threading.Lock()


os.register_at_fork(after_in_child=_fresh_mutex)


def _member(result, name):
    try:
        return result[name]
    except (KeyError, TypeError):
        raise LetheError("protocol", "an answer without %s" % name) from None


def hello():
    """Region, limits, reads, writes, sections and the region's key (not to be printed or stored), as a dictionary. Said by itself before the first call when the program does not."""
    return _pipe.call("hello", {"protocol": 1})


def read_value(name):
    """Value(value, version): the slot as it was when the region began, or as this region wrote it since."""
    result = _pipe.call("slot.read", {"name": name})
    return Value(_member(result, "value"), _member(result, "version"))


def read(name):
    """The slot's value."""
    return read_value(name).value


def write(name, value, expect=None, confidence=None):
    """Proposes a value; Written(seq, version, held). expect: the version that the slot must have, 0 for none yet. confidence: 0 to 1, for slots
    that are decided by it."""
    params = {"name": name, "value": value}
    if expect is not None:
        params["expect"] = expect
    if confidence is not None:
        params["confidence"] = confidence
    result = _pipe.call("slot.write", params)
    return Written(_member(result, "seq"), _member(result, "version"), _member(result, "held"))


def list_slots():
    """A list of dictionaries: name, read, write, and version where there is a value."""
    return _member(_pipe.call("slot.list"), "slots")


def open_section(name, region=None):
    """A handle, as text that may be shown to anyone. region: of a region above this one whose key it may use."""
    params = _pipe.add_key({"section": name}, region)
    if region is not None:
        params["region"] = region
    return _member(_pipe.call("handle.open", params), "handle")


def read_handle(handle):
    """Value(value, version) of a section; LetheError with code "no_value" when nothing was written yet."""
    result = _pipe.call("handle.read", _pipe.add_key({"handle": handle}, str(handle).split(".")[0]))
    return Value(_member(result, "value"), _member(result, "version"))


def write_handle(handle, value, expect=None):
    """The version that the section has now. expect: the one that it must have, 0 for no value yet."""
    params = _pipe.add_key({"handle": handle}, str(handle).split(".")[0])
    params["value"] = value
    if expect is not None:
        params["expect"] = expect
    return _member(_pipe.call("handle.write", params), "version")


def close_handle(handle):
    """The handle is stale from now on."""
    _pipe.call("handle.close", _pipe.add_key({"handle": handle}, str(handle).split(".")[0]))


class Section:
    """A section of this region, or of one above it, through a handle of its own. Closed at the end of a with statement."""

    def __init__(self, name, region=None):
        self.handle = open_section(name, region)

    def read_value(self):
        return read_handle(self.handle)

    def read(self):
        return read_handle(self.handle).value

    def write(self, value, expect=None):
        return write_handle(self.handle, value, expect)

    def close(self):
        close_handle(self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def section(name, region=None):
    """Section(name): working state that the supervisor keeps until the region's end."""
    return Section(name, region)


def note_add(text, role=None):
    """Adds a note of this region's own; its number, from 1. role: agent (default), or tool_result for what a tool printed. Nobody else sees it before
    it was promoted."""
    params = {"text": text}
    if role is not None:
        params["role"] = role
    return _member(_pipe.call("note.add", params), "note")


def canon_read(bucket=None, id=None, state=None, after=None, limit=None, at=None):
    """Belief(rows, next): shared belief as it is now, or as of `at` (as in memory_load), as dictionaries. id: one row (with bucket, and at). next: to be given as `after` for the
    rows that follow, None when there are none."""
    result = _pipe.call("canon.read", _said(bucket=bucket, id=id, state=state, after=after, limit=limit, at=at))
    return Belief(_member(result, "rows"), result.get("next"))


def context_read(scope=None, query=None, lane=None, bytes=None, at=None):
    """What holds now, for the beginning of a turn; a dictionary: scope, kernels, core, belief, advisory, withheld, cut. query: fills the lanes; lane: records
    of each; bytes: the most of all. withheld: the parts without a grant; cut: those that have more than there is room for. at: as of an
    earlier moment (as in memory_load), without a query."""
    return _pipe.call("context.read", _said(scope=scope, query=query, lane=lane, bytes=bytes, at=at))


def kernel_read(kernel, section=None, after=None, limit=None):
    """Kernel(scope, kernel, version, rules, next): rules and typed statements of "agent" or "world". next: to be given as `after`, None when there are none."""
    result = _pipe.call("kernel.read", _said(kernel=kernel, section=section, after=after, limit=limit))
    return Kernel(_member(result, "scope"), _member(result, "kernel"), _member(result, "version"), _member(result, "rules"), result.get("next"))


def note_list(after=None, limit=None):
    """Notes(run, notes, next): the notes of this region's run, those of the turns before among them, and what became of each."""
    result = _pipe.call("note.list", _said(after=after, limit=limit))
    return Notes(_member(result, "run"), _member(result, "notes"), result.get("next"))


def pending_list(after=None, limit=None):
    """Pending(run, items, next): the notes of this run that wait, and for what."""
    result = _pipe.call("pending.list", _said(after=after, limit=limit))
    return Pending(_member(result, "run"), _member(result, "items"), result.get("next"))


def _said(**params):
    return {key: value for key, value in params.items() if value is not None} or None


def memory_save(kind, payload, id=None, type=None, refs=None, expect=None, scope=None):
    """Saves a record of typed memory; a dictionary: id, kind, scope, version, created, held. kind: memory_substrate (which needs a type: episodic, semantic,
    observational), knowledge_projections, skill_artifacts. Seen by this region at once, by others from its end on. expect: the version that it must have, 0: none yet."""
    return _pipe.call("memory.save", _said(kind=kind, id=id, type=type, payload=payload, refs=refs, expect=expect, scope=scope))


def memory_load(kind, id, scope=None, version=None, at=None):
    """The record as it is stored, a dictionary. Or an earlier version of it, or as of `at`: the number of an event or a time, as a text; code "erased" when
    that content is erased."""
    return _member(_pipe.call("memory.load", _said(kind=kind, id=id, scope=scope, version=version, at=at)), "record")


def memory_list(filter=None, after=None, limit=None, scope=None):
    """Records(records, next): by kind and id. next: to be given as `after` for those that follow, None when there are none."""
    result = _pipe.call("memory.list", _said(filter=filter, after=after, limit=limit, scope=scope))
    return Records(_member(result, "records"), result.get("next"))


def memory_search(query, limit=None, scope=None):
    """Found(records, cut): the best first. cut: there was too much to look at, and what was not may have had more."""
    result = _pipe.call("memory.search", _said(query=query, limit=limit, scope=scope))
    return Found(_member(result, "records"), result.get("cut", False))


def memory_history(kind, id, after=None, limit=None, scope=None):
    """Changes(changes, next): what was done to the record, oldest first."""
    result = _pipe.call("memory.history", _said(kind=kind, id=id, after=after, limit=limit, scope=scope))
    return Changes(_member(result, "changes"), result.get("next"))


def memory_view(kind, id, scope=None):
    """Why the record is there, a dictionary: support, lineage, invalidation, cleanup; hidden: how many edges this region may not see."""
    return _member(_pipe.call("memory.view", _said(kind=kind, id=id, scope=scope)), "view")


def memory_refs(kind, id, scope=None):
    """What the record refers to, and what refers to it, a dictionary: outgoing, incoming, hidden, cut."""
    return _pipe.call("memory.refs", _said(kind=kind, id=id, scope=scope))


def memory_delete(kind, id, reason=None, scope=None):
    """Deletes the record for ever; a list of what went."""
    return _member(_pipe.call("memory.delete", _said(kind=kind, id=id, reason=reason, scope=scope)), "deleted")


def ccs_read():
    """The cognitive state of a session's turn, and the present input: State(turn, ccs, input). It was committed before this program
    started; there is no way to an older one."""
    result = _pipe.call("ccs.read", {})
    return State(_member(result, "turn"), _member(result, "ccs"), _member(result, "input"))


def ccs_tool(text, name=None):
    """Gives the output of a tool to the next turn, as evidence. Counts when the turn ends with 0. Returns how many the turn has."""
    return _member(_pipe.call("ccs.tool", {"text": text} if name is None else {"text": text, "name": name}), "tools")


def carry_value(section):
    """Value(value, version) of a section of the session, as the turns before left it, or as this turn wrote it. no_value: there is none yet."""
    result = _pipe.call("carry.read", {"section": section})
    return Value(_member(result, "value"), _member(result, "version"))


def carry_read(section):
    """The value alone."""
    return carry_value(section).value


def carry_write(section, value, expect=None):
    """Writes a section of the session, for the turns that follow: it counts when this turn ends with exit code 0. Its new version. expect: the version
    that carry_value() gave, 0 for none yet."""
    params = {"section": section, "value": value}
    if expect is not None:
        params["expect"] = expect
    return _member(_pipe.call("carry.write", params), "version")


def log(message, level="info"):
    """Tells the operator something. level: debug, info, warning, error."""
    _pipe.call("log", {"level": level, "message": message})


def progress(done, total=None, message=None):
    """How far the work is."""
    params = {"done": done}
    if total is not None:
        params["total"] = total
    if message is not None:
        params["message"] = message
    _pipe.call("progress", params)


def run(skill, args=(), entry=None, input=None):
    """Runs a sub-skill in a region of its own and waits for its end. A dictionary: region, outcome, exit_code, signal, output (its standard
    output), output_cut, and result when it gave one."""
    params = {"skill": skill}
    if args:
        params["args"] = list(args)
    if entry is not None:
        params["entry"] = entry
    if input is not None:
        params["input"] = input
    return _pipe.call("skill.run", params)


def result(value):
    """The invocation's result, once; it appears in the receipt."""
    _pipe.call("result", {"value": value})
