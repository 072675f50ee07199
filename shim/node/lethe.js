/* A skill's side of the pipe of Lethe (schema/protocol.md), for node. Needs no package; lethe-lock.node stands beside it.
 *
 *     const lethe = require("lethe");
 *     const facts = lethe.read("facts");              // the slot's value; LetheError with code "no_value" when it has none
 *     lethe.write("summary", { n: facts.length });    // a proposal, durable when the call returns
 *     lethe.section("plan").write({ steps: 2 });      // working state, typed by the manifest, gone with the region
 *     lethe.noteAdd("decision use_lmdb: LMDB it is"); // a note of this region's own, until somebody promotes it
 *     lethe.result({ ok: true });                     // the invocation's result, for the receipt
 *
 * Every call waits for its answer, and several processes of one region may call at the same time. What is refused throws LetheError,
 * whose `code` is a word of the protocol's error table. In an ES module: import { createRequire } from "node:module". */
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { randomBytes } = require("node:crypto");

const LINE_MAX = 1024 * 1024;

class LetheError extends Error {
        constructor(code, message, number) {
                super(`${code}: ${message}`);
                this.name = "LetheError";
                this.code = code;
                this.number = number;
        }
}

class NoPipe extends LetheError {
        constructor(message) {
                super("no_pipe", message);
                this.name = "NoPipe";
        }
}

function descriptor(variable) {
        const text = process.env[variable];
        if (text === undefined)
                throw new NoPipe(`${variable} is not set: this program does not run in a region of Lethe`);
        try {
                if (/^\d{1,7}$/.test(text) && fs.fstatSync(Number(text)).isFIFO())
                        return Number(text);
        } catch {
                /* not open */
        }
        throw new NoPipe(`${variable} does not name an open pipe`);
}

let addon;

/* How several processes share one pipe: a request and its answer are one critical section, under a record lock on the pipe that requests
 * go into, which the kernel drops when its holder dies. What a dead process left does no harm: half a request is ended by the newline that
 * begins every section, an answer that nobody read has an id that is not ours, the rest of one is not JSON. */
function lock(fd, hold) {
        if (addon === undefined) {
                try {
                        addon = require(path.join(__dirname, "lethe-lock.node"));
                } catch (e) {
                        throw new LetheError("no_lock", `lethe-lock.node cannot be loaded into this node: ${e.message}`);
                }
        }
        const errno = addon.lock(fd, hold ? 1 : 0);
        if (errno !== 0)
                throw new NoPipe(`cannot lock the pipe: errno ${errno}`);
}

/* JSON.stringify would silently write null for NaN and half a surrogate pair as an escape that no strict reader takes. */
function check(key, value) {
        if (typeof value === "number" && !Number.isFinite(value))
                throw new LetheError("parse", `not a JSON value: ${value}`);
        for (const s of [key, value])
                if (typeof s === "string" && /[\ud800-\udfff]/u.test(s))
                        throw new LetheError("bad_utf8", "a string holds half of a surrogate pair");
        return value;
}

function encode(method, params) {
        const message = { jsonrpc: "2.0", id: newId(), method };
        if (params !== undefined) {
                for (const [name, value] of Object.entries(params))
                        if (value === undefined || typeof value === "function" || typeof value === "symbol")
                                throw new LetheError("parse", `${name} is not a JSON value`);
                message.params = params;
        }
        let line;
        try {
                line = Buffer.from(JSON.stringify(message, check) + "\n", "utf8");
        } catch (e) {
                throw e instanceof LetheError ? e : new LetheError("parse", `not a JSON value: ${e.message}`);
        }
        if (line.length - 1 > LINE_MAX)
                throw new LetheError("line_too_long", `a request of ${line.length - 1} bytes: at most ${LINE_MAX} are allowed`);
        return { id: message.id, line };
}

let lastId = null;

function newId() {
        if (lastId === null)
                lastId = randomBytes(4).readUInt32LE(0) * 2 ** 20;
        return ++lastId;
}

/* A sibling may have made the shared pipe nonblocking; node cannot poll without its loop, so it waits a moment. */
function retry(what, operation) {
        for (;;) {
                try {
                        return operation();
                } catch (e) {
                        if (e.code === "EAGAIN")
                                Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
                        else if (e.code === "EOF")
                                return 0;
                        else if (e.code !== "EINTR")
                                throw new NoPipe(`cannot ${what} the pipe: ${e.message}`);
                }
        }
}

function send(fd, bytes) {
        for (let sent = 0; sent < bytes.length; )
                sent += retry("write to", () => fs.writeSync(fd, bytes, sent));
}

function* lines(fd) {
        let rest = Buffer.alloc(0);
        for (;;) {
                const newline = rest.indexOf(10);
                if (newline >= 0) {
                        yield rest.subarray(0, newline);
                        rest = rest.subarray(newline + 1);
                        continue;
                }
                const chunks = [rest];
                do {
                        const chunk = Buffer.allocUnsafe(65536);
                        const n = retry("read from", () => fs.readSync(fd, chunk, 0, chunk.length, null));
                        if (n === 0)
                                throw new NoPipe("the pipe was closed");
                        chunks.push(chunk.subarray(0, n));
                } while (!chunks[chunks.length - 1].includes(10));
                rest = Buffer.concat(chunks);
        }
}

function errorOf(error) {
        if (error === null || typeof error !== "object" || typeof error.data?.code !== "string" || typeof error.message !== "string")
                return new LetheError("protocol", "an error without code or message");
        return new LetheError(error.data.code, error.message, error.code);
}

function parse(line) {
        try {
                const answer = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
                return answer !== null && typeof answer === "object" && !Array.isArray(answer) ? answer : null;
        } catch {
                return null;
        }
}

const greeting = { protocol: 1 };
let greeted = false;
let ownRegion = null;
let keys = null; // region id -> key: of this region, and of those above it whose key it may use

function keepKeys(result) {
        ownRegion = result?.region;
        keys = new Map();
        for (const above of [result, ...(result?.tree ?? [])])
                if (typeof above?.key === "string")
                        keys.set(above.region, above.key);
}

/* The key of a region, when it is known; without it the supervisor refuses, and says what is wrong. */
function withKey(params, region) {
        if (keys === null)
                call("hello", greeting);
        const key = keys.get(region ?? ownRegion);
        return key === undefined ? params : { ...params, key };
}

const regionOf = (handle) => String(handle).split(".")[0];

/* An error whose id is null says that a line was not understood: ours, or what a dead sibling left. To know, a second hello is sent:
 * answers come in the order of the requests, so if that one is answered first, ours is the line. Only skill.run is answered
 * out of order, and its line is always understood: then nothing is asked. */
function awaitAnswer(fdIn, fdOut, hello, own, probing) {
        let probe, unread;
        for (const line of lines(fdIn)) {
                const answer = parse(line);
                if (answer === null)
                        continue;
                if (answer.id === null || answer.id === undefined) {
                        if (answer.error && probe === undefined && probing) {
                                unread = errorOf(answer.error);
                                const request = encode("hello", greeting);
                                probe = request.id;
                                send(fdOut, Buffer.concat([Buffer.from("\n"), request.line]));
                        }
                } else if (answer.id === hello) {
                        if (answer.error)
                                throw errorOf(answer.error);
                        keepKeys(answer.result);
                        greeted = true;
                } else if (answer.id === own) {
                        if (answer.error)
                                throw errorOf(answer.error);
                        if (answer.result === undefined)
                                throw new LetheError("protocol", "an answer without result or error");
                        return answer.result;
                } else if (answer.id === probe)
                        throw unread;
        }
}

function call(method, params) {
        const fdIn = descriptor("LETHE_IN");
        const fdOut = descriptor("LETHE_OUT");
        const hello = greeted || method === "hello" ? null : encode("hello", greeting);
        const own = encode(method, params);
        let result;

        lock(fdOut, true);
        try {
                send(fdOut, Buffer.concat([Buffer.from("\n"), hello ? hello.line : Buffer.alloc(0), own.line]));
                result = awaitAnswer(fdIn, fdOut, hello?.id, own.id, method !== "skill.run");
        } finally {
                lock(fdOut, false);
        }
        if (method === "hello") {
                keepKeys(result);
                greeted = true;
        }
        return result;
}

function member(result, name) {
        if (result === null || typeof result !== "object" || result[name] === undefined)
                throw new LetheError("protocol", `an answer without ${name}`);
        return result[name];
}

/* A section of this region, or of one above it, through a handle of its own. */
class Section {
        constructor(name, region) {
                this.handle = module.exports.openSection(name, region);
        }
        readValue() {
                return module.exports.readHandle(this.handle);
        }
        read() {
                return this.readValue().value;
        }
        write(value, expect) {
                return module.exports.writeHandle(this.handle, value, expect);
        }
        close() {
                module.exports.closeHandle(this.handle);
        }
}

/* What was said, in this order; undefined when it was nothing. */
function said(params) {
        const entries = Object.entries(params).filter(([, value]) => value !== undefined && value !== null);

        return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

module.exports = {
        LetheError,
        NoPipe,
        Section,
        /* Region, limits, reads, writes, sections and the region's key (not to be printed or stored). Said by itself before the first call when the program does not. */
        hello: () => call("hello", greeting),
        /* { value, version }: the slot as it was when the region began, or as this region wrote it since. */
        readValue(name) {
                const result = call("slot.read", { name });
                return { value: member(result, "value"), version: member(result, "version") };
        },
        /* The slot's value. */
        read: (name) => module.exports.readValue(name).value,
        /* Proposes a value; { seq, version, held }. expect: the version that the slot must have, 0 for none yet. confidence: 0 to 1, for slots that
         * are decided by it. */
        write(name, value, expect, confidence) {
                const params = { name, value };
                if (expect !== undefined && expect !== null)
                        params.expect = expect;
                if (confidence !== undefined && confidence !== null)
                        params.confidence = confidence;
                const result = call("slot.write", params);
                return { seq: member(result, "seq"), version: member(result, "version"), held: member(result, "held") };
        },
        /* An array of { name, read, write, version? }. */
        list: () => member(call("slot.list"), "slots"),
        /* A handle, as text that may be shown to anyone. region: of a region above this one whose key it may use. */
        openSection(name, region) {
                const params = withKey({ section: name }, region);
                return member(call("handle.open", region === undefined || region === null ? params : { ...params, region }), "handle");
        },
        /* { value, version } of a section; LetheError with code "no_value" when nothing was written yet. */
        readHandle(handle) {
                const result = call("handle.read", withKey({ handle }, regionOf(handle)));
                return { value: member(result, "value"), version: member(result, "version") };
        },
        /* The version that the section has now. expect: the one that it must have, 0 for no value yet. */
        writeHandle(handle, value, expect) {
                const params = { ...withKey({ handle }, regionOf(handle)), value };
                return member(call("handle.write", expect === undefined || expect === null ? params : { ...params, expect }), "version");
        },
        /* The handle is stale from now on. */
        closeHandle(handle) {
                call("handle.close", withKey({ handle }, regionOf(handle)));
        },
        /* Working state that the supervisor keeps until the region's end. */
        section: (name, region) => new Section(name, region),
        /* { value, version } of a section of the session, as the turns before left it, or as this turn wrote it. */
        // The cognitive state of a session's turn, committed before this program started, and the present input: { turn, ccs, input }.
        ccsRead() {
                const result = call("ccs.read", {});
                return { turn: member(result, "turn"), ccs: member(result, "ccs"), input: member(result, "input") };
        },
        // Gives the output of a tool to the next turn, as evidence. Counts when the turn ends with 0.
        ccsTool: (text, name) => member(call("ccs.tool", name === undefined ? { text } : { text, name }), "tools"),

        carryValue(section) {
                const result = call("carry.read", { section });
                return { value: member(result, "value"), version: member(result, "version") };
        },
        /* The value alone. */
        carryRead: (section) => module.exports.carryValue(section).value,
        /* For the turns that follow, when this turn ends with exit code 0; the section's new version. */
        carryWrite: (section, value, expect) => member(call("carry.write", expect === undefined || expect === null ? { section, value } : { section, value, expect }), "version"),
        /* Adds a note of this region's own; its number, from 1. role: "agent" (default), or "tool_result" for what a tool printed. Nobody else sees
         * it before it was promoted. */
        noteAdd: (text, role) => member(call("note.add", role === undefined || role === null ? { text } : { text, role }), "note"),
        /* { rows, next? }: shared belief as it is now, or as of `at`. { bucket, id, state, after, limit, at }, each may be missing. id: one row (with bucket,
         * and at); after: `next` of the answer before. */
        canonRead({ bucket, id, state, after, limit, at } = {}) {
                const result = call("canon.read", said({ bucket, id, state, after, limit, at }));
                member(result, "rows");
                return result;
        },
        /* What holds now, for the beginning of a turn: { scope, kernels, core, belief, advisory, withheld, cut }. { scope, query, lane, bytes, at }, each may be
         * missing. withheld: the parts without a grant; cut: those that have more than there is room for. */
        contextRead: ({ scope, query, lane, bytes, at } = {}) => call("context.read", said({ scope, query, lane, bytes, at })),
        /* { scope, kernel, version, rules, next? }: rules and typed statements of "agent" or "world". */
        kernelRead: (kernel, { section, after, limit } = {}) => call("kernel.read", said({ kernel, section, after, limit })),
        /* { run, notes, next? }: the notes of this region's run, those of the turns before among them, and what became of each. */
        noteList: ({ after, limit } = {}) => call("note.list", said({ after, limit })),
        /* { run, items, next? }: those that wait, and for what. */
        pendingList: ({ after, limit } = {}) => call("pending.list", said({ after, limit })),
        /* Typed memory (schema/memory.md). kind: "memory_substrate" (which needs a type: episodic, semantic, observational), "knowledge_projections",
         * "skill_artifacts"; scope: the first of the manifest when it is not said.
         * { id, kind, scope, version, created, held }; seen by this region at once, by others from its end on. expect: the version that it must have, 0: none yet. */
        memorySave: ({ kind, id, type, payload, refs, expect, scope }) => call("memory.save", said({ kind, id, type, payload, refs, expect, scope })),
        /* The record as it is stored. Or an earlier version of it, or as of `at`: the number of an event or a time, as a text; code "erased" when that
         * content is erased. */
        memoryLoad: (kind, id, scope, { version, at } = {}) => member(call("memory.load", said({ kind, id, scope, version, at })), "record"),
        /* { records, next? }, by kind and id. */
        memoryList: ({ filter, after, limit, scope } = {}) => call("memory.list", said({ filter, after, limit, scope })),
        /* { records, cut? }, the best first. */
        memorySearch: (query, { limit, scope } = {}) => call("memory.search", said({ query, limit, scope })),
        /* { changes, next? }, oldest first. */
        memoryHistory: (kind, id, { after, limit, scope } = {}) => call("memory.history", said({ kind, id, after, limit, scope })),
        /* Why the record is there: { support, lineage, invalidation, cleanup, hidden, … }; and what refers to what: { outgoing, incoming, hidden, cut, … }. */
        memoryView: (kind, id, scope) => member(call("memory.view", said({ kind, id, scope })), "view"),
        memoryRefs: (kind, id, scope) => call("memory.refs", said({ kind, id, scope })),
        /* What goes: for ever, from this region's end on. */
        memoryDelete: (kind, id, { reason, scope } = {}) => member(call("memory.delete", said({ kind, id, reason, scope })), "deleted"),
        /* Tells the operator something. level: debug, info, warning, error. */
        log(message, level = "info") {
                call("log", { level, message });
        },
        /* How far the work is. */
        progress(done, total, message) {
                const params = { done };
                if (total !== undefined && total !== null)
                        params.total = total;
                if (message !== undefined && message !== null)
                        params.message = message;
                call("progress", params);
        },
        /* Runs a sub-skill in a region of its own and waits for its end: { region, outcome, exit_code, signal, output, output_cut, result? }. */
        run(skill, args = [], entry, input) {
                const params = { skill };
                if (args.length > 0)
                        params.args = args;
                if (entry !== undefined && entry !== null)
                        params.entry = entry;
                if (input !== undefined && input !== null)
                        params.input = input;
                return call("skill.run", params);
        },
        /* The invocation's result, once; it appears in the receipt. */
        result(value) {
                call("result", { value });
        },
};
