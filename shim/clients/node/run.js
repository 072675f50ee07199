// Runs: the caller's Node.js. One connection of the daemon, and the run on it.
"use strict";

const net = require("node:net");
const { ConnectionLost, ProtocolError, RunFailed } = require("./errors.js");
const wire = require("./wire.js");

const RUN = 1; // the id of the run of a connection; other requests of it have higher ones
const QUEUE_PAUSE = 4 * 1024 * 1024; // output that waits for its reader: beyond it nothing more is taken
const QUEUE_MAX = 64 * 1024 * 1024; // the same while an answer is waited for, which comes behind the output

// One run, or another request. Iterate for output and progress, or ask for the result. close() ends the run.
class Run {
  #socket;
  #lines = new wire.Lines();
  #events = [];
  #queued = 0;
  #asked = new Map();
  #last = RUN;
  #failure = null;
  #ended = false;
  #wake = () => {};
  #answer;

  constructor(path, timeout, method, params) {
    this.#answer = this.#ask(RUN);
    this.#answer.then(() => this.#end(), () => this.#end());
    this.#socket = net.createConnection({ path });
    this.#socket.on("data", (bytes) => this.#take(bytes));
    this.#socket.on("error", (e) => this.#fail(new ConnectionLost(`${path}: ${e.message}`)));
    this.#socket.on("close", () => this.#fail(new ConnectionLost("the connection was closed before the answer")));
    if (timeout) this.#socket.setTimeout(timeout, () => this.#fail(new ConnectionLost("no answer of the daemon: timed out")));
    this.#socket.write(wire.line(RUN, method, params));
  }

  #ask(id) {
    return new Promise((resolve, reject) => this.#asked.set(id, { resolve, reject }));
  }

  #end() {
    this.#ended = true;
    this.#wake();
  }

  #fail(error) {
    this.#failure ??= error;
    for (const one of this.#asked.values()) one.reject(this.#failure);
    this.#asked.clear();
    this.#socket.destroy();
    this.#wake();
  }

  #take(bytes) {
    try {
      for (const message of this.#lines.add(bytes)) this.#put(message);
    } catch (e) {
      this.#fail(e);
    }
  }

  #put(message) {
    if (Object.hasOwn(message, "method")) {
      const event = wire.notice(message, RUN);
      this.#queued += Math.max(event.data?.length ?? 0, 4096);
      if (!this.#asked.has(RUN) || this.#queued > QUEUE_MAX) throw new ProtocolError("output after the end, or too much that was not read");
      this.#events.push(event);
      if (this.#queued > QUEUE_PAUSE && this.#asked.size === 1) this.#socket.pause();
      this.#wake();
      return;
    }
    const id = wire.member(message, "id", "integer");
    const one = this.#asked.get(id);
    if (!one) throw new ProtocolError(`id ${id}: no request has it`);
    this.#asked.delete(id);
    one.resolve(message);
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      const event = this.#events.shift();
      if (event) {
        this.#queued -= Math.max(event.data?.length ?? 0, 4096);
        if (this.#queued <= QUEUE_PAUSE) this.#socket.resume();
        yield event;
      } else if (this.#failure && !this.#ended) {
        throw this.#failure;
      } else if (this.#ended) {
        return;
      } else {
        await new Promise((resolve) => (this.#wake = resolve));
      }
    }
  }

  // The result of any method. The connection is closed.
  async answer() {
    try {
      return wire.result(await this.#answer);
    } finally {
      this.#socket.destroy();
    }
  }

  // Waits for the end; output that was not read is dropped. RunFailed for a run that failed, unless check is false.
  async result({ check = true } = {}) {
    for await (const event of this) void event;
    const ended = wire.ended(await this.answer());
    if (check && ended.exitCode !== 0) throw new RunFailed(ended);
    return ended;
  }

  async #request(method, params) {
    if (this.#failure) throw this.#failure;
    const id = ++this.#last;
    const answer = this.#ask(id);
    this.#socket.resume();
    this.#socket.write(wire.line(id, method, { id: RUN, ...params }));
    return wire.result(await answer);
  }

  // Brings standard input, and with `end` its end. False: the run takes no more.
  async write(data, { end = false } = {}) {
    const bytes = Buffer.from(data);
    for (let at = 0; at === 0 || at < bytes.length; at += wire.INPUT_MAX) {
      const last = end && at + wire.INPUT_MAX >= bytes.length;
      const piece = bytes.subarray(at, at + wire.INPUT_MAX).toString("base64");
      const answer = await this.#request("input", last ? { data: piece, end: true } : { data: piece });
      if (!wire.member(answer, "open", "boolean")) return false;
    }
    return true;
  }

  // Ends the run as this signal does: 15, 2, 1 or 13. The result comes as ever, with exit code 128+signal.
  async cancel(signal = 15) {
    try {
      await this.#request("cancel", { signal });
    } catch (e) {
      if (e.code !== "no_request") throw e; // the run was over first
    }
  }

  close() {
    this.#socket.destroy();
  }
}

module.exports = { Run };
