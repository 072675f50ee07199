// Runs: the caller's Node.js. A client of `lethe serve` (lethe-clients(7)), without dependencies. Each call has a connection of its own: a call that is
// given up takes its run with it.
"use strict";

const { spawn } = require("node:child_process");
const errors = require("./errors.js");
const verbs = require("./verbs.js");
const wire = require("./wire.js");
const { Run } = require("./run.js");

// Each method of the protocol, and its function of Client, or of the object before the dot. Node.js can receive no descriptor: `attach` is the program's,
// and `takeover`, which is for daemons, is not there.
const METHODS = {
  run: "start", cancel: "Run.cancel", input: "Run.write", kill: "kill", attach: "attach", ps: "ps", ping: "ping", status: "status", reload: "reload",
  stop: "stop", takeover: null, "working.get": "workingGet", "working.set": "workingSet", "working.clear": "workingClear",
  "session.open": "sessionOpen", "session.carry": "Session.carry", "session.close": "Session.close",
};

function socketPath(said) {
  const path = said || process.env.LETHE_SOCKET;
  if (path) return path;
  if (process.geteuid() === 0) return "/run/lethe/socket";
  if (process.env.XDG_RUNTIME_DIR) return `${process.env.XDG_RUNTIME_DIR}/lethe/socket`;
  throw new errors.ConnectionLost("no place for the socket: name it, or set LETHE_SOCKET or XDG_RUNTIME_DIR");
}

// Options of lethe-run(1) as pairs. An object may have null (an option without a value) or a list (the option several times).
function pairs(options) {
  if (!options || Array.isArray(options)) return options;
  return Object.entries(options).flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((one) => [name, one]));
}

function parameters({ options, stream, ...more }) {
  return { ...more, options: pairs(options), stream: stream?.length ? stream : undefined };
}

// A session of `session.open`: each turn is a region of its own.
class Session {
  #client;
  #key;

  constructor(client, id, key) {
    this.#client = client;
    this.#key = key;
    this.id = id;
  }

  turn(request = {}) {
    return this.#client.run({ ...request, session: this.id, key: this.#key });
  }

  // Reads a section between two turns (`value`, `version`), or writes the value that is given (`version`).
  async carry(section, value) {
    return wire.whole(await this.#client.ask("session.carry", { session: this.id, section, value }));
  }

  async close({ erase } = {}) {
    await this.#client.ask("session.close", { session: this.id, erase });
  }
}

class Client {
  #path;
  #timeout;
  #program;
  #env = null;

  // socket: its path (default: as lethe-serve(8) says). timeout: milliseconds without a byte of the daemon. program: `lethe`, for slots, memory and belief.
  constructor({ socket, timeout, program = "lethe" } = {}) {
    this.#path = socketPath(socket);
    this.#timeout = timeout;
    this.#program = program;
    Object.assign(this, verbs.families(async (words, how) => verbs.run(this.#program, await this.#environment(), words, how)));
  }

  async #environment() {
    if (!this.#env) {
      const { store, anchor, policy } = await this.ping();
      const env = { ...process.env };
      for (const [name, value] of [["LETHE_STORE", store], ["LETHE_ANCHOR", anchor], ["LETHE_POLICY", policy]]) {
        delete env[name];
        if (value) env[name] = value;
      }
      this.#env = env;
    }
    return this.#env;
  }

  // Any method of schema/serve.md: its result.
  ask(method, params) {
    return new Run(this.#path, this.#timeout, method, params).answer();
  }

  // Begins a run. request: the parameters of schema/serve.md, 3.1; `stream` is by default ["stdout", "stderr"].
  start(request) {
    return new Run(this.#path, this.#timeout, "run", parameters({ stream: ["stdout", "stderr"], ...request }));
  }

  // Runs to the end; standard output and error are in the answer, up to 1 MiB of each. RunFailed for a run that failed, unless check is false.
  async run({ check = true, signal, ...request }) {
    signal?.throwIfAborted();
    const run = this.start({ stream: [], ...request });
    const stop = () => run.cancel().catch(() => {});
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await run.result({ check });
    } finally {
      signal?.removeEventListener("abort", stop);
      run.close();
    }
  }

  // Begins a run that goes on without its client: the id of its region.
  async detach(request) {
    const answer = wire.whole(await this.ask("run", parameters({ ...request, detach: true })));
    if (answer.detached === true) return wire.member(answer, "region", "string");
    throw new errors.RunFailed(wire.ended(answer));
  }

  // The process of `lethe attach`, whose streams are those of the region.
  async attach(region) {
    const env = { ...(await this.#environment()), LETHE_SOCKET: this.#path };
    return spawn(this.#program, ["attach", "--", region], { env, stdio: "pipe" });
  }

  async kill(region, { discard } = {}) {
    await this.ask("kill", { region, discard });
  }

  async ps() {
    return wire.member(await this.ask("ps"), "runs", "array");
  }

  async ping() {
    return wire.whole(await this.ask("ping"));
  }

  async status() {
    return wire.whole(await this.ask("status"));
  }

  async reload() {
    return wire.whole(await this.ask("reload"));
  }

  async stop() {
    await this.ask("stop");
  }

  async workingGet(scope = "default") {
    return wire.whole(await this.ask("working.get", { store: (await this.ping()).store, scope })).value;
  }

  async workingSet(value, scope = "default") {
    await this.ask("working.set", { store: (await this.ping()).store, scope, value });
  }

  async workingClear(scope = "default") {
    await this.ask("working.clear", { store: (await this.ping()).store, scope });
  }

  // request: `skill`, `options`, `cwd`.
  async sessionOpen(request) {
    const answer = await this.ask("session.open", parameters(request));
    return new Session(this, wire.member(answer, "session", "string"), wire.member(answer, "key", "string"));
  }
}

module.exports = { ...errors, Client, METHODS, Run, Session };
