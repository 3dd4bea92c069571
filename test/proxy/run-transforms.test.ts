import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import { RunTransforms } from "../../src/proxy/run-transforms.js";
import type { Step } from "../../src/proxy/transform.js";
import { UNLIMITED_MEMORY } from "../support/unlimited-memory.js";

const tenantId = newTenantId();
const proxy = {
  ...{ tenantId, revision: 1, definitionBytes: 0 },
  proxy: {
    ...{ id: newUuid(), name: "Slow", key: new Sensitive("key"), applicationId: undefined, requireAuth: true },
    ...{ revision: 1, createdBy: null, createdAt: new Date(), modifiedBy: null, modifiedAt: null },
    definition: {
      ...{ destinationUrl: "https://example.com", requestTransform: undefined, responseTransform: undefined },
      ...{ requestTransforms: [], responseTransforms: [], configuration: {} },
      ...{ requestReactorId: undefined, responseReactorId: undefined, disableDetokenization: false },
    },
  },
};

describe("the transforms of one direction", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  /** How many of ten steps run if each takes this many seconds. */
  const stepsRun = async (seconds: number) => {
    let runs = 0;
    const transforms = new RunTransforms({
      functions: {
        async run() {
          runs += 1;
          vi.advanceTimersByTime(seconds * 1_000);
          return { kind: "returned", value: { headers: {}, body: "x" } };
        },
      },
      application: async () => undefined,
      createToken: async () => null,
      runReactor: async () => ({ kind: "returned", value: null }),
    });
    const steps = Array.from(
      { length: 10 },
      (): Step => ({ type: "code", code: "", isTypeGiven: true, runtime: undefined }),
    );
    const request = { method: "POST", path: "", query: "", headers: [], body: Buffer.from("x") };
    const call = { signal: new AbortController().signal, memory: UNLIMITED_MEMORY };
    const outcome = await transforms
      .request({ tenantId, context: EMPTY_CONTEXT, proxy }, steps, request, call)
      .catch((error: unknown) => error);
    return { runs, outcome };
  };

  it("all run within 30 seconds", async () => {
    expect(await stepsRun(3)).toMatchObject({ runs: 10, outcome: { kind: "request" } });
  });

  it("are not started after that time", async () => {
    expect(await stepsRun(20)).toMatchObject({
      runs: 2,
      outcome: { status: 500, detail: "Reactor Runtime Error", errors: { error: ["The transforms took too long."] } },
    });
  });
});
