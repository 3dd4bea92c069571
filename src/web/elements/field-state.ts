import type { FieldEvent, FieldState } from "../../../clients/elements/src/protocol.js";
import type { Entry } from "./entry.js";
import type { PartPlan } from "./field-parts.js";
import { errorText, type Texts } from "./locales.js";

export interface Part extends PartPlan {
  readonly entry: Entry;
}

/** Tells the page about a change of what it may know, and about nothing else: keys have times. */
export function reporter(parts: readonly Part[], texts: Texts, send: (event: FieldEvent) => void): () => void {
  let sent = "";
  return () => {
    const state = stateOf(parts, texts);
    const text = JSON.stringify(state);
    if (text === sent) return;
    sent = text;
    send({ type: "change", state });
  };
}

function stateOf(parts: readonly Part[], texts: Texts): FieldState {
  const readings = parts.map(({ entry }) => entry.reading());
  const number = readings.find(({ codeLengths }) => codeLengths !== undefined);
  const shown = parts.find(({ progress }) => progress !== undefined)?.progress?.shown;
  const error = parts.flatMap(({ entry, kind }) => {
    const code = entry.shownError();
    return code === undefined ? [] : [{ code, message: errorText(texts, kind.name, code) }];
  })[0];
  return {
    complete: readings.every(({ value }) => value !== undefined),
    empty: readings.every(({ value, problem }) => value === undefined && problem === undefined),
    valid: error === undefined && readings.every(({ problem }) => problem === undefined || problem === "incomplete"),
    ...(number?.brand === undefined ? {} : { brand: number.brand }),
    ...shown,
    ...(error === undefined ? {} : { error }),
  };
}
