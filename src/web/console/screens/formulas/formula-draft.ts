import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  ReactorFormula,
  ReactorFormulaConfigurationSchema,
  ReactorFormulaParameterSchema,
} from "#client/proto/cloakroom/v1/reactors_pb.js";

export interface FormulaDraft {
  readonly name: string;
  readonly description: string;
  readonly code: string;
  readonly configuration: string;
  readonly requestParameters: string;
}

type Entry = MessageInitShape<typeof ReactorFormulaConfigurationSchema>;
type Parameter = MessageInitShape<typeof ReactorFormulaParameterSchema>;

const FIRST_CODE = `module.exports = async function (req) {
  const { args, configuration } = req;
  return { raw: { received: args } };
};
`;

export function openFormulaDraft(formula: ReactorFormula | undefined): FormulaDraft {
  const { name = "", description = "", code = FIRST_CODE, configuration = [], requestParameters = [] } = formula ?? {};
  return {
    name,
    description,
    code,
    configuration: formatLines(configuration),
    requestParameters: formatLines(requestParameters),
  };
}

/** The draft as requests have it. The icon is one that only the API changes. */
export function formulaRequest(draft: FormulaDraft, icon: string | undefined) {
  const description = draft.description.trim();
  return {
    name: draft.name.trim(),
    type: "private",
    code: draft.code,
    // `NAME?` stays in the name, which the vault then refuses: each entry of a configuration must be set.
    configuration: parseLines(draft.configuration).map(
      ({ isOptional, name, ...entry }): Entry => ({ ...entry, name: isOptional ? `${name}?` : name }),
    ),
    requestParameters: parseLines(draft.requestParameters).map(
      ({ isOptional, ...entry }): Parameter => ({ ...entry, optional: isOptional }),
    ),
    ...(description === "" ? {} : { description }),
    ...(icon === undefined ? {} : { icon }),
  };
}

export interface LineParts {
  readonly name: string;
  readonly type: string;
  readonly description?: string | undefined;
  readonly optional?: boolean;
}

/** Whether lines hold all that a formula's entries say: a save of lines would change others. */
export function fitsLines({ configuration, requestParameters }: ReactorFormula): boolean {
  return [configuration, requestParameters].every((entries: readonly LineParts[]) => {
    const lines = formatLines(entries);
    return lines.split("\n").length === Math.max(1, entries.length) && formatLines(reread(lines)) === lines;
  });
}

const reread = (lines: string): readonly LineParts[] =>
  parseLines(lines).map(({ isOptional, ...entry }) => ({ ...entry, optional: isOptional }));

/** An entry as a line `name type description`; `name?` is optional. */
function formatLines(entries: readonly LineParts[]): string {
  return entries
    .map(({ name, type, description, optional }) => [`${name}${optional ? "?" : ""}`, type, description])
    .map((parts) => parts.filter(Boolean).join(" "))
    .join("\n");
}

const TYPES = ["string", "boolean", "number"];

function parseLines(text: string) {
  const lines = text.split("\n").map((line) => line.trim());
  return lines
    .filter((line) => line !== "")
    .map((line) => {
      const [name = "", second = "string", ...rest] = line.split(/\s+/);
      const hasType = TYPES.includes(second);
      const description = [...(hasType ? [] : [second]), ...rest].join(" ");
      return {
        name: name.replace(/\?$/, ""),
        type: hasType ? second : "string",
        isOptional: name.endsWith("?"),
        ...(description === "" ? {} : { description }),
      };
    });
}
