/** What a browser may fill into the number's frame for other fields of the group. */
const FILLED = [
  { type: "cardExpirationDate", name: "exp-date", autocomplete: "cc-exp" },
  { type: "cardVerificationCode", name: "cvc", autocomplete: "cc-csc" },
] as const;

export type FilledType = (typeof FILLED)[number]["type"];

/**
 * Safari, and some password managers, fill one frame only. These inputs take the date and the code there, for the number's
 * frame to pass on to the fields that show them (braintree-web does so since 3.18.0). They keep nothing.
 */
export function createHiddenInputs(onFilled: (type: FilledType, text: string) => void): readonly HTMLInputElement[] {
  return FILLED.map(({ type, name, autocomplete }) => {
    const input = document.createElement("input");
    Object.assign(input, { name, type: "text", tabIndex: -1, className: "filled-by-number" });
    input.setAttribute("autocomplete", autocomplete);
    input.setAttribute("aria-hidden", "true");
    input.addEventListener("input", () => {
      const text = input.value;
      input.value = "";
      if (text !== "") onFilled(type, text);
    });
    return input;
  });
}
