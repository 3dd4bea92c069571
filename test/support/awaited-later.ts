/**
 * Returns the same promise, for a test that expects something else before it awaits it. If that fails, the promise may
 * reject while the test cleans up, unhandled: the run would report a second, misleading failure.
 */
export function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
