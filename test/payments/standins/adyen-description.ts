import { existsSync, readFileSync } from "node:fs";
import type { AnySchemaObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";

const FILE = "../shared/data/adyen-checkout-v71.openapi.json";

/** The fields of a card payment, with the status of success. */
const PATHS = [
  ["/cancels", 201],
  ["/paymentMethods", 200],
  ["/payments", 200],
  ["/payments/details", 200],
  ["/payments/{paymentPspReference}/cancels", 201],
  ["/payments/{paymentPspReference}/captures", 201],
  ["/payments/{paymentPspReference}/refunds", 201],
] as const;

/** Returns what is wrong with a body according to Adyen's own description, or undefined. */
export type Check = (path: string, side: "request" | number, body: unknown) => string | undefined;

/** Adyen's published description of Checkout v71. Undefined in a clone without the folder of published data. */
export function adyenDescription(): Check | undefined {
  if (!existsSync(FILE)) {
    console.warn(`published data absent: ${FILE}; requests to Adyen are checked by the tests' own tables alone`);
    return undefined;
  }
  const description: AnySchemaObject = JSON.parse(readFileSync(FILE, "utf8"));
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema(description, "adyen");
  const compile = (path: string, ...place: string[]) => {
    const steps = ["paths", path, "post", ...place, "content", "application/json", "schema"];
    const pointer = steps.map((step) => encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1")));
    return ajv.compile({ $ref: `adyen#/${pointer.join("/")}` });
  };
  // Compiled up front: it takes seconds, longer than connectors wait for a response.
  const validators: ReadonlyMap<string, ValidateFunction> = new Map(
    PATHS.flatMap(([path, success]) => [
      [`${path} request`, compile(path, "requestBody")] satisfies [string, ValidateFunction],
      [`${path} ${success}`, compile(path, "responses", String(success))] satisfies [string, ValidateFunction],
    ]),
  );
  return (path, side, body) => {
    const validate = validators.get(`${path} ${side}`);
    if (!validate) return `${path} ${side}: not described`;
    return validate(body) ? undefined : `${path} ${side}: ${ajv.errorsText(validate.errors)}`;
  };
}
