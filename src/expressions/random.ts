import { randomInt } from "node:crypto";

/** Draws a whole number from 0 to below `limit`, each equally likely. */
export type DrawBelow = (limit: number) => number;

/** Draws from a cryptographic source. */
export const drawSecurely: DrawBelow = (limit) => randomInt(limit);
