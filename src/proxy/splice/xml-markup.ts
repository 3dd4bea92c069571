type Context = keyof typeof NEXT;

/**
 * What ends each context, or begins another (XML 1.0, 2.4 to 2.8). A document type with declarations inside is read as
 * content after its opening bracket: declarations in it are found there.
 */
const NEXT = {
  content: /<!--|<\?|<!\[CDATA\[|<!(?=[A-Za-z])/g,
  comment: /-->/g,
  instruction: /\?>/g,
  section: /\]\]>/g,
  declaration: /["'>[]/g,
  doubleQuoted: /"/g,
  singleQuoted: /'/g,
} as const;

const ENTERED: Readonly<Record<string, Context>> = {
  "<!--": "comment",
  "<?": "instruction",
  "<![CDATA[": "section",
  "<!": "declaration",
  '"': "doubleQuoted",
  "'": "singleQuoted",
};

/**
 * Finds the CDATA sections of XML. Their beginning within a comment, an instruction or a quoted value of a declaration
 * starts no section, and a value after it must be escaped.
 */
export class XmlMarkup {
  readonly #text: string;
  #context: Context = "content";
  /** Markup before it is read. */
  #from = 0;
  /** The next change of context: searched once, because 2,000 searches over 5 MB take seconds. */
  #next: { readonly at: number; readonly mark: string } | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#find();
  }

  /** Whether an expression lies in a CDATA section. Call it from left to right: markup in expressions is skipped. */
  isSectionAround(start: number, end: number): boolean {
    while (this.#next && this.#next.at < start) {
      const { at, mark } = this.#next;
      this.#from = at + mark.length;
      this.#context = contextAfter(this.#context, mark);
      this.#find();
    }
    if (this.#next && this.#next.at < end) {
      this.#from = end;
      this.#find();
    }
    return this.#context === "section";
  }

  #find(): void {
    const pattern = NEXT[this.#context];
    pattern.lastIndex = this.#from;
    const found = pattern.exec(this.#text);
    this.#next = found ? { at: found.index, mark: found[0] } : undefined;
  }
}

function contextAfter(context: Context, mark: string): Context {
  if (context === "doubleQuoted" || context === "singleQuoted") return "declaration";
  if (context === "content" || context === "declaration") return ENTERED[mark] ?? "content";
  return "content";
}
