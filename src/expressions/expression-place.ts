import { Fault, invalid } from "../base/fault.js";

export interface ExpressionPlace {
  /** As errors name it: `body`, `args.card.number`, `headers.X-Card`. */
  readonly field: string;
  /** Position in the field: "line 3, column 14". Undefined if the field is exactly the expression. */
  readonly position: string | undefined;
}

/** Finds the place of an expression. Called only for an error: most expressions are valid. */
export type PlaceOf = () => ExpressionPlace;

const MAX_SHOWN_LENGTH = 200;

/** The fault of an unusable expression. `reason` follows the field's name and has no data. */
export function expressionFault(locate: PlaceOf, reason: string): Fault {
  const { field, position } = locate();
  return invalid(field, position === undefined ? reason : `${reason} (${position})`);
}

/** The fault of an expression that found nothing. It repeats the caller's own expression, and nothing of the token. */
export function foundNothing(locate: PlaceOf, expression: string): Fault {
  const { field, position } = locate();
  const text = expression.trim();
  const shown = text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}...` : text;
  const detail = `expression found nothing: {{ ${shown} }}`;
  return new Fault("validation_failed", detail, {
    fields: { [field]: [position === undefined ? detail : `${detail} (${position})`] },
  });
}
