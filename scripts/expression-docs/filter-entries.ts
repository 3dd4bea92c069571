import type { Json } from "../../src/base/json.js";

/** An expression over data, whose result the page shows. */
export interface FilterExample {
  readonly expression: string;
  readonly data: Json;
  /** For a random result: its pattern, and a possible result. Others are computed. */
  readonly random?: { readonly shape: RegExp; readonly sample: string };
}

/** The entry of a filter on the page. */
export interface FilterEntry {
  readonly name: string;
  /** Its input. */
  readonly input: string;
  /** Its arguments in order, with their defaults. */
  readonly args: string;
  readonly gives: string;
  readonly examples: readonly FilterExample[];
}

export interface FilterGroup {
  readonly title: string;
  readonly introduction: string;
  readonly entries: readonly FilterEntry[];
}

const card = { number: "4242424242424242" };
const expiry = { expiration_month: 3, expiration_year: 2030 };
const words = ["pear", "apple", "Fig"];
const people = [
  { name: "Ada", role: "admin" },
  { name: "Bob", role: "clerk" },
];

function entry(
  name: string,
  input: string,
  args: string,
  gives: string,
  ...examples: readonly (readonly [expression: string, data: Json])[]
): FilterEntry {
  return { name, input, args, gives, examples: examples.map(([expression, data]) => ({ expression, data })) };
}

function random(
  name: string,
  args: string,
  gives: string,
  [expression, data]: readonly [string, Json],
  shape: RegExp,
  sample: string,
): FilterEntry {
  return { name, input: "text", args, gives, examples: [{ expression, data, random: { shape, sample } }] };
}

const finding: FilterGroup = {
  title: "Finding parts of the data",
  introduction:
    "`json` takes a JSON path, see [JSON paths](#json-paths). Where it finds nothing it gives `null`, which `default` " +
    "replaces; in the body of a proxied request, a reactor call or `POST /detokenize` it is a 400 without one.",
  entries: [
    entry(
      "json",
      "object or list",
      "`json_path_expression`",
      "the one value at the path",
      ["{{ data | json: '$.number' }}", card],
      ["{{ data | json: '$.cvc' }}", card],
      ["{{ data | json: '$.cvc' | default: 'none' }}", card],
    ),
    entry("default", "anything", "`value`", "the input, or `value` for null, false, and an empty text or list", [
      "{{ data.cvc | default: 'none' }}",
      card,
    ]),
    entry("first", "list", "", "its first item", ["{{ data | first }}", words]),
    entry("last", "list", "", "its last item", ["{{ data | last }}", words]),
    entry("size", "text or list", "", "how many characters or items it has", ["{{ data | size }}", words]),
    entry("map", "list of objects", "`property`", "that property of each", ["{{ data | map: 'name' }}", people]),
    entry("where", "list of objects", "`property`, `value`", "those that have the value there", [
      "{{ data | where: 'role', 'clerk' }}",
      people,
    ]),
    entry("reject", "list of objects", "`property`, `value`", "those that have another value there", [
      "{{ data | reject: 'role', 'clerk' }}",
      people,
    ]),
    entry("find", "list of objects", "`property`, `value`", "the first that has the value there", [
      "{{ data | find: 'role', 'clerk' }}",
      people,
    ]),
    entry("find_index", "list of objects", "`property`, `value`", "the place of the first, from 0", [
      "{{ data | find_index: 'role', 'clerk' }}",
      people,
    ]),
    entry("has", "list of objects", "`property`, `value`", "whether one has the value there", [
      "{{ data | has: 'role', 'boss' }}",
      people,
    ]),
  ],
};

const masking: FilterGroup = {
  title: "Masking",
  introduction:
    "Characters are counted as a reader sees them. Null stays null. A text that `reveal` and `card_mask` would show as " +
    "a whole is masked as a whole; `reveal_last` shows a text that is no longer than asked for.",
  entries: [
    entry("reveal_last", "text", "`length`, `mask_char` (`X`)", "the last characters; hyphens are kept", [
      "{{ data | reveal_last: 4 }}",
      "4242-4242-4242-4242",
    ]),
    entry(
      "reveal",
      "text",
      "`reveal_first` (0), `reveal_last` (0), `mask_char` (`X`), `preserve_chars` (none)",
      "the first and last characters",
      ["{{ data | reveal: 7, 4, '#', '-' }}", "3622-7206-2716-5567"],
    ),
    entry(
      "card_mask",
      "card number",
      "`reveal_bin` (false), `reveal_last4` (false), `mask_char` (`X`), `preserve_char` (none)",
      "the issuer's digits and the last four, as asked for",
      ["{{ data.number | card_mask: true, true }}", card],
    ),
    entry("last4", "text", "", "its last four characters", ["{{ data.number | last4 }}", card]),
  ],
};

const cards: FilterGroup = {
  title: "Cards",
  introduction:
    "The issuer's digits (BIN) are the first eight, or the first six of a number with fewer than 16 digits.",
  entries: [
    entry("card_bin", "card number", "`separator_char` (none)", "the issuer's digits", [
      "{{ data.number | card_bin }}",
      card,
    ]),
    entry(
      "card_exp",
      "card data",
      "`date_expression`: `MM`, `YY`, `YYYY` and `-`, `/`, `_`, `.` or blanks",
      "the expiry",
      ["{{ data | card_exp: 'MM/YY' }}", expiry],
    ),
  ],
};

const aliasing: FilterGroup = {
  title: "Aliases",
  introduction:
    "For the `id` of a token. Characters come from a cryptographic source, so the result is another one each time, and " +
    "never the input itself.",
  entries: [
    random(
      "alias_card",
      "`reveal_bin` (false), `reveal_last4` (false)",
      "random digits; blanks and hyphens are kept",
      ["{{ data | alias_card: false, true }}", "4242-4242-4242-4242"],
      /^\d{4}-\d{4}-\d{4}-4242$/,
      "7163-0958-2204-4242",
    ),
    random(
      "alias_preserve_format",
      "`reveal_first_length` (0), `reveal_last_length` (0)",
      "random letters for letters and digits for digits",
      ["{{ data | alias_preserve_format: 0, 2 }}", "AB-1234"],
      /^[a-z]{2}-\d{2}34$/,
      "qk-9034",
    ),
    random(
      "alias_preserve_length",
      "`reveal_first_length` (0), `reveal_last_length` (0)",
      "random letters and digits for all characters",
      ["{{ data | alias_preserve_length: 0, 4 }}", "123-45-6789"],
      /^[a-z0-9]{7}6789$/,
      "x0f3k9q6789",
    ),
  ],
};

const converting: FilterGroup = {
  title: "Types and encodings",
  introduction:
    "Null stays null, but for `to_base64`, `to_base16`, `hex` and `hmac`, which refuse it: a missing value must not pass " +
    "for an encoded one.",
  entries: [
    entry("to_string", "text, number or boolean", "", "a text", ["{{ data.expiration_month | to_string }}", expiry]),
    entry("to_number", "number, or text of one", "", "a number; at most 15 digits", ["{{ data | to_number }}", "07"]),
    entry("to_boolean", "`true`, `false`, 1, 0, or text of one", "", "a boolean", ["{{ data | to_boolean }}", "TRUE"]),
    entry("stringify", "anything", "", "compact JSON; a text stays as it is", [
      "{{ data | stringify }}",
      [1, { a: "b" }],
    ]),
    entry("json_stringify", "anything", "", "the same as `stringify`", [
      "{{ data | json_stringify }}",
      [1, { a: "b" }],
    ]),
    entry("hmac", "text", "`algorithm` (`sha-256`; or `sha-1`, `sha-512`), `key`", "bytes, to be encoded next", [
      "{{ data | hmac: 'sha-256', 'key' | to_base16 }}",
      "4242",
    ]),
    entry("to_base16", "text or bytes", "", "hexadecimal digits in upper case", ["{{ data | to_base16 }}", "é"]),
    entry("hex", "text or bytes", "", "the same as `to_base16`", ["{{ data | hex }}", "é"]),
    entry("to_base64", "text or bytes", "", "Base64", ["{{ data | to_base64 }}", "é"]),
    entry("base64_encode", "text", "", "Base64 of its UTF-8", ["{{ data | base64_encode }}", "é"]),
    entry("base64_decode", "Base64", "", "the text", ["{{ data | base64_decode }}", "w6k="]),
    entry("url_encode", "text", "", "the text as a form has it", ["{{ data | url_encode }}", "a b&c"]),
    entry("url_decode", "text", "", "the text again", ["{{ data | url_decode }}", "a+b%26c"]),
    entry("date", "time", "`format`, as `strftime` has it; UTC", "the time in that format", [
      "{{ data | date: '%Y-%m-%d' }}",
      "2030-08-26T19:23:57Z",
    ]),
  ],
};

const texts: FilterGroup = {
  title: "Texts",
  introduction:
    "`pad_left` and `pad_right` also take numbers, and leave null as it is. The others take null for an empty text.",
  entries: [
    entry("pad_left", "text or number", "`length`, `pad_char`", "the text, lengthened at its beginning", [
      "{{ data.expiration_month | pad_left: 2, '0' }}",
      expiry,
    ]),
    entry("pad_right", "text or number", "`length`, `pad_char`", "the text, lengthened at its end", [
      "{{ data | pad_right: 5, '.' }}",
      "abc",
    ]),
    entry("append", "text", "`text`", "both, one behind the other", ["{{ data | append: '!' }}", "abc"]),
    entry("prepend", "text", "`text`", "both, the other way round", ["{{ data | prepend: '!' }}", "abc"]),
    entry("upcase", "text", "", "capital letters", ["{{ data | upcase }}", "abc"]),
    entry("downcase", "text", "", "small letters", ["{{ data | downcase }}", "ABC"]),
    entry("capitalize", "text", "", "a capital letter, then small ones", ["{{ data | capitalize }}", "aBC"]),
    entry("slice", "text or list", "`start` (below 0: from the end), `length` (1)", "a part of it", [
      "{{ data | slice: -4, 2 }}",
      "abcdef",
    ]),
    entry("remove", "text", "`text`", "the text without it", ["{{ data | remove: '-' }}", "123-45-6789"]),
    entry("remove_first", "text", "`text`", "the text without its first occurrence", [
      "{{ data | remove_first: '-' }}",
      "123-45-6789",
    ]),
    entry("remove_last", "text", "`text`", "the text without its last occurrence", [
      "{{ data | remove_last: '-' }}",
      "123-45-6789",
    ]),
    entry("replace", "text", "`text`, `by`", "all occurrences replaced", [
      "{{ data | replace: '-', '' }}",
      "123-45-6789",
    ]),
    entry("replace_first", "text", "`text`, `by`", "the first occurrence replaced", [
      "{{ data | replace_first: '-', ' ' }}",
      "123-45-6789",
    ]),
    entry("replace_last", "text", "`text`, `by`", "the last occurrence replaced", [
      "{{ data | replace_last: '-', ' ' }}",
      "123-45-6789",
    ]),
    entry("split", "text", "`separator`", "a list of its parts", ["{{ data | split: '-' }}", "123-45-6789"]),
    entry("strip", "text", "", "the text without blanks at its ends", ["{{ data | strip }}", "  abc "]),
    entry("lstrip", "text", "", "without those at its beginning", ["{{ data | lstrip }}", "  abc "]),
    entry("rstrip", "text", "", "without those at its end", ["{{ data | rstrip }}", "  abc "]),
    entry("strip_newlines", "text", "", "the text on one line", ["{{ data | strip_newlines }}", "a\nb"]),
    entry("newline_to_br", "text", "", "`<br />` before each line end", ["{{ data | newline_to_br }}", "a\nb"]),
    entry("strip_html", "text", "", "the text without tags", ["{{ data | strip_html }}", "<b>a</b>"]),
    entry("escape", "text", "", "the text as HTML has it", ["{{ data | escape }}", "a < b & c"]),
    entry("escape_once", "text", "", "the same, where it is not escaped yet", [
      "{{ data | escape_once }}",
      "a &lt; b & c",
    ]),
    entry("truncate", "text", "`length` (50), `ending` (`...`)", "the text, cut", [
      "{{ data | truncate: 6 }}",
      "abcdefgh",
    ]),
    entry("truncatewords", "text", "`words` (15), `ending` (`...`)", "the text, cut behind a word", [
      "{{ data | truncatewords: 2 }}",
      "one two three",
    ]),
  ],
};

const numbers: FilterGroup = {
  title: "Numbers",
  introduction: "They take numbers, and texts of numbers.",
  entries: [
    entry("plus", "number", "`number`", "the sum", ["{{ data | plus: 2 }}", 40]),
    entry("minus", "number", "`number`", "the difference", ["{{ data | minus: 2 }}", 44]),
    entry("times", "number", "`number`", "the product", ["{{ data | times: 2 }}", 21]),
    entry("divided_by", "number", "`number`, `integer` (false)", "the quotient; whole where `integer` is true", [
      "{{ data | divided_by: 4 }}",
      10,
    ]),
    entry("modulo", "number", "`number`", "the remainder", ["{{ data | modulo: 4 }}", 10]),
    entry("abs", "number", "", "the number without its sign", ["{{ data | abs }}", -42]),
    entry("ceil", "number", "", "the next whole number above", ["{{ data | ceil }}", 4.2]),
    entry("floor", "number", "", "the next whole number below", ["{{ data | floor }}", 4.8]),
    entry("round", "number", "`digits` (0)", "rounded", ["{{ data | round: 1 }}", 4.25]),
    entry("at_least", "number", "`number`", "the larger of both", ["{{ data | at_least: 5 }}", 3]),
    entry("at_most", "number", "`number`", "the smaller of both", ["{{ data | at_most: 5 }}", 7]),
  ],
};

const lists: FilterGroup = {
  title: "Lists",
  introduction: "They give new lists; the data stays as it is.",
  entries: [
    entry("join", "list", "`separator` (a blank)", "a text of all items", ["{{ data | join: ', ' }}", words]),
    entry("concat", "list", "`list`", "both, one behind the other", ["{{ data | concat: data }}", [1, 2]]),
    entry("reverse", "list", "", "the items from the end", ["{{ data | reverse }}", words]),
    entry("sort", "list", "`property` (none)", "the items in order, capital letters first", [
      "{{ data | sort }}",
      words,
    ]),
    entry("sort_natural", "list", "`property` (none)", "the items in order, whatever their case", [
      "{{ data | sort_natural }}",
      words,
    ]),
    entry("uniq", "list", "`property` (none)", "each item once", ["{{ data | uniq }}", [1, 2, 1]]),
    entry("compact", "list", "`property` (none)", "the items that are not null", [
      "{{ data | compact }}",
      [1, null, 2],
    ]),
    entry("sum", "list of numbers", "`property` (none)", "the sum", ["{{ data | sum }}", [1, 2, 3]]),
  ],
};

/** Every filter. A test compares them with those of the engine. */
export const FILTER_GROUPS: readonly FilterGroup[] = [
  finding,
  masking,
  cards,
  aliasing,
  converting,
  texts,
  numbers,
  lists,
];
