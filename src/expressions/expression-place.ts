import { Fault, invalid } from "../base/fault.js";

/** Where an expression is in a request. */
export interface ExpressionPlace {
  /** As errors name it: `body`, `args.card.number`, `headers.X-Card`. */
  readonly field: string;
  /** Where in the field: "line 3, column 14". Undefined where the field is the expression and nothing else. */
  readonly position: string | undefined;
}

/** Finds the place of an expression. Asked only for an error: most expressions are right. */
export type PlaceOf = () => ExpressionPlace;

/** Characters of an expression that an error repeats. */
const LONGEST_SHOWN = 200;

/** The fault of an expression that cannot be used. `reason` reads on from the field's name and holds no data. */
export function expressionFault(placeOf: PlaceOf, reason: string): Fault {
  const { field, position } = placeOf();
  return invalid(field, position === undefined ? reason : `${reason} (${position})`);
}

/**
 * The fault of an expression that found nothing. It repeats the expression, which is the caller's own, and nothing of the
 * token.
 */
export function foundNothing(placeOf: PlaceOf, expression: string): Fault {
  const { field, position } = placeOf();
  const text = expression.trim();
  const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
  const detail = `expression found nothing: {{ ${shown} }}`;
  return new Fault("validation_failed", detail, {
    fields: { [field]: [position === undefined ? detail : `${detail} (${position})`] },
  });
}
