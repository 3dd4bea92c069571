/**
 * The same promise, for a test that expects something else before it awaits it. Where that fails, the promise may reject
 * while the test clears up, with nobody left to wait for it: the run would fail a second time, for no reason of its own.
 */
export function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
