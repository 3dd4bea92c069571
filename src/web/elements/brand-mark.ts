const SVG = "http://www.w3.org/2000/svg";

/** The word on the card that is drawn. The brands' logos belong to them. */
const WORDS: Readonly<Record<string, string>> = {
  visa: "VISA",
  "american-express": "AMEX",
  discover: "DISC",
  "diners-club": "DINERS",
  jcb: "JCB",
  unionpay: "UP",
  elo: "elo",
  mir: "MIR",
  hiper: "hiper",
  hipercard: "HIPER",
  troy: "troy",
  verve: "verve",
  naranja: "NX",
};

/** Two circles, of which the second is drawn half. */
const CIRCLES = ["mastercard", "maestro"];

export interface BrandMark {
  readonly svg: SVGSVGElement;
  show(brand: string | undefined): void;
}

/**
 * A small card with the brand's name, in one colour. Screen readers pass it by: a person who types knows the brand. All
 * brands are drawn at once and shown by a class: a node that is added while a person types splits what one undo takes back.
 */
export function createBrandMark(): BrandMark {
  const svg = draw("svg", { class: "brand", viewBox: "0 0 36 24", "aria-hidden": "true" });
  const unknown = draw("rect", { class: "full", x: "1", y: "6", width: "34", height: "4" });
  const words = Object.entries(WORDS).map(([brand, word]) => [brand, drawWord(word)] as const);
  const marks = new Map<string, SVGElement>([...words, ...CIRCLES.map((brand) => [brand, drawCircles()] as const)]);
  svg.append(
    draw("rect", { class: "outline", x: "1", y: "1", width: "34", height: "22", rx: "4" }),
    unknown,
    ...marks.values(),
  );
  return {
    svg,
    show(brand = "") {
      const shown = marks.get(brand) ?? unknown;
      for (const mark of [unknown, ...marks.values()]) mark.classList.toggle("is-shown", mark === shown);
    },
  };
}

function drawWord(word: string): SVGTextElement {
  const text = draw("text", { class: word.length > 4 ? "long" : "short", x: "18", y: "15.5" });
  text.textContent = word;
  return text;
}

function drawCircles(): SVGGElement {
  const group = draw("g", {});
  group.append(
    draw("circle", { class: "full", cx: "14.5", cy: "12", r: "5.5" }),
    draw("circle", { class: "half", cx: "21.5", cy: "12", r: "5.5" }),
  );
  return group;
}

function draw<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>>,
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  return element;
}
