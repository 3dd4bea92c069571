import type { Calls } from "./calls.js";

/** The base of all generated classes. */
export abstract class Resource {
  protected readonly calls: Calls;

  constructor(calls: Calls) {
    this.calls = calls;
  }
}
