import type { Connection, ConnectionFormula } from "#client/proto/cloakroom/v1/connections_pb.js";

export interface ConnectionDraft {
  readonly displayName: string;
  /** Values by the keys of the formula's fields. */
  readonly fields: Readonly<Record<string, string>>;
  /** Codes, separated by blanks. */
  readonly acceptedCountries: string;
  readonly acceptedCurrencies: string;
  readonly isActive: boolean;
}

/** A new connection takes what its service supports, until its person narrows it. */
export function newConnectionDraft(formula: ConnectionFormula): ConnectionDraft {
  const { displayName, supportedCountries, supportedCurrencies } = formula;
  return {
    displayName,
    fields: {},
    acceptedCountries: supportedCountries.join(" "),
    acceptedCurrencies: supportedCurrencies.join(" "),
    isActive: true,
  };
}

/** The vault shows no fields of a connection, so a draft of a stored one has none. */
export function openConnectionDraft(connection: Connection): ConnectionDraft {
  const { displayName, acceptedCountries, acceptedCurrencies, active } = connection;
  return {
    displayName,
    fields: {},
    acceptedCountries: acceptedCountries.join(" "),
    acceptedCurrencies: acceptedCurrencies.join(" "),
    isActive: active,
  };
}

/** The draft as requests have it. A field that is left empty is left out: a secret keeps its value, another one is removed. */
export function connectionRequest(formula: ConnectionFormula, draft: ConnectionDraft) {
  const { displayName, fields, acceptedCountries, acceptedCurrencies, isActive } = draft;
  return {
    connectionFormulaId: formula.id,
    method: formula.method,
    displayName: displayName.trim(),
    fields: filledKeys(formula, fields).map((key) => ({ key, value: fields[key] ?? "" })),
    acceptedCountries: parseList(acceptedCountries),
    acceptedCurrencies: parseList(acceptedCurrencies),
    active: isActive,
  };
}

/** The keys of the fields that are not empty, in the order of the request: errors name a field by its place there. */
export function filledKeys(formula: ConnectionFormula, fields: ConnectionDraft["fields"]): readonly string[] {
  return formula.fields.map(({ key }) => key).filter((key) => (fields[key] ?? "") !== "");
}

function parseList(text: string): string[] {
  return text.split(/[\s,]+/).filter((code) => code !== "");
}

/** A few codes, and how many more there are. */
export function joinCodes(codes: readonly string[]): string {
  const shown = codes.slice(0, MAX_SHOWN).join(", ");
  return codes.length > MAX_SHOWN ? `${shown} and ${codes.length - MAX_SHOWN} more` : shown;
}

const MAX_SHOWN = 4;
