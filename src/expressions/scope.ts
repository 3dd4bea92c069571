import { Context, type Drop, type Liquid, toValue } from "liquidjs";
import type { Json } from "../base/json.js";
import type { Budget } from "./budget.js";
import type { DrawBelow } from "./random.js";

export type Bindings = Readonly<Record<string, Json>>;

export interface Evaluation {
  readonly bindings: Bindings;
  readonly budget: Budget;
  /** Whether a path without a match fails, unless a `default` follows it. */
  readonly mustFind: boolean;
  readonly draw: DrawBelow;
}

/** A scope takes about 2 us to make. */
const UNITS_PER_SCOPE = 50;

/**
 * The data visible to an expression: bound values and their own properties, each access paid for. Replaces the engine's
 * reader, which reads `size` through the prototype, converts any key to text (joining an array of 5 MB used as a key)
 * and counts an object's keys at each `size`; its limits cover none of that.
 */
export class Scope extends Context {
  readonly budget: Budget;
  readonly draw: DrawBelow;
  /** A filter found nothing, and no `default` follows it. */
  foundNothing = false;
  readonly #engine: Liquid;

  constructor(engine: Liquid, bindings: object, budget: Budget, draw: DrawBelow) {
    super(bindings, engine.options, { sync: true, ownPropertyOnly: true }, { liquid: engine });
    this.#engine = engine;
    this.budget = budget;
    this.draw = draw;
  }

  override *_get(path: (string | number | Drop)[]): IterableIterator<unknown> {
    return yield* this._getFromScope(this.environments, path, false);
  }

  /** The scope in which `where`, `find` and similar filters read one item of a list. */
  override spawn(item: object = {}): Scope {
    this.budget.spend(UNITS_PER_SCOPE);
    return new Scope(this.#engine, item, this.budget, this.draw);
  }

  override readProperty(holder: unknown, key: unknown): unknown {
    return readProperty(holder, toValue(key), this.budget);
  }
}

/** A property of a value by its name. Undefined if it has none. */
export function readProperty(holder: unknown, name: unknown, budget: Budget): unknown {
  budget.spend(1);
  if (typeof name !== "string" && typeof name !== "number") return undefined;
  if (typeof holder === "string") return name === "size" ? holder.length : undefined;
  if (Array.isArray(holder)) return readItem(holder, name);
  if (typeof holder !== "object" || holder === null) return undefined;
  if (Object.hasOwn(holder, name)) return Reflect.get(holder, name);
  return name === "size" ? budget.keyCount(holder) : undefined;
}

function readItem(list: readonly unknown[], name: string | number): unknown {
  if (name === "size") return list.length;
  if (name === "first") return list[0];
  if (name === "last") return list.at(-1);
  return Number.isInteger(Number(name)) && name !== "" ? list.at(Number(name)) : undefined;
}
