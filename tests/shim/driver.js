/* Makes calls of the Node shim as it is told; see driver.c. */
"use strict";
const fs = require("node:fs");
const lethe = require("lethe");

function call(op, ...args) {
        switch (op) {
        case "hello":
                return lethe.hello();
        case "read":
                return lethe.readValue(args[0]);
        case "write":
                return { ...lethe.write(...args), seq: 0 };
        case "list":
                return { slots: lethe.list() };
        case "open":
                return { handle: lethe.openSection(args[0]) };
        case "read_handle":
                return lethe.readHandle(args[0]);
        case "write_handle":
                return { version: lethe.writeHandle(...args) };
        case "close":
                lethe.closeHandle(args[0]);
                return {};
        case "carry":
                return lethe.carryValue(args[0]);
        case "carry_write":
                return { held: true, version: lethe.carryWrite(...args) };
        case "ccs":
                return lethe.ccsRead();
        case "ccs_tool":
                return { held: true, tools: lethe.ccsTool(args[0], args[1] === null ? undefined : args[1]) };
        case "note":
                return { note: lethe.noteAdd(...args) };
        case "context":
                return lethe.contextRead({ scope: args[0], query: args[1], lane: args[2], bytes: args[3], at: args[4] });
        case "kernel":
                return lethe.kernelRead(args[0], { section: args[1], after: args[2], limit: args[3] });
        case "notes":
                return lethe.noteList({ after: args[0], limit: args[1] });
        case "pending":
                return lethe.pendingList({ after: args[0], limit: args[1] });
        case "view":
                return { view: lethe.memoryView(...args) };
        case "refs":
                return lethe.memoryRefs(...args);
        case "canon":
                return lethe.canonRead({ bucket: args[0], id: args[1], state: args[2], after: args[3], limit: args[4], at: args[5] });
        case "save":
                return lethe.memorySave({ kind: args[0], payload: args[1], id: args[2], type: args[3], refs: args[4], expect: args[5], scope: args[6] });
        case "load":
                return { record: lethe.memoryLoad(args[0], args[1], args[2], { version: args[3], at: args[4] }) };
        case "records":
                return lethe.memoryList({ filter: args[0], after: args[1], limit: args[2], scope: args[3] });
        case "search":
                return lethe.memorySearch(args[0], { limit: args[1], scope: args[2] });
        case "history":
                return lethe.memoryHistory(args[0], args[1], { after: args[2], limit: args[3], scope: args[4] });
        case "delete":
                return { deleted: lethe.memoryDelete(args[0], args[1], { reason: args[2], scope: args[3] }), scope: "default" };
        case "log":
                lethe.log(args[1], args[0]);
                return {};
        case "run":
                return lethe.run(...args);
        case "progress":
                lethe.progress(...args);
                return {};
        default:
                lethe.result(...args);
                return {};
        }
}

function assert(what, holds) {
        if (!holds)
                throw new Error(what);
}

if (process.argv.length === 5) {
        let last = 0;
        for (let i = 0; i < Number(process.argv[3]); i++) {
                assert("facts", lethe.read("facts").n === 1);
                assert("notes/a", lethe.read("notes/a").startsWith("héllo"));
                const { version } = lethe.write("out", { by: "node" });
                assert("out", version > last);
                last = version;
                console.log(version);
        }
        process.exit(0);
}
let rest = "";
const chunk = Buffer.alloc(65536);
for (let n; (n = fs.readSync(0, chunk, 0, chunk.length, null)) > 0; ) {
        rest += chunk.toString("utf8", 0, n);
        const lines = rest.split("\n");
        rest = lines.pop();
        for (const line of lines) {
                let outcome;
                try {
                        outcome = { ok: call(...JSON.parse(line)) };
                } catch (e) {
                        if (!(e instanceof lethe.LetheError))
                                throw e;
                        outcome = { error: e.code };
                }
                fs.writeSync(1, JSON.stringify(outcome) + "\n");
        }
}
