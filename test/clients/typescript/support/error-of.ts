import { CloakroomError } from "../../../../clients/typescript/src/errors.js";

/** Waits for a call to fail. */
export async function errorOf(call: Promise<unknown>): Promise<CloakroomError> {
  const thrown = await call.then(
    () => new Error("the call was served"),
    (error: unknown) => error,
  );
  if (thrown instanceof CloakroomError) return thrown;
  throw thrown;
}
