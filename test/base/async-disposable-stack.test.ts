import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AsyncDisposableStackForNode22 } from "../../src/base/async-disposable-stack.js";

/** What the program uses of a stack. */
interface UsedStack {
  use(resource: AsyncDisposable | Disposable | undefined): unknown;
  adopt(value: number, end: () => Promise<void>): number;
  defer(end: () => Promise<void>): void;
  move(): UsedStack;
  disposeAsync(): Promise<void>;
}

type Step = "use" | "use at once" | "use nothing" | "adopt" | "defer" | "fail" | "move";

/** What a stack ends after these steps, in order, and the error that it throws. */
async function ended(create: () => UsedStack, steps: readonly Step[]) {
  const order: string[] = [];
  let stack = create();
  for (const [index, step] of steps.entries()) {
    const end = async () => void order.push(`${step} ${index}`);
    if (step === "use") stack.use({ [Symbol.asyncDispose]: end });
    else if (step === "use at once") stack.use({ [Symbol.dispose]: () => void order.push(`${step} ${index}`) });
    else if (step === "use nothing") stack.use(undefined);
    else if (step === "adopt") stack.adopt(index, end);
    else if (step === "defer") stack.defer(end);
    else if (step === "move") stack = stack.move();
    else
      stack.defer(async () => {
        await end();
        throw new Error(step);
      });
  }
  const failed = await stack.disposeAsync().then(
    () => false,
    () => true,
  );
  await stack.disposeAsync();
  return { order, failed };
}

describe("the stack of resources for Node 22", () => {
  it("ends the same resources in the same order as that of Node 24", async () => {
    const step = fc.constantFrom<Step>("use", "use at once", "use nothing", "adopt", "defer", "fail", "move");
    const steps = fc.array(step, { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const ours = await ended(() => new AsyncDisposableStackForNode22(), taken);
        expect(ours).toEqual(await ended(() => new AsyncDisposableStack(), taken));
      }),
      { numRuns: 500 },
    );
  });
});
