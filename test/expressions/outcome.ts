import type { Json } from "../../src/base/json.js";
import { evaluate } from "../../src/expressions/expression.js";

/** The result of `text` over `data` for a caller: the value, or `refused` with the reason. */
export function result(text: string, data: Json): Json | { refused: string } {
  const outcome = evaluate(text, { data });
  return "value" in outcome ? outcome.value : { refused: outcome.rejected };
}

/** The reason why `text` has no value over `data`. */
export function refusal(text: string, data: Json): string {
  const outcome = evaluate(text, { data });
  if ("value" in outcome) throw new Error(`expected a refusal of ${text.slice(0, 80)}`);
  return outcome.rejected;
}

/** The card of the published samples. */
export const sampleCard = { number: "3622720627165567", expiration_month: 10, expiration_year: 2028 };

/** The book shop of the published samples. */
export const bookShop = {
  books: [
    { category: "fiction", author: "Herman Melville", title: "Moby Dick", isbn: "0-553-21311-3", price: 8.99 },
    {
      category: "fantasy",
      author: "J. R. R. Tolkien",
      title: "The Lord of the Rings",
      isbn: "0-395-19395-8",
      price: 22.99,
    },
  ],
  bicycle: { color: "red", price: 19.95 },
};
