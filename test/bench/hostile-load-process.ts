import { HOSTILE_LOADS, type LoadTarget } from "./hostile-loads.js";

/** What the bench tells a process that puts a load on its server. */
export interface LoadOrder {
  readonly target: LoadTarget;
  /** Of {@link HOSTILE_LOADS}. */
  readonly index: number;
}

process.once("message", async ({ target, index }: LoadOrder) => {
  await HOSTILE_LOADS[index]?.start(target);
  process.send?.("started");
});
process.once("disconnect", () => process.exit());
