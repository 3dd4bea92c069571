import type { ApiCommand, Flags } from "./command.js";

const LISTED: Flags = {
  limit: { kind: "whole", value: "N", meaning: "how many at most; default: 20" },
  all: { kind: "switch", meaning: "all of them; with --json one JSON document per line" },
};

const METADATA: Flags = {
  metadata: { kind: "list", value: "NAME=VALUE", meaning: "an entry of the metadata; may be repeated" },
};

const BODY: Flags = {
  from: {
    kind: "text",
    value: "FILE",
    meaning: "the request as JSON, in the names of the REST API; - is standard input",
  },
};

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

const APPLICATION: Flags = {
  name: { kind: "text", value: "NAME", meaning: "the name" },
  permission: { kind: "list", value: "PERMISSION", meaning: "a permission, such as token:read; may be repeated" },
  ...BODY,
};

const APPLICATION_TYPES = ["private", "public", "management"];

const PROXY: Flags = {
  name: { kind: "text", value: "NAME", meaning: "the name" },
  "destination-url": { kind: "text", value: "URL", meaning: "where requests go" },
  ...BODY,
};

const REACTOR: Flags = {
  name: { kind: "text", value: "NAME", meaning: "the name" },
  code: { kind: "text", value: "FILE", meaning: "the JavaScript file" },
  application: { kind: "text", value: "ID", meaning: "the application whose permissions the code uses" },
  configuration: { kind: "list", value: "NAME=VALUE", meaning: "a setting that is not secret; may be repeated" },
  ...BODY,
};

const ARGS: Flags = {
  args: { kind: "text", value: "@FILE", meaning: "the arguments as JSON, from a file, or from standard input with -" },
};

const NAMED: Flags = {
  name: { kind: "text", value: "TEXT", meaning: "only those with this in their name; * is any text" },
};

const SESSION_COMMANDS: readonly ApiCommand[] = [
  {
    name: "login",
    summary: "Save the address of a vault and a key as a profile",
    flags: {
      "with-key": { kind: "switch", meaning: "read the key from standard input" },
      "ca-file": { kind: "text", value: "FILE", meaning: "the certificate authority to trust, in PEM" },
    },
    examples: ["--url https://vault.example.com", "--url https://vault.example.com --with-key < key.txt"],
    load: async () => (await import("./session-commands.js")).login,
  },
  {
    name: "logout",
    summary: "Remove a profile with its key",
    load: async () => (await import("./session-commands.js")).logout,
  },
  {
    name: "whoami",
    summary: "Show which vault and application the key belongs to, and where address and key come from",
    load: async () => (await import("./session-commands.js")).whoami,
  },
];

const TOKEN_COMMANDS: readonly ApiCommand[] = [
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
    load: async () => (await import("./token-commands.js")).listTokens,
  },
  {
    name: "tokens search",
    summary: "Find tokens by a query, see docs/search.md",
    arguments: ["QUERY"],
    flags: { ...LISTED, ...REVEAL },
    examples: ["'type:card AND metadata.order:17'"],
    load: async () => (await import("./token-commands.js")).searchTokens,
  },
  {
    name: "tokens get",
    summary: "Show a token",
    arguments: ["ID"],
    flags: REVEAL,
    examples: ["ID", "ID --reveal --reason 'dispute 17' --query data.number"],
    load: async () => (await import("./token-commands.js")).getToken,
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
    load: async () => (await import("./token-commands.js")).createToken,
  },
  {
    name: "tokens update",
    summary: "Change a token",
    arguments: ["ID"],
    flags: { ...TOKEN_VALUES, ...TOKEN_ATTRIBUTES },
    examples: ["ID --metadata order=17"],
    load: async () => (await import("./token-commands.js")).updateToken,
  },
  {
    name: "tokens delete",
    summary: "Delete a token and its data permanently",
    arguments: ["ID"],
    isDestructive: true,
    load: async () => (await import("./token-commands.js")).deleteToken,
  },
];

const APPLICATION_COMMANDS: readonly ApiCommand[] = [
  {
    name: "apps list",
    summary: "List applications, newest first",
    flags: {
      type: { kind: "list", value: "TYPE", meaning: "only this type; may be repeated", choices: APPLICATION_TYPES },
      ...LISTED,
    },
    load: async () => (await import("./application-commands.js")).listApplications,
  },
  {
    name: "apps get",
    summary: "Show an application",
    arguments: ["ID"],
    load: async () => (await import("./application-commands.js")).getApplication,
  },
  {
    name: "apps create",
    summary: "Create an application and show its key, once",
    flags: {
      type: { kind: "text", value: "TYPE", meaning: "the type", choices: APPLICATION_TYPES },
      ...APPLICATION,
    },
    examples: ["--name Shop --type public --permission token:create", "--from application.json"],
    load: async () => (await import("./application-commands.js")).createApplication,
  },
  {
    name: "apps update",
    summary: "Replace an application's name, permissions and rules",
    arguments: ["ID"],
    flags: APPLICATION,
    load: async () => (await import("./application-commands.js")).updateApplication,
  },
  {
    name: "apps delete",
    summary: "Delete an application; its keys stop working at once",
    arguments: ["ID"],
    isDestructive: true,
    load: async () => (await import("./application-commands.js")).deleteApplication,
  },
  {
    name: "app-keys list",
    summary: "List the keys of an application, without their values",
    arguments: ["APPLICATION"],
    flags: LISTED,
    load: async () => (await import("./application-commands.js")).listKeys,
  },
  {
    name: "app-keys get",
    summary: "Show a key, without its value",
    arguments: ["APPLICATION", "KEY"],
    load: async () => (await import("./application-commands.js")).getKey,
  },
  {
    name: "app-keys create",
    summary: "Create a key and show it, once",
    arguments: ["APPLICATION"],
    load: async () => (await import("./application-commands.js")).createKey,
  },
  {
    name: "app-keys delete",
    summary: "Delete a key; it stops working at once",
    arguments: ["APPLICATION", "KEY"],
    isDestructive: true,
    load: async () => (await import("./application-commands.js")).deleteKey,
  },
];

const PROXY_COMMANDS: readonly ApiCommand[] = [
  {
    name: "proxies list",
    summary: "List proxies, newest first",
    flags: { ...NAMED, ...LISTED },
    load: async () => (await import("./proxy-commands.js")).listProxies,
  },
  {
    name: "proxies get",
    summary: "Show a proxy",
    arguments: ["ID"],
    load: async () => (await import("./proxy-commands.js")).getProxy,
  },
  {
    name: "proxies create",
    summary: "Create a proxy",
    flags: PROXY,
    examples: ["--name Partner --destination-url https://partner.example.com/charges", "--from proxy.json"],
    load: async () => (await import("./proxy-commands.js")).createProxy,
  },
  {
    name: "proxies update",
    summary: "Change a proxy",
    arguments: ["ID"],
    flags: PROXY,
    load: async () => (await import("./proxy-commands.js")).updateProxy,
  },
  {
    name: "proxies delete",
    summary: "Delete a proxy",
    arguments: ["ID"],
    isDestructive: true,
    load: async () => (await import("./proxy-commands.js")).deleteProxy,
  },
  {
    name: "proxies test",
    summary: "Run transforms that are not saved on a sample request",
    flags: BODY,
    examples: ["--from test.json"],
    load: async () => (await import("./proxy-commands.js")).testProxy,
  },
];

const REACTOR_COMMANDS: readonly ApiCommand[] = [
  {
    name: "reactors list",
    summary: "List reactors, newest first",
    flags: { ...NAMED, ...LISTED },
    load: async () => (await import("./reactor-commands.js")).listReactors,
  },
  {
    name: "reactors get",
    summary: "Show a reactor",
    arguments: ["ID"],
    load: async () => (await import("./reactor-commands.js")).getReactor,
  },
  {
    name: "reactors create",
    summary: "Create a reactor",
    flags: REACTOR,
    examples: ["--name Charge --code charge.js --application ID"],
    load: async () => (await import("./reactor-commands.js")).createReactor,
  },
  {
    name: "reactors update",
    summary: "Change a reactor",
    arguments: ["ID"],
    flags: REACTOR,
    load: async () => (await import("./reactor-commands.js")).updateReactor,
  },
  {
    name: "reactors delete",
    summary: "Delete a reactor",
    arguments: ["ID"],
    isDestructive: true,
    load: async () => (await import("./reactor-commands.js")).deleteReactor,
  },
  {
    name: "reactors run",
    summary: "Run code that is not saved in the vault's sandbox; nothing is stored and no token is read",
    arguments: ["FILE"],
    flags: {
      ...ARGS,
      configuration: { kind: "list", value: "NAME=VALUE", meaning: "a setting that is not secret; may be repeated" },
    },
    examples: ["charge.js --args @args.json"],
    load: async () => (await import("./reactor-commands.js")).runCode,
  },
  {
    name: "reactors react",
    summary: "Run a reactor and show its result",
    arguments: ["ID"],
    flags: ARGS,
    load: async () => (await import("./reactor-commands.js")).react,
  },
];

const TENANT_COMMANDS: readonly ApiCommand[] = [
  {
    name: "members list",
    summary: "List the members of the tenant",
    flags: LISTED,
    load: async () => (await import("./member-commands.js")).listMembers,
  },
  {
    name: "members update",
    summary: "Give a member another role",
    arguments: ["ID"],
    flags: { role: { kind: "text", value: "ROLE", meaning: "the role, such as ADMIN" } },
    load: async () => (await import("./member-commands.js")).updateMember,
  },
  {
    name: "members delete",
    summary: "Remove a member from the tenant",
    arguments: ["ID"],
    isDestructive: true,
    load: async () => (await import("./member-commands.js")).deleteMember,
  },
  {
    name: "logs list",
    summary: "List rows of the log, newest first",
    flags: {
      "entity-type": { kind: "text", value: "TYPE", meaning: "only rows about this type, such as token" },
      "entity-id": { kind: "text", value: "ID", meaning: "only rows about this entity" },
      since: { kind: "text", value: "TIME", meaning: "only rows of this time or later, in ISO 8601" },
      until: { kind: "text", value: "TIME", meaning: "only rows before this time, in ISO 8601" },
      follow: {
        kind: "switch",
        meaning: "print rows as they are committed, until Ctrl-C, which prints the last cursor",
      },
      after: { kind: "text", value: "CURSOR", meaning: "with --follow: continue behind an earlier cursor" },
      ...LISTED,
    },
    examples: ["--entity-type token --limit 50", "--follow --json"],
    load: async () => (await import("./log-commands.js")).listLogs,
  },
];

/** All commands over the API, in the order of help. */
export const API_COMMANDS: readonly ApiCommand[] = [
  ...SESSION_COMMANDS,
  ...TOKEN_COMMANDS,
  ...APPLICATION_COMMANDS,
  ...PROXY_COMMANDS,
  ...REACTOR_COMMANDS,
  ...TENANT_COMMANDS,
];
