import { invalid } from "../../base/fault.js";
import { maskText } from "./default-mask.js";
import { textThat } from "./fields.js";
import type { TokenType } from "./token-type.js";

export interface TextTypeOptions
  extends Pick<TokenType, "name" | "containers">,
    Partial<Pick<TokenType, "fingerprintExpression" | "searchIndexes" | "details" | "mask" | "maskInCode">> {
  readonly expectation: string;
  readonly matches: (text: string) => boolean;
}

/** A type whose data is one string; its mask shows the last four characters unless the type has another. */
export function textType({ expectation, matches, ...options }: TextTypeOptions): TokenType {
  const check = textThat(matches);
  return {
    normalize(data) {
      const text = check(data);
      if (text === undefined) throw invalid("data", expectation);
      return text;
    },
    mask: "{{ data | reveal_last: 4 }}",
    maskInCode: maskText,
    fingerprintExpression: "{{ data }}",
    searchIndexes: [],
    details: null,
    ...options,
  };
}
