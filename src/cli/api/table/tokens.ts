import type { Flags } from "../../command.js";
import type { ApiCommand } from "../api-command.js";
import { deleteCommand } from "./entity-commands.js";
import { LISTED, METADATA } from "./flags.js";

const REVEAL: Flags = {
  reveal: { kind: "switch", meaning: "show the data, as far as the key's rules allow" },
  reason: { kind: "text", value: "TEXT", meaning: "why, for the log of the vault; sent as X-Cloakroom-Reason" },
};

const TOKEN_VALUES: Flags = {
  data: { kind: "text", value: "@FILE", meaning: "the data as JSON, from a file, or from standard input with -" },
  text: { kind: "text", value: "@FILE", meaning: "the data as text, from a file, or from standard input with -" },
};

const TOKEN_ATTRIBUTES: Flags = {
  container: { kind: "list", value: "PATH", meaning: "a container, such as /pci/; may be repeated" },
  ...METADATA,
  "search-index": { kind: "list", value: "EXPRESSION", meaning: "an expression to search by; may be repeated" },
  "fingerprint-expression": { kind: "text", value: "EXPRESSION", meaning: "what equal tokens have in common" },
  "expires-at": { kind: "text", value: "TIME", meaning: "when the token ends, in ISO 8601" },
};

export const TOKEN_COMMANDS: readonly ApiCommand[] = [
  {
    name: "tokens list",
    summary: "List tokens, newest first",
    flags: {
      type: { kind: "text", value: "TYPE", meaning: "only this type, such as card" },
      container: { kind: "text", value: "PATH", meaning: "only this container" },
      fingerprint: { kind: "text", value: "TEXT", meaning: "only this fingerprint" },
      ...METADATA,
      ...LISTED,
      ...REVEAL,
    },
    examples: ["--type card --limit 5", "--all --json"],
    load: async () => (await import("../token-commands.js")).listTokens,
  },
  {
    name: "tokens search",
    summary: "Find tokens by a query, see docs/search.md",
    arguments: ["QUERY"],
    flags: { ...LISTED, ...REVEAL },
    examples: ["'type:card AND metadata.order:17'"],
    load: async () => (await import("../token-commands.js")).searchTokens,
  },
  {
    name: "tokens get",
    summary: "Show a token",
    arguments: ["ID"],
    flags: REVEAL,
    examples: ["ID", "ID --reveal --reason 'dispute 17' --query data.number"],
    load: async () => (await import("../token-commands.js")).getToken,
  },
  {
    name: "tokens create",
    summary: "Store a value and show its token",
    flags: {
      type: { kind: "text", value: "TYPE", meaning: "the type, such as card or token" },
      number: { kind: "text", value: "-", meaning: "the card number: - reads it from standard input, or asks for it" },
      "expiration-month": { kind: "whole", value: "MONTH", meaning: "of a card" },
      "expiration-year": { kind: "whole", value: "YEAR", meaning: "of a card" },
      ...TOKEN_VALUES,
      id: { kind: "text", value: "ID", meaning: "the token's id, or an expression over its data" },
      ...TOKEN_ATTRIBUTES,
      deduplicate: { kind: "switch", meaning: "return the token that exists for this value" },
    },
    examples: [
      "--type card --number - --expiration-month 12 --expiration-year 2030",
      "--type token --text @secret.txt --container /general/",
    ],
    load: async () => (await import("../token-commands.js")).createToken,
  },
  {
    name: "tokens import",
    summary: "Store the rows of a CSV or NDJSON file as tokens; run it again to go on after a kill",
    arguments: ["FILE"],
    flags: {
      format: { kind: "text", value: "FORMAT", meaning: "csv or ndjson; default: by the name of the file" },
      layout: {
        kind: "text",
        value: "NAME",
        meaning: "the vault that wrote the file: stripe, spreedly, braintree, basis-theory or vgs",
      },
      mapping: { kind: "text", value: "FILE", meaning: "JSON that says which column is which field" },
      results: {
        kind: "text",
        value: "FILE",
        meaning: "where the result of each row goes; default: FILE.results.ndjson",
      },
      "pgp-key": {
        kind: "text",
        value: "FILE",
        meaning: "a private PGP key for an encrypted file; default: gpg with its agent",
      },
      passphrase: {
        kind: "text",
        value: "@FILE",
        meaning: "of the PGP key, from a file, or from standard input with -; default: asks",
      },
      "dry-run": { kind: "switch", meaning: "show the first ten rows masked, and store nothing" },
    },
    notes: ["docs/moving-in.md has the formats, mapping files and results."],
    examples: ["cards.csv --layout stripe --dry-run", "cards.csv.gpg --layout braintree --pgp-key private.asc"],
    load: async () => (await import("../import-tokens.js")).importTokens,
  },
  {
    name: "tokens export",
    summary: "Write tokens to a new file, with their data only if it is encrypted",
    flags: {
      file: { kind: "text", value: "FILE", meaning: "the file, which only its owner can read" },
      format: { kind: "text", value: "FORMAT", meaning: "csv or ndjson; default: by the name of the file" },
      "pgp-key": {
        kind: "text",
        value: "FILE",
        meaning: "the receiver's public PGP key: the file is encrypted for it, and has the tokens' data",
      },
      container: { kind: "text", value: "PATH", meaning: "only this container" },
      type: { kind: "text", value: "TYPE", meaning: "only this type, such as card" },
      reason: { kind: "text", value: "TEXT", meaning: "why, for the log of the vault; sent as X-Cloakroom-Reason" },
    },
    examples: ["--file tokens.ndjson.pgp --pgp-key receiver.asc --container /pci/ --reason 'moving out'"],
    load: async () => (await import("../export-tokens.js")).exportTokens,
  },
  {
    name: "tokens update",
    summary: "Change a token",
    arguments: ["ID"],
    flags: { ...TOKEN_VALUES, ...TOKEN_ATTRIBUTES },
    examples: ["ID --metadata order=17"],
    load: async () => (await import("../token-commands.js")).updateToken,
  },
  deleteCommand({
    name: "tokens delete",
    summary: "Delete a token and its data permanently",
    part: "tokens",
    warning: "Token ID and its data will be deleted permanently.",
  }),
];
