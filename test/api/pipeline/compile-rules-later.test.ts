import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CreateTokenRequestSchema, TokenizeRequestSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { compileRulesLater } from "../../../src/api/pipeline/validation.js";

describe("rules that are compiled after the start", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it("wait while callers wait for the main thread, and none is left out", () => {
    const taken: string[] = [];
    const messages = [CreateTokenRequestSchema, TokenizeRequestSchema];
    function* values() {
      for (const message of messages) {
        taken.push(message.name);
        yield message;
      }
      return undefined;
    }
    const turns = { waiting: 3 };
    compileRulesLater({ values }, new AbortController().signal, turns);
    vi.advanceTimersByTime(10_000);
    expect(taken).toEqual([]);
    turns.waiting = 0;
    vi.advanceTimersByTime(100);
    expect(taken).toEqual(["CreateTokenRequest"]);
    turns.waiting = 1;
    vi.advanceTimersByTime(1_000);
    expect(taken).toHaveLength(1);
    turns.waiting = 0;
    vi.advanceTimersByTime(1_000);
    expect(taken).toEqual(["CreateTokenRequest", "TokenizeRequest"]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
