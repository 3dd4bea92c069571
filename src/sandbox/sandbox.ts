import { createHash } from "node:crypto";
import { performance } from "node:perf_hooks";
import { yieldToEventLoop } from "../base/yield-to-event-loop.js";
import { CodeBreakers, compilationSource } from "./code-breakers.js";
import type { HostCalls } from "./host-calls.js";
import { CODE_CHARACTERS, defaultLimits, type RunLimits } from "./limits.js";
import { SandboxCounters, type SandboxMetrics } from "./metrics.js";
import { type SandboxOptions, type SandboxSettings, sandboxSettings } from "./options.js";
import { type CodeSource, type CompileProblem, failed, type RunOutcome, type RunRequest } from "./run.js";
import { RunSession } from "./run-session.js";
import type { RunnerLink } from "./runner-link.js";
import { RunnerRequests } from "./runner-requests.js";
import { RunnerSupervisor } from "./runner-supervisor.js";
import type { ReadyRunner } from "./runner-waiters.js";
import { SharedRunner } from "./shared-runner.js";
import { type Frame, FrameKind } from "./wire/frame.js";
import type { CompileHeader, RunHeader } from "./wire/messages.js";
import { type RunReport, readCompileReport, readReport } from "./wire/report.js";

export interface Sandbox {
  /**
   * Every result is an outcome, not an error.
   * @throws the reason of the signal when it is aborted: the code may have had effects by then.
   */
  run(request: RunRequest, hosts: HostCalls, signal?: AbortSignal): Promise<RunOutcome>;
  /**
   * Compiles code without running it.
   * @param tenantId the owner of the code: compilations take its turns and count against its circuit breaker.
   * @throws SandboxUnavailable if there is no room to compile, or the tenant's circuit breaker is open.
   */
  compile(tenantId: string, code: string): Promise<CompileProblem | undefined>;
  readonly metrics: SandboxMetrics;
  /** Why the runner does not start. Absent once it has started. */
  readonly problem: string | undefined;
  /** Whether the runner is ready within this time. */
  isReady(withinMs: number): Promise<boolean>;
  /** Ends the runner. Runs in progress fail. */
  close(): Promise<void>;
}

/** There is no runner, or it is overloaded, or the tenant's circuit breaker is open. */
export class SandboxUnavailable extends Error {
  override readonly name = "SandboxUnavailable";
  /** Milliseconds after which the circuit breaker closes; undefined if it is closed. */
  readonly heldMs: number | undefined;

  constructor(message: string, heldMs?: number) {
    super(message);
    this.heldMs = heldMs;
  }
}

export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return new RunnerSandbox(sandboxSettings(options));
}

/** The largest result that fits a frame. */
const MAX_RESULT_BYTES = 24 * 1024 * 1024;

class RunnerSandbox implements Sandbox {
  readonly #settings: SandboxSettings;
  readonly #link: RunnerLink;
  readonly #counters = new SandboxCounters();
  readonly #breakers: CodeBreakers;
  readonly #requests = new RunnerRequests(() => this.#link.kill("silent"));
  /** Runs that wait for a runner to be ready. */
  #early = 0;

  constructor(settings: SandboxSettings) {
    this.#settings = settings;
    this.#breakers = new CodeBreakers(settings.breaker, {
      onIncident: settings.onIncident,
      onCompilationsHeld: (tenantId) => this.#requests.withdrawCompilations(tenantId),
    });
    const onFrame = (runner: ReadyRunner, frame: Frame) => this.#requests.receive(runner, frame);
    if (settings.sharedRunner) {
      settings.sharedRunner.onFailure((source) => this.#breakers.fail(source));
      this.#link = new SharedRunner(settings.sharedRunner, { onFrame, onLost: () => this.#failAll() });
      return;
    }
    this.#link = new RunnerSupervisor(settings.runner, {
      onFrame,
      onHealth: (health) => {
        this.#counters.runner = health;
      },
      onExit: (exit) => {
        this.#counters.runnerEnded();
        settings.onIncident({ type: "runner_exited", ...exit, runs: this.#requests.size });
        this.#failAll();
      },
    });
  }

  get metrics(): SandboxMetrics {
    return this.#counters.snapshot(this.#requests.size + this.#early);
  }

  get problem(): string | undefined {
    return this.#link.problem;
  }

  async isReady(withinMs: number): Promise<boolean> {
    return (await this.#link.ready(withinMs)) !== undefined;
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
    if (this.#breakers.heldMs(request.key) > 0) return failed("held");
    const runner = await this.#runner();
    if (runner === undefined) return failed("overloaded");
    signal?.throwIfAborted();

    const { code, hasApplication } = request;
    const header: RunHeader = { tenant: request.key.tenantId, key, code, hasApplication, limits };
    const session = new RunSession(hosts, limits);
    let resultBytes = 0;
    const id = this.#requests.add(this.#longest(limits.loadMs + limits.wallMs), {
      onResult: (reportBytes, valueBytes) => {
        const report = this.#read(request.key, limits.resultValues, reportBytes, valueBytes);
        resultBytes = valueBytes.length;
        this.#counters.reported(report);
        if (report.threadEnded) this.#threadEnded(request.key);
        session.end(report.outcome);
      },
      onHostCall: (payload) => session.call(payload),
      fail: (reason) => session.end(failed(reason)),
      withdrawCompilation: () => {},
    });
    runner.socket.sendParts(FrameKind.run, id, Buffer.from(JSON.stringify(header)), args);
    const outcome = await this.#unlessAborted(session, id, runner, signal);
    await yieldToEventLoop(resultBytes);
    return outcome;
  }

  async compile(tenantId: string, code: string): Promise<CompileProblem | undefined> {
    const problem = tooLong(code);
    if (problem) return problem;
    const source = compilationSource(tenantId);
    const heldMs = this.#breakers.heldMs(source);
    if (heldMs > 0) throw new SandboxUnavailable("the tenant's circuit breaker is open", heldMs);
    const runner = await this.#runner();
    if (runner === undefined) throw new SandboxUnavailable("the sandbox cannot compile code now");
    const { promise, resolve, reject } = Promise.withResolvers<CompileProblem | undefined>();
    const unavailable = () => reject(new SandboxUnavailable("the sandbox cannot compile code now"));
    const id = this.#requests.add(this.#longest(this.#settings.runner.compileMs), {
      onResult: (bytes) => {
        const report = readCompileReport(bytes);
        if (report.kind === "failed") unavailable();
        else if (report.kind === "compiled") resolve(report.problem);
        else {
          resolve(tooSlow(this.#settings.runner.compileMs));
          this.#counters.threadEnded();
          this.#threadEnded(source);
        }
      },
      onHostCall: async () => undefined,
      fail: unavailable,
      withdrawCompilation: (held) => {
        if (held === tenantId) this.#requests.cancel(runner, id, "held");
      },
    });
    const header: CompileHeader = { tenant: tenantId, code };
    runner.socket.send(FrameKind.compile, id, Buffer.from(JSON.stringify(header)));
    return await promise;
  }

  async close(): Promise<void> {
    await this.#link.close();
    this.#failAll();
  }

  #limits(request: RunRequest): RunLimits {
    const limits = { ...defaultLimits(request.key.kind), ...this.#settings.limits, ...request.limits };
    if (limits.resultBytes > MAX_RESULT_BYTES) throw new RangeError(`resultBytes may be at most ${MAX_RESULT_BYTES}`);
    return limits;
  }

  /** Waits for a starting runner, at most as long as for a thread. */
  async #runner(): Promise<ReadyRunner | undefined> {
    const { total, waitMs } = this.#settings.runner.queue;
    if (!this.#link.isReady && this.#early >= total) return undefined;
    this.#early += 1;
    try {
      return await this.#link.ready(waitMs);
    } finally {
      this.#early -= 1;
    }
  }

  /** The latest time for the runner's report: every step of stopping the code has been tried by then. */
  #longest(taskMs: number): number {
    const { queue, kill } = this.#settings.runner;
    return queue.waitMs + taskMs + kill.graceMs + kill.threadExitMs + kill.silenceMs;
  }

  async #unlessAborted(
    session: RunSession,
    id: string,
    runner: ReadyRunner,
    signal?: AbortSignal,
  ): Promise<RunOutcome> {
    if (signal === undefined) return await session.outcome;
    const abort = () => this.#requests.cancel(runner, id, "killed");
    signal.addEventListener("abort", abort, { once: true });
    try {
      const outcome = await session.outcome;
      signal.throwIfAborted();
      return outcome;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** @throws ProtocolError, which ends the runner: code that causes it counts like code that ends a thread. */
  #read(source: CodeSource, maxValues: number, report: Buffer, value: Buffer): RunReport {
    try {
      return readReport(report, value, maxValues);
    } catch (error) {
      this.#countFailure(source);
      throw error;
    }
  }

  #threadEnded({ tenantId, functionId }: CodeSource): void {
    this.#settings.onIncident({ type: "thread_ended", tenantId, functionId });
    this.#countFailure({ tenantId, functionId });
  }

  #countFailure(source: CodeSource): void {
    this.#breakers.fail(source);
    this.#settings.sharedRunner?.reportFailure(source);
  }

  #failAll(): void {
    this.#requests.failAll("runner_restarted");
  }
}

function tooSlow(ms: number): CompileProblem {
  return { message: `The code takes longer than ${ms} ms to compile.`, line: 1, column: 1 };
}

function tooLong(code: string): CompileProblem | undefined {
  if (code.length <= CODE_CHARACTERS) return undefined;
  return { message: `The code is longer than ${CODE_CHARACTERS} characters.`, line: 1, column: 1 };
}

/** Instances of one key may serve each other's calls, so the key includes every relevant difference. */
function instanceKey({ key, code, hasApplication }: RunRequest, { memoryBytes }: RunLimits): string {
  const { tenantId, functionId, applicationId, configurationVersion, kind } = key;
  const parts = [tenantId, functionId, applicationId, configurationVersion, kind, hasApplication, memoryBytes, code];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}
