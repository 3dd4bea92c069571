import { create, fromJson, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import { FieldMaskSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import type {
  CreateTokenRequestSchema,
  Token,
  UpdateTokenRequestSchema,
} from "#client/proto/cloakroom/v1/tokens_pb.js";
import { localMinute } from "../../local-minute.js";
import { readConfiguration } from "../code/configuration-lines.js";

/** The parts of a value that people enter, by the name of the part in the API's data. */
export interface ValuePart {
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  /** Whether the API takes it as a number. */
  readonly isNumber?: boolean;
  readonly isOptional?: boolean;
}

/** Types of tokens with the parts of their values. A type without parts is one text, or any JSON for `token`. */
export const TOKEN_TYPES = [
  ["card", "Card"],
  ["token", "Text or JSON"],
  ["bank", "Bank account, US"],
  ["card_number", "Card number alone"],
  ["us_bank_account_number", "US bank account number"],
  ["us_bank_routing_number", "US bank routing number"],
  ["social_security_number", "Social security number"],
  ["employer_id_number", "Employer id number"],
] as const;

export type TokenTypeName = (typeof TOKEN_TYPES)[number][0];

const CARD_PARTS: readonly ValuePart[] = [
  { name: "number", label: "Card number", help: "For a try: 4242 4242 4242 4242" },
  { name: "expiration_month", label: "Expiry month", help: "1 to 12", isNumber: true, isOptional: true },
  { name: "expiration_year", label: "Expiry year", help: "Four digits", isNumber: true, isOptional: true },
  {
    name: "cvc",
    label: "Verification code",
    help: "The vault deletes it after an hour",
    isOptional: true,
  },
];
const BANK_PARTS: readonly ValuePart[] = [
  { name: "routing_number", label: "Routing number" },
  { name: "account_number", label: "Account number" },
];

/** Empty for a type whose value is one text. */
export function valueParts(type: TokenTypeName): readonly ValuePart[] {
  if (type === "card") return CARD_PARTS;
  return type === "bank" ? BANK_PARTS : [];
}

/** What people may change of a token, as texts of a form. */
export interface TokenProperties {
  /** Separated by blanks. */
  readonly containers: string;
  /** Lines of `name=value`. */
  readonly metadata: string;
  /** As the browser's time field writes it, in the person's zone. */
  readonly expiresAt: string;
}

export interface TokenDraft extends TokenProperties {
  readonly type: TokenTypeName;
  /** The value of a type without parts. */
  readonly text: string;
  readonly parts: Readonly<Record<string, string>>;
}

export function emptyToken(): TokenDraft {
  return { type: "card", text: "", parts: {}, containers: "", metadata: "", expiresAt: "" };
}

export function tokenCreation(draft: TokenDraft): MessageInitShape<typeof CreateTokenRequestSchema> {
  const containers = splitPaths(draft.containers);
  return {
    type: draft.type,
    data: fromJson(ValueSchema, enteredValue(draft)),
    metadata: readConfiguration(draft.metadata),
    ...(containers.length > 0 ? { containers } : {}),
    ...(draft.expiresAt === "" ? {} : { expiresAt: utcInstant(draft.expiresAt) }),
  };
}

function enteredValue({ type, text, parts }: TokenDraft): JsonValue {
  const wanted = valueParts(type);
  if (wanted.length === 0) return type === "token" ? jsonOrText(text) : text.trim();
  const entered = wanted.flatMap(({ name, isNumber }): [string, JsonValue][] => {
    const typed = parts[name]?.trim() ?? "";
    // Numbers of cards and accounts are printed in groups.
    const value = /^\d[\d -]*\d$/.test(typed) ? typed.replaceAll(/[ -]/g, "") : typed;
    if (value === "") return [];
    // A text that is no number goes to the server as it is, which says what is wrong with it.
    return [[name, isNumber && /^\d{1,4}$/.test(value) ? Number(value) : value]];
  });
  return Object.fromEntries(entered);
}

/** Objects, lists and quoted texts are JSON; any other text, also of digits, is the value itself. */
function jsonOrText(text: string): JsonValue {
  if (!/^\s*[[{"]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function tokenProperties({ containers, metadata, expiresAt }: Token): TokenProperties {
  return {
    containers: containers.join(" "),
    metadata: Object.entries(metadata)
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
    expiresAt: expiresAt === undefined ? "" : localMinute(new Date(expiresAt)),
  };
}

/** Whether lines of a form can have the metadata: a name with `=`, or a value of several lines, would be read otherwise. */
export function hasPlainMetadata(token: Token): boolean {
  const read = Object.entries(readConfiguration(tokenProperties(token).metadata));
  return (
    read.length === Object.keys(token.metadata).length && read.every(([name, value]) => token.metadata[name] === value)
  );
}

/** Only what differs from the stored token: two people who change different things both succeed. */
export function tokenUpdate(token: Token, draft: TokenProperties): MessageInitShape<typeof UpdateTokenRequestSchema> {
  const before = tokenProperties(token);
  const isNew = (name: keyof TokenProperties) => before[name] !== draft[name];
  const metadata = readConfiguration(draft.metadata);
  const removed = Object.keys(token.metadata).filter((name) => !Object.hasOwn(metadata, name));
  const patch = { ...metadata, ...Object.fromEntries(removed.map((name) => [name, null])) };
  const paths = (["metadata", "containers", "expiresAt"] as const).filter(isNew);
  return {
    id: token.id,
    ...(isNew("metadata") ? { metadata: fromJson(ValueSchema, patch) } : {}),
    ...(isNew("containers") ? { containers: splitPaths(draft.containers) } : {}),
    ...(isNew("expiresAt") && draft.expiresAt !== "" ? { expiresAt: utcInstant(draft.expiresAt) } : {}),
    updateMask: create(FieldMaskSchema, { paths: paths.map((name) => (name === "expiresAt" ? "expires_at" : name)) }),
  };
}

function splitPaths(text: string): string[] {
  return text.split(/[\s,]+/).filter((path) => path !== "");
}

function utcInstant(localTime: string): string {
  const time = new Date(localTime);
  return Number.isNaN(time.getTime()) ? localTime : time.toISOString();
}
