import { type Node, parseSync, Visitor } from "oxc-parser";

export interface SourceText {
  readonly path: string;
  readonly text: string;
}

/** Folders whose sub-folders each do the same for one payment service. */
const ONE_FOR_EACH_SERVICE = /^src\/payments\/(?:connectors\/[^/]+|simulator)\//;
/** Browsers load these files. They repeat rules of the server that lie below src/web/. */
const IN_BROWSERS = /^src\/web\/elements\//;
const THIN_NAME =
  /^(?:MOST|FEWEST|LEAST)(?:_|$)|^(?:place|text|hash|error|codes|bytes|parts|response|source|steps|made)Of$/;
/** A place is where something is in a text or a document. Columns, keys and rights of a row have names of their own. */
const PLACE = "place";
/** Folders in which no name but `LogPosition` and its values has the word. */
const WITHOUT_PLACES = /^src\/(?:audit\/(?:chain|delivery|export|verify)|web\/console)\//;
const PLACE_AS_WORD = /(?:^|[^A-Za-z])places?(?![a-z])|[a-z]Places?(?![a-z])|^Places?(?![a-z])/;
/** Folders in which private functions are called by what they return. */
const WITH_NOUNS = /^src\/(?:audit\/(?!archive)|store\/audit|web\/console)/;
/** A word of JSON Schema: one of several values. */
const KNOWN_OF = "oneOf";
/** Parameters of a function. More are an object of the domain that has no name yet. */
const MAX_PARAMETERS = 4;
/** Tenants' code calls these functions as it calls Node's own. */
const AS_IN_NODE = /^src\/sandbox\/guest\//;

/** A line for each name that says too little, and each packed field. */
export function thinNames(files: readonly SourceText[]): readonly string[] {
  const exported = new Map<string, string[]>();
  const problems: string[] = [];
  for (const { path, text } of files) {
    const { program } = parseSync(path, text);
    const at = (node: Node) => `${path}:${text.slice(0, node.start).split("\n").length}`;
    const look = (node: Node | null) => {
      if (node?.type === "Identifier" && THIN_NAME.test(node.name)) {
        problems.push(`${at(node)} declares ${node.name}: say of what`);
      }
    };
    const count = (node: Node, parameters: number) => {
      if (parameters <= MAX_PARAMETERS || AS_IN_NODE.test(path)) return;
      problems.push(`${at(node)} has a function of ${parameters} parameters; ${MAX_PARAMETERS} are allowed`);
    };
    const names = (node: Node, name: string) => {
      if (WITHOUT_PLACES.test(path) && PLACE_AS_WORD.test(name)) {
        problems.push(`${at(node)} calls ${name} a place: it is no place in a text or a document`);
      }
    };
    const unpacked = (field: Node) => {
      if (field.type !== "SpreadElement" && field.type !== "JSXSpreadAttribute") return;
      if (field.argument.type === "ObjectExpression") {
        problems.push(`${at(field)} packs fields into "...{ }": write each by itself`);
      }
    };
    new Visitor({
      Identifier: (node) => names(node, node.name),
      PrivateIdentifier: (node) => names(node, node.name),
      FunctionExpression: (node) => count(node, node.params.length),
      ArrowFunctionExpression: (node) => count(node, node.params.length),
      TSFunctionType: (node) => count(node, node.params.length),
      TSMethodSignature: (node) => count(node, node.params.length),
      ObjectExpression: ({ properties }) => properties.forEach(unpacked),
      JSXOpeningElement: ({ attributes }) => attributes.forEach(unpacked),
      VariableDeclarator: ({ id, init }) => {
        look(id);
        if (id.type === "Identifier" && id.name === PLACE && init?.type === "ObjectExpression") {
          problems.push(`${at(id)} calls an object a place: name what it holds`);
        }
      },
      FunctionDeclaration(node) {
        look(node.id);
        count(node, node.params.length);
      },
    }).visit(program);
    for (const node of program.body) {
      if (node.type === "FunctionDeclaration" && WITH_NOUNS.test(path) && node.id?.name.endsWith("Of")) {
        problems.push(`${at(node)} declares ${node.id.name}: name what it returns`);
      }
      if (node.type !== "ExportNamedDeclaration" || node.declaration?.type !== "FunctionDeclaration") continue;
      const name = node.declaration.id?.name;
      if (name?.endsWith("Of") && name !== KNOWN_OF) {
        problems.push(`${at(node)} exports ${name}: name what it returns or does`);
      }
      if (name !== undefined) exported.set(name, [...(exported.get(name) ?? []), path]);
    }
  }
  for (const [name, paths] of exported) {
    const services = paths.filter((path) => ONE_FOR_EACH_SERVICE.test(path));
    const browsers = paths.filter((path) => IN_BROWSERS.test(path));
    const others = paths.length - services.length - browsers.length;
    if (Math.min(services.length, 1) + others > 1) problems.push(`${name} is exported by ${paths.join(", ")}`);
  }
  return problems;
}
