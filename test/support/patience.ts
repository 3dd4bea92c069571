/**
 * How long a test waits for what happens elsewhere, in milliseconds. It is no assertion: nothing that a test waits for takes
 * so long, however busy the machine is.
 */
export const PATIENCE_MS = 180_000;
