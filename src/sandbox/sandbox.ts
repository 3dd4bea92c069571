import { createHash, randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import { afterOthers } from "../base/after-others.js";
import { CodeHold } from "./code-hold.js";
import type { HostCalls } from "./host-calls.js";
import { Lease } from "./lease.js";
import { CODE_CHARACTERS, defaultLimits, type RunLimits } from "./limits.js";
import { SandboxCounters, type SandboxMetrics } from "./metrics.js";
import { type SandboxOptions, type SandboxSettings, settingsOf } from "./options.js";
import { type CompileProblem, failed, type RunFailure, type RunOutcome, type RunRequest } from "./run.js";
import type { RunnerProcess } from "./runner-process.js";
import { RunnerSupervisor } from "./runner-supervisor.js";
import { type Frame, FrameKind, readParts } from "./wire/frame.js";
import type { RunOrder } from "./wire/orders.js";
import { type RunReport, readCompileReport, readReport } from "./wire/report.js";

/** Runs tenant code in a process of its own. */
export interface Sandbox {
  /**
   * Runs code once. Whatever comes of it is an outcome, not an error.
   *
   * @throws the reason of the signal when it is aborted: the code may have had effects by then.
   */
  run(request: RunRequest, hosts: HostCalls, signal?: AbortSignal): Promise<RunOutcome>;
  /**
   * Whether code compiles. None of it is run.
   *
   * @throws SandboxUnavailable when that cannot be said now.
   */
  compile(code: string): Promise<CompileProblem | undefined>;
  readonly metrics: SandboxMetrics;
  /** Ends the runner. Runs under way fail. */
  close(): Promise<void>;
}

/** There is no runner, or it has too much to do. */
export class SandboxUnavailable extends Error {
  override readonly name = "SandboxUnavailable";
}

export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return new RunnerSandbox(settingsOf(options));
}

/** The largest result that fits a frame. */
const MOST_RESULT_BYTES = 24 * 1024 * 1024;
const COMPILE_MS = 10_000;

/** Something that the runner was asked for. */
interface Pending {
  /** @throws ProtocolError where the answer is none. */
  readonly onResult: (report: Buffer, value: Buffer) => void;
  readonly onHostCall: (payload: Buffer) => Promise<Buffer | undefined>;
  readonly fail: (reason: RunFailure) => void;
}

class RunnerSandbox implements Sandbox {
  readonly #settings: SandboxSettings;
  readonly #supervisor: RunnerSupervisor;
  readonly #counters = new SandboxCounters();
  readonly #hold: CodeHold;
  readonly #pending = new Map<string, Pending>();
  /** Runs for which no runner is ready yet. */
  #early = 0;

  constructor(settings: SandboxSettings) {
    this.#settings = settings;
    this.#hold = new CodeHold(settings.hold, () => performance.now());
    this.#supervisor = new RunnerSupervisor(settings.runner, {
      onFrame: (runner, frame) => this.#receive(runner, frame),
      onHealth: (health) => {
        this.#counters.runner = health;
      },
      onExit: (exit) => {
        this.#counters.runnerEnded();
        settings.onIncident({ type: "runner_exited", ...exit, runs: this.#pending.size });
        this.#failAll();
      },
    });
  }

  get metrics(): SandboxMetrics {
    return this.#counters.snapshot(this.#pending.size + this.#early);
  }

  async run(request: RunRequest, hosts: HostCalls, signal?: AbortSignal): Promise<RunOutcome> {
    signal?.throwIfAborted();
    const started = performance.now();
    const outcome = await this.#outcome(request, hosts, signal);
    this.#counters.ended(outcome, performance.now() - started);
    return outcome;
  }

  async #outcome(request: RunRequest, hosts: HostCalls, signal?: AbortSignal): Promise<RunOutcome> {
    const limits = this.#limits(request);
    const problem = tooLong(request.code);
    if (problem) return failed("does_not_compile", { problem });
    const args = Buffer.from(JSON.stringify(request.args));
    if (args.length > limits.argsBytes) return failed("args_too_large");
    const key = instanceKey(request, limits);
    if (this.#hold.isHeld(key)) return failed("killed", { retryable: false });
    const runner = await this.#runner();
    if (runner === undefined) return failed("overloaded");
    signal?.throwIfAborted();

    const { code, hasApplication } = request;
    const order: RunOrder = { tenant: request.key.tenantId, key, code, hasApplication, limits };
    const lease = new Lease(hosts, limits);
    let resultBytes = 0;
    const id = this.#expect(this.#longest(limits), {
      onResult: (reportBytes, valueBytes) => {
        const report = this.#read(request, key, limits.resultValues, reportBytes, valueBytes);
        resultBytes = valueBytes.length;
        this.#counters.reported(report);
        if (report.threadEnded) {
          const { tenantId, functionId } = request.key;
          this.#settings.onIncident({ type: "thread_ended", tenantId, functionId });
          this.#count(request, key);
        }
        lease.end(report.outcome);
      },
      onHostCall: (payload) => lease.call(payload),
      fail: (reason) => lease.end(failed(reason)),
    });
    runner.socket.sendParts(FrameKind.run, id, Buffer.from(JSON.stringify(order)), args);
    const outcome = await this.#unlessAborted(lease, id, runner, signal);
    await afterOthers(resultBytes);
    return outcome;
  }

  async compile(code: string): Promise<CompileProblem | undefined> {
    const problem = tooLong(code);
    if (problem) return problem;
    const runner = await this.#runner();
    if (runner === undefined) throw new SandboxUnavailable("the sandbox cannot compile code now");
    const { promise, resolve, reject } = Promise.withResolvers<CompileProblem | undefined>();
    const unavailable = () => reject(new SandboxUnavailable("the sandbox cannot compile code now"));
    const id = this.#expect(this.#settings.runner.queue.waitMs + COMPILE_MS, {
      onResult: (report) => {
        const found = readCompileReport(report);
        if (found === "failed") unavailable();
        else resolve(found);
      },
      onHostCall: async () => undefined,
      fail: unavailable,
    });
    runner.socket.send(FrameKind.compile, id, Buffer.from(JSON.stringify({ code })));
    return await promise;
  }

  async close(): Promise<void> {
    await this.#supervisor.close();
    this.#failAll();
  }

  #limits(request: RunRequest): RunLimits {
    const limits = { ...defaultLimits(request.key.kind), ...this.#settings.limits, ...request.limits };
    if (limits.resultBytes > MOST_RESULT_BYTES) throw new RangeError(`resultBytes may be at most ${MOST_RESULT_BYTES}`);
    return limits;
  }

  /** Waits for a runner while one is being started, as long as it would wait in its queue. */
  async #runner(): Promise<RunnerProcess | undefined> {
    const { total, waitMs } = this.#settings.runner.queue;
    if (!this.#supervisor.isReady && this.#early >= total) return undefined;
    this.#early += 1;
    try {
      return await this.#supervisor.ready(waitMs);
    } finally {
      this.#early -= 1;
    }
  }

  /** When the runner must have reported, however it went: all rungs of the ladder have been climbed by then. */
  #longest(limits: RunLimits): number {
    const { queue, kill } = this.#settings.runner;
    return queue.waitMs + limits.loadMs + limits.wallMs + kill.graceMs + kill.threadExitMs + kill.silenceMs;
  }

  /** @returns the id under which the runner answers: nobody can guess it, and it says nothing. */
  #expect(withinMs: number, pending: Pending): string {
    const id = randomBytes(16).toString("hex");
    const timer = setTimeout(() => this.#supervisor.kill("silent"), withinMs);
    this.#pending.set(id, {
      ...pending,
      onResult: (report, value) => {
        clearTimeout(timer);
        // Only then: one whose answer cannot be read ends with the runner, as all others do.
        pending.onResult(report, value);
        this.#pending.delete(id);
      },
      fail: (reason) => {
        clearTimeout(timer);
        this.#pending.delete(id);
        pending.fail(reason);
      },
    });
    return id;
  }

  #receive(runner: RunnerProcess, { kind, lease, number, payload }: Frame): void {
    const pending = this.#pending.get(lease);
    // The run has ended here, by its caller's wish, and the runner does not know yet.
    if (pending === undefined) return;
    if (kind === FrameKind.result) {
      const { first, second } = readParts(payload);
      pending.onResult(first, second);
    } else if (kind === FrameKind.hostCall) {
      void this.#answer(runner, pending, lease, number, payload);
    }
  }

  async #answer(
    runner: RunnerProcess,
    pending: Pending,
    lease: string,
    number: number,
    payload: Buffer,
  ): Promise<void> {
    const reply = await pending.onHostCall(payload);
    if (reply && this.#pending.has(lease)) runner.socket.send(FrameKind.hostReply, lease, reply, number);
  }

  async #unlessAborted(lease: Lease, id: string, runner: RunnerProcess, signal?: AbortSignal): Promise<RunOutcome> {
    if (signal === undefined) return await lease.outcome;
    const abort = () => {
      runner.socket.send(FrameKind.cancel, id);
      this.#pending.get(id)?.fail("killed");
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      const outcome = await lease.outcome;
      signal.throwIfAborted();
      return outcome;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** @throws ProtocolError, which ends the runner: code that brings that about counts like code that costs a thread. */
  #read(request: RunRequest, key: string, mostValues: number, report: Buffer, value: Buffer): RunReport {
    try {
      return readReport(report, value, mostValues);
    } catch (error) {
      this.#count(request, key);
      throw error;
    }
  }

  /** Notes what the code has cost, and holds it where that is too much. */
  #count({ key: { tenantId, functionId } }: RunRequest, key: string): void {
    if (this.#hold.add(key)) this.#settings.onIncident({ type: "code_held", tenantId, functionId });
  }

  #failAll(): void {
    for (const pending of [...this.#pending.values()]) pending.fail("runner_restarted");
  }
}

function tooLong(code: string): CompileProblem | undefined {
  if (code.length <= CODE_CHARACTERS) return undefined;
  return { message: `The code is longer than ${CODE_CHARACTERS} characters.`, line: 1, column: 1 };
}

/** Instances of one key may serve each other's calls; everything that makes a difference goes in. */
function instanceKey({ key, code, hasApplication }: RunRequest, { memoryBytes }: RunLimits): string {
  const { tenantId, functionId, applicationId, configurationVersion, kind } = key;
  const parts = [tenantId, functionId, applicationId, configurationVersion, kind, hasApplication, memoryBytes, code];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}
