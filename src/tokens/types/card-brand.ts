/** The brands in responses. The last three are known only from a BIN table. */
export const cardBrands = [
  "american-express",
  "diners-club",
  "discover",
  "elo",
  "hipercard",
  "jcb",
  "mastercard",
  "mir",
  "unionpay",
  "visa",
  "ebt",
  "private-label",
  "proprietary",
] as const;

export type CardBrand = (typeof cardBrands)[number];

/**
 * First digits, single or as a range, by brand: facts from the networks' published ranges as gathered in Braintree's
 * credit-card-type 10.3 (MIT). Leaves out brands that responses cannot name (Maestro, Verve, Troy, ...). All of 62 and 81
 * is UnionPay's (ISO/IEC 7812 register), including the numbers shared with Discover.
 */
const ranges: Readonly<Partial<Record<CardBrand, string>>> = {
  "american-express": "34 37",
  "diners-club": "300-305 3095 36 38 39",
  discover: "6011 644-649 65",
  elo:
    "401178 401179 438935 457631 457632 431274 451416 457393 504175 506699-506778 509000-509999 627780 636297 636368 " +
    "650031-650033 650035-650051 650405-650439 650485-650538 650541-650598 650700-650718 650720-650727 650901-650978 " +
    "651652-651679 655000-655019 655021-655058",
  hipercard: "606282",
  jcb: "1800 2131 3528-3589",
  mastercard: "51-55 2221-2720",
  mir: "2200-2204",
  unionpay: "62 81",
  visa: "4",
};

interface BrandRange {
  readonly brand: CardBrand;
  readonly first: string;
  readonly last: string;
}

/** Longest first: elo's six digits are inside ranges of visa and discover. */
const longestFirst: readonly BrandRange[] = cardBrands
  .flatMap((brand) =>
    (ranges[brand]?.split(" ") ?? []).map((range) => {
      const [first = "", last = first] = range.split("-");
      return { brand, first, last };
    }),
  )
  .sort((one, other) => other.first.length - one.first.length);

export function cardBrand(number: string): CardBrand | undefined {
  let prefix = number;
  for (const { brand, first, last } of longestFirst) {
    // One slice for all ranges of a length.
    if (prefix.length > first.length) prefix = number.slice(0, first.length);
    if (prefix >= first && prefix <= last) return brand;
  }
  return undefined;
}
