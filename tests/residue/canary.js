// Runs: in a region. What an ordinary Node skill leaves in memory, by the contract at the head of the harness's canary.c: each class of memory
// is filled with 32 bytes of its own that exist nowhere else; then a page that says how many, and a wait until the host writes 1 at its end.
"use strict";
const fs = require("fs");
const path = require("path");
const child = require("child_process");

const CLASSES = ["js_buffer", "js_string", "js_shared", "js_freed", "js_file_kept", "js_file_unlinked", "js_child_env"];
if (process.argv[2] === "--list") {
        console.log(CLASSES.join("\n"));
        process.exit(0);
}
const end = process.argv[process.argv.indexOf("--end") + 1];
const rows = fs.readFileSync(path.join(__dirname, "keys"), "latin1").trim().split("\n").map(line => line.split(" "));
const keys = new Map(rows.map(([name, a, b]) => [name, [Buffer.from(a, "hex"), Buffer.from(b, "hex")]]));
const filled = new Map();
const keep = [];
const COPIES = 16384;

function put(to, at, name) {
        const [a, b] = keys.get(name);
        for (let i = 0; i < 32; i++)
                to[at + i] = a[i] ^ b[i];
}

function fill(to, name) {
        let n = 0;
        for (let at = 0; at + 64 <= to.length; at += 64, n++)
                put(to, at, name);
        filled.set(name, n);
        return to;
}

function text(name) {
        const [a, b] = keys.get(name);
        let s = "";
        for (let i = 0; i < 32; i++)
                s += String.fromCharCode(a[i] ^ b[i]);
        return s;
}

function strings(name, n) {
        const made = [];
        for (let i = 0; i < n; i++)
                made.push(text(name).split("").join(""));
        filled.set(name, n);
        return made;
}

function file(name, unlinked) {
        const at = path.join(process.env.TMPDIR || "/tmp", name);
        const bytes = fill(Buffer.alloc(COPIES * 64), name);
        const fd = fs.openSync(at, "w+");
        fs.writeSync(fd, bytes);
        bytes.fill(0);
        if (unlinked)
                fs.unlinkSync(at);
        fs.closeSync(fd);
}

keep.push(fill(Buffer.alloc(COPIES * 64), "js_buffer"));
keep.push(fill(new Uint8Array(new SharedArrayBuffer(COPIES * 64)), "js_shared"));
keep.push(strings("js_string", COPIES));
strings("js_freed", COPIES);
file("js_file_kept", false);
file("js_file_unlinked", true);
child.spawnSync(process.execPath, ["-e", "0"], { env: { S: text("js_child_env").repeat(1000) } });
filled.set("js_child_env", 1000);
filled.set("beacon", 1);
console.log("canary.js: filled, end=" + end);

const page = new WebAssembly.Memory({ initial: 1 }).buffer; // page-aligned, which no Buffer is
const bytes = new Uint8Array(page, 0, 4096);
const view = new DataView(page);
rows.forEach(([name], i) => view.setBigInt64(40 + 8 * i, BigInt(filled.get(name) ?? -1), true));
bytes.set(Buffer.from("RSD1"), 32);
view.setUint32(36, rows.length, true);
put(bytes, 0, "beacon");
setInterval(() => {
        if (bytes[4092] === 0)
                return;
        if (end === "kill")
                process.kill(process.pid, "SIGKILL");
        process.exit(keep.length === 0 ? 1 : 0);
}, 50);
