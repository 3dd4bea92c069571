// Finds words and constructions that make the project hard to read: `node scripts/check-prose.ts [--all] [folder]`. `--all`
// lists every place, not only the first of each rule.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Rule {
  readonly name: string;
  readonly pattern: RegExp;
  /** What to write in its place. */
  readonly advice: string;
}

const RULES: readonly Rule[] = [
  {
    name: "whoever",
    pattern: /\b(?:whoever|whomever|whosoever)\b/gi,
    advice: "name the actor: the caller, an operator, anyone who",
  },
  { name: "anew", pattern: /\banew\b/gi, advice: "again" },
  { name: "nobody", pattern: /(?<!")\bnobody\b(?!")/gi, advice: "name the actor: no other caller, no process" },
  { name: "stands", pattern: /\bstands\b(?! for\b)/gi, advice: "is, appears, follows" },
  {
    name: "is told",
    pattern: /\b(?:is|are|was|were|be|been|being) told\b|\b(?:told|tells|tell) of\b/gi,
    advice: "receives, gets, reports, learns",
  },
  { name: "is none", pattern: /(?<!\bthere )\b(?:is|are|was|were) none\b/gi, advice: "is not a ..., has no ..." },
  { name: "so that", pattern: /\bso that\b/gi, advice: "start a new sentence, or say: so, to, because" },
  { name: "inverted else", pattern: /\b(?:would|could|may|might|must) else\b/gi, advice: "Otherwise ..." },
  { name: "for want of", pattern: /\bfor want of\b/gi, advice: "without, because ... is missing" },
  {
    name: "archaic",
    pattern: /\b(?:hereby|herein|thereby|therein|thereof|whereof|wherein|whereby)\b/gi,
    advice: "in it, of it, by which",
  },
  {
    name: "relative clause without a noun",
    pattern: /(?<=^|[.!?;:|*-]\s+|\/\/\s+|["'`])(?:Whose|Whom|Who|One (?:whose|who|that|which))\b(?![^.!?]*\?)/gm,
    advice: "begin with the noun: a caller who, a row whose",
  },
  {
    name: "made-up name",
    pattern:
      /(?<!\bin[- ])\b(?:flights?|passengers?|aboard|boarding|turnstiles?|strangers?|crowd gates?|body rooms?)\b/gi,
    advice: "the field's word: shared transaction, request, semaphore, unverified key, load shedder, memory budget",
  },
  {
    name: "answer as a noun",
    // Before a singular, one adjective. A word that ends in s is the subject of a verb: the nodes answer.
    pattern:
      /(?:\b(?:an?|the|its|their|whose|your|our|no|every|each|one|any|first|last|earlier|lost|own|stored)|'s) (?:(?:\w*[^\Ws] )?answer|answers)\b|\b(?:of|in|for) answers\b/gi,
    advice: "response of a server, result of a command or a query",
  },
  {
    name: "document outside of the repository",
    pattern:
      /\b(?:api-facts|orchestration\.md|contract\.md|(?:sandbox|storage|transport) study)\b|\bthe specification\b(?! of\b)|\((?:contract|specification), /gi,
    advice: "the fact itself, a page of docs/, or the name of a public standard",
  },
  {
    name: "title that begins in the middle of a sentence",
    pattern: /(?:\b(?:it|test|describe)(?:\.\w+)?|[)\]`]\))\(\s*["'`](?:and|by|of|such|that|whose)\b/g,
    advice: "a sentence with a verb: rejects a body above 5 MB, ends a run after 30 s",
  },
];

/** A line of a document. Tables, code and addresses cannot be broken, and generated pages are not written by hand. */
const LONG_LINE: Rule = {
  name: "long line",
  pattern: /^(?!\s*[|<]|\[[^\]]+\]: ).{141,}$/gm,
  advice: "lines of 140 characters",
};
const GENERATED = ["docs/expressions.md", "docs/errors.md", "docs/configuration.md", "docs/command-line.md"];
const CODE_BLOCK = /^ *```[\s\S]*?^ *```/gm;

/** The files that contain prose. */
const AREAS: Readonly<Record<string, readonly string[]>> = {
  documents: ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/**/*.md"],
  src: ["src/**/*.{ts,sql}"],
  test: ["test/**/*.{ts,mjs}"],
  scripts: ["scripts/**/*.{ts,js}"],
  proto: ["proto/cloakroom/**/*.proto"],
  examples: ["examples/**/README.md"],
  // Generated code repeats the comments of the protos.
  clients: ["clients/*/README.md", "clients/*/src/*.ts", "clients/*/src/{node,testing}/**/*.ts"],
};

/** These files contain the words as data. */
const EXCLUDED = ["scripts/check-prose.ts", "test/scripts/check-prose.test.ts"];

/** Places listed for one rule in one area without `--all`. */
const PLACES = 5;

interface Hit {
  readonly rule: Rule;
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

const isListingAll = process.argv.includes("--all");
const root = process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? ".";

/** A file as running text: comment markers and line breaks become spaces, so offsets stay the same. */
function proseOf(text: string): string {
  return text
    .replace(/^(import|export) .* from "[^"]*";$/gm, (line) => " ".repeat(line.length))
    .replace(/\n[ \t]*(?:\*(?!\/)|\/\/|--)?/g, (gap) => " ".repeat(gap.length));
}

function hitsIn(file: string): Hit[] {
  const text = readFileSync(join(root, file), "utf8");
  const prose = proseOf(text);
  return RULES.flatMap((rule) =>
    [...prose.matchAll(spacedOut(rule.pattern))].map((match) => {
      const line = text.slice(0, match.index).split("\n").length;
      return { rule, file, line, text: match[0].replace(/\s+/g, " ") };
    }),
  );
}

function longLinesIn(file: string): Hit[] {
  if (!file.endsWith(".md") || GENERATED.includes(file)) return [];
  const text = readFileSync(join(root, file), "utf8").replace(CODE_BLOCK, (code) => code.replace(/.+/g, ""));
  return [...text.matchAll(LONG_LINE.pattern)].map((match) => {
    const line = text.slice(0, match.index).split("\n").length;
    return { rule: LONG_LINE, file, line, text: `${match[0].slice(0, 40)}...` };
  });
}

/** Lets every space in a pattern match the spaces in place of a line break too. */
function spacedOut({ source, flags }: RegExp): RegExp {
  return new RegExp(source.replaceAll(" ", "\\s+"), flags);
}

function listPlaces(hits: readonly Hit[]): void {
  const listed = isListingAll ? hits : hits.slice(0, PLACES);
  for (const { rule, file, line, text } of listed) console.error(`${file}:${line}: "${text}". Write: ${rule.advice}`);
  if (hits.length > listed.length) console.error(`... and ${hits.length - listed.length} more; --all lists them.`);
}

let found = 0;
for (const [area, patterns] of Object.entries(AREAS)) {
  const files = globSync([...patterns], { cwd: root, exclude: EXCLUDED }).sort();
  const hits = files.flatMap((file) => [...hitsIn(file), ...longLinesIn(file)]);
  found += hits.length;
  for (const rule of [...RULES, LONG_LINE]) {
    const ofRule = hits.filter((hit) => hit.rule === rule);
    if (ofRule.length === 0) continue;
    listPlaces(ofRule);
    console.error(`${area}: "${rule.name}" occurs ${ofRule.length} times.\n`);
  }
}
console.log(`prose: ${found} places.`);
if (found > 0) process.exitCode = 1;
