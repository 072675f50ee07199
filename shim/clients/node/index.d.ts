// The types of lethe-client (lethe-clients(7)).
import type { ChildProcessWithoutNullStreams } from "node:child_process";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };
export type Options = { [name: string]: string | null | string[] } | [string, string | null][];
export type Stream = "stdin" | "stdout" | "stderr";

export interface Denial { rule: string; operation: string; object: string; count: number; allowWith: string | null; }
export interface Limit { resource: string; limit: number | null; used: number | null; reason: string | null; }
export interface Ended {
  exitCode: number; stdout: string; stderr: string; region: string | null; receipt: JsonObject | null; refusal: JsonObject | null;
  stdoutCut: boolean; stderrCut: boolean; outcome: string | null; denials: Denial[]; limit: Limit | null; why: string[];
}
export interface Output { stream: "stdout" | "stderr"; data: Buffer; }
export interface Progress { stream: "progress"; done: number; total: number | null; message: string | null; }
export interface Ping { protocol: number; version: string; pid: number; store: string; anchor: string | null; policy: string | null; }
export interface Status extends Ping {
  socket: string; stopping: boolean; uptime_usec: number; clients: number; running: number; queued: number; max_running: number; max_queued: number;
  served: number; refused: number; ending: number; ready_guards: number; ready_regions: number; objects: number; max_objects: number;
}
export interface Process { regions: string[]; state: "running" | "queued"; pid: number; uid: number; object?: string; }
export interface Request {
  skill?: string; exec?: string; session?: string; key?: string; args?: string[]; options?: Options; cwd?: string; stream?: Stream[]; stdin?: string;
  receipt?: boolean; progress?: boolean; interactive?: boolean; remove?: boolean; promote?: boolean; verbose?: boolean; quiet?: boolean;
  traceparent?: string; store?: string; anchor?: string; policy?: string; names_store?: boolean;
}

export class LetheError extends Error {}
export class ConnectionLost extends LetheError {}
export class ProtocolError extends LetheError {}
export class RequestRefused extends LetheError { readonly code: string; readonly number: number; }
export class ProgramFailed extends LetheError { readonly code: string; readonly status: number; }
export class RunFailed extends LetheError {
  readonly ended: Ended; readonly exitCode: number; readonly outcome: string | null; readonly limit: Limit | null; readonly denials: Denial[];
  readonly why: string[];
}

export class Run implements AsyncIterable<Output | Progress> {
  private constructor();
  [Symbol.asyncIterator](): AsyncGenerator<Output | Progress, void, undefined>;
  result(how?: { check?: boolean }): Promise<Ended>;
  write(data: string | Uint8Array, how?: { end?: boolean }): Promise<boolean>;
  cancel(signal?: 1 | 2 | 13 | 15): Promise<void>;
  close(): void;
}

export class Session {
  private constructor();
  readonly id: string;
  turn(request?: Request & { check?: boolean; signal?: AbortSignal }): Promise<Ended>;
  carry(section: string, value?: Json): Promise<JsonObject>;
  close(how?: { erase?: boolean }): Promise<void>;
}

export interface Slots {
  define(name: string, schema: Json, how?: { arbitrate?: string }): Promise<JsonObject>;
  put(name: string, value: Json, how?: { expect?: number }): Promise<JsonObject>;
  get(name: string, how?: { version?: number }): Promise<JsonObject>;
  list(): Promise<JsonObject>;
  history(name: string): Promise<JsonObject>;
}
export interface Memory {
  save(family: string, payload: Json, how?: { id?: string; type?: string; refs?: Json; expect?: number; scope?: string }): Promise<JsonObject>;
  load(family: string, id: string, how?: { version?: number; at?: string; scope?: string }): Promise<JsonObject>;
  search(query: string, how?: { limit?: number; scope?: string }): Promise<JsonObject>;
  history(family: string, id: string, how?: { scope?: string }): Promise<JsonObject>;
  delete(family: string, id: string, how?: { reason?: string; cascade?: boolean; scope?: string }): Promise<JsonObject>;
}
export interface Belief {
  begin(agent: string, how?: { scope?: string }): Promise<JsonObject>;
  add(run: string, text: string, how?: { role?: "agent" | "tool_result" }): Promise<JsonObject>;
  notes(run: string): Promise<JsonObject>;
  promote(run: string, how?: { most?: number }): Promise<JsonObject[]>;
  canon(how?: { bucket?: string; state?: string; scope?: string; at?: string }): Promise<JsonObject>;
  row(bucket: string, id: string, how?: { scope?: string; at?: string }): Promise<JsonObject>;
  pending(how?: { scope?: string; all?: boolean; expired?: boolean }): Promise<JsonObject>;
  bind(item: string, target: string): Promise<JsonObject>;
  drop(item: string, reason: string): Promise<JsonObject>;
  context(how?: { query?: string; lane?: number; bytes?: number; scope?: string; at?: string }): Promise<JsonObject>;
}

export class Client {
  constructor(how?: { socket?: string; timeout?: number; program?: string });
  readonly slots: Slots;
  readonly memory: Memory;
  readonly belief: Belief;
  ask(method: string, params?: object): Promise<Json>;
  start(request: Request): Run;
  run(request: Request & { check?: boolean; signal?: AbortSignal }): Promise<Ended>;
  detach(request: Request): Promise<string>;
  attach(region: string): Promise<ChildProcessWithoutNullStreams>;
  kill(region: string, how?: { discard?: boolean }): Promise<void>;
  ps(): Promise<Process[]>;
  ping(): Promise<Ping>;
  status(): Promise<Status>;
  reload(): Promise<JsonObject>;
  stop(): Promise<void>;
  workingGet(scope?: string): Promise<Json>;
  workingSet(value: Json, scope?: string): Promise<void>;
  workingClear(scope?: string): Promise<void>;
  sessionOpen(request: { skill: string; options?: Options; cwd?: string }): Promise<Session>;
}

export const METHODS: { readonly [method: string]: string | null };
