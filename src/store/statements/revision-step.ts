import { randomInt } from "node:crypto";
import { bigint } from "./parameter.js";

/**
 * How much a revision rises, by chance: a failover may lose a revision that a server knows, and the next change would
 * give its number to other rights and keys. 2^33 changes stay below 2^53.
 */
export const REVISION_STEP = bigint(() => randomInt(1, 2 ** 21));
