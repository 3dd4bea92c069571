import { AttemptError, CloakroomError, type Failure } from "../../../../clients/typescript/src/errors.js";

/** Waits for a call to fail. */
export async function errorOf(call: Promise<unknown>): Promise<CloakroomError> {
  const thrown = await call.then(
    () => new Error("the call was served"),
    (error: unknown) => error,
  );
  if (thrown instanceof CloakroomError) return thrown;
  throw thrown;
}

/** The failure that a function ends with; undefined if it returns. */
export function clientFailure(run: () => unknown): Failure | undefined {
  try {
    run();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof AttemptError) return thrown.failure;
    throw thrown;
  }
}
