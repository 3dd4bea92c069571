import { type Flags, listFlag, switchFlag, textFlag, wholeFlag } from "../../command.js";
import type { ApiCommand } from "../api-command.js";
import { deleteCommand } from "./entity-commands.js";
import { LISTED, METADATA } from "./flags.js";

const REVEAL: Flags = {
  reveal: switchFlag("show the data, as far as the key's rules allow"),
  reason: textFlag("TEXT", "why, for the log of the vault; sent as X-Cloakroom-Reason"),
};

const TOKEN_VALUES: Flags = {
  data: textFlag("@FILE", "the data as JSON, from a file, or from standard input with -"),
  text: textFlag("@FILE", "the data as text, from a file, or from standard input with -"),
};

const TOKEN_ATTRIBUTES: Flags = {
  container: listFlag("PATH", "a container, such as /pci/; may be repeated"),
  ...METADATA,
  "search-index": listFlag("EXPRESSION", "an expression to search by; may be repeated"),
  "fingerprint-expression": textFlag("EXPRESSION", "what equal tokens have in common"),
  "expires-at": textFlag("TIME", "when the token ends, in ISO 8601"),
};

export const TOKEN_COMMANDS: readonly ApiCommand[] = [
  {
    name: "tokens list",
    summary: "List tokens, newest first",
    flags: {
      type: textFlag("TYPE", "only this type, such as card"),
      container: textFlag("PATH", "only this container"),
      fingerprint: textFlag("TEXT", "only this fingerprint"),
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
      type: textFlag("TYPE", "the type, such as card or token"),
      number: textFlag("-", "the card number: - reads it from standard input, or asks for it"),
      "expiration-month": wholeFlag("MONTH", "of a card"),
      "expiration-year": wholeFlag("YEAR", "of a card"),
      ...TOKEN_VALUES,
      id: textFlag("ID", "the token's id, or an expression over its data"),
      ...TOKEN_ATTRIBUTES,
      deduplicate: switchFlag("return the token that exists for this value"),
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
      format: textFlag("FORMAT", "csv or ndjson; default: by the name of the file"),
      layout: textFlag("NAME", "the vault that wrote the file: stripe, spreedly, braintree, basis-theory or vgs"),
      mapping: textFlag("FILE", "JSON that says which column is which field"),
      results: textFlag("FILE", "where the result of each row goes; default: FILE.results.ndjson"),
      "pgp-key": textFlag("FILE", "a private PGP key for an encrypted file; default: gpg with its agent"),
      passphrase: textFlag("@FILE", "of the PGP key, from a file, or from standard input with -; default: asks"),
      "dry-run": switchFlag("show the first ten rows masked, and store nothing"),
    },
    notes: ["docs/moving-in.md has the formats, mapping files and results."],
    examples: ["cards.csv --layout stripe --dry-run", "cards.csv.gpg --layout braintree --pgp-key private.asc"],
    load: async () => (await import("../import-tokens.js")).importTokens,
  },
  {
    name: "tokens export",
    summary: "Write tokens to a new file, with their data only if it is encrypted",
    flags: {
      file: textFlag("FILE", "the file, which only its owner can read"),
      format: textFlag("FORMAT", "csv or ndjson; default: by the name of the file"),
      "pgp-key": textFlag(
        "FILE",
        "the receiver's public PGP key: the file is encrypted for it, and has the tokens' data",
      ),
      container: textFlag("PATH", "only this container"),
      type: textFlag("TYPE", "only this type, such as card"),
      reason: textFlag("TEXT", "why, for the log of the vault; sent as X-Cloakroom-Reason"),
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
