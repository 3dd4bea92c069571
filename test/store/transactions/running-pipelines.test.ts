import { describe, expect, it } from "vitest";
import { RunningPipelines } from "../../../src/store/transactions/running-pipelines.js";

const pipelines = () => new RunningPipelines({ pipelines: 2, pipelineWindowMs: 10 });

describe("a pipeline", () => {
  it("starts at once while none runs", () => {
    expect(pipelines().fullFor(0)).toBeUndefined();
    expect(pipelines().worthWaiting(0, 1, 0)).toBe(0);
  });

  it("waits for half as many tenants as travel, and no longer than the window", () => {
    const running = pipelines();
    const end = running.started(0, 8);
    expect(running.worthWaiting(3, 3, 1)).toBe(8);
    expect(running.worthWaiting(3, 4, 1)).toBe(0);
    expect(running.worthWaiting(11, 1, 1)).toBe(0);
    end();
    expect(running.worthWaiting(3, 1, 1)).toBe(0);
  });

  it("waits for the end of one of two, or until one of them is late", () => {
    const running = pipelines();
    const end = running.started(0, 1);
    running.started(40, 1);
    expect(running.fullFor(50)).toBe(50);
    expect(running.fullFor(100)).toBeUndefined();
    running.started(100, 1);
    expect(running.fullFor(101)).toBe(39);
    end();
    expect(running.fullFor(140)).toBeUndefined();
  });
});
