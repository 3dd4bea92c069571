import { type ApiCommand, COMMON_FLAGS } from "../src/cli/api/api-command.js";
import { API_COMMANDS } from "../src/cli/api/commands.js";
import { EXIT_CODE_MEANINGS } from "../src/cli/api/exit-codes.js";
import type { Flags } from "../src/cli/command.js";
import { OPERATOR_COMMANDS } from "../src/cli/operator-commands.js";

const INTRODUCTION = `# Command line

<!-- \`npm run generate\` writes this page from src/cli/api/commands.ts. Do not edit it by hand. -->

\`cloakroom\` calls a vault over its API from any machine, and operates a vault on the vault's own machine. From the sources it is
\`npm run --silent cloakroom --\`.

## Sign in

\`\`\`sh
cloakroom login --url https://vault.example.com                          # asks for the key
cloakroom login --url https://vault.example.com --with-key < key.txt     # without a terminal
cloakroom login --url https://vault.example.com --device                 # as yourself, at the issuer of the vault
cloakroom whoami
\`\`\`

\`--device\` signs you in under your own role, see [people.md](people.md#signing-in-from-a-terminal); \`logout\` ends it. Otherwise
\`login\` checks the key and saves it with the address in \`$XDG_CONFIG_HOME/cloakroom/config.json\` (by default \`~/.config\`), which only
its owner may read. \`--profile NAME\` keeps several. In CI set \`CLOAKROOM_URL\` and \`CLOAKROOM_API_KEY\` instead. Options win over the
environment, and the environment over the default profile; a profile that \`--profile\` names wins over the environment. \`whoami\` shows
where address and key come from. The key or sign-in of a profile is never sent to another address than the profile's.

## Values and secrets

Other users of a machine can read the arguments of a command, and shells keep them. Values therefore come from standard input (\`-\`), from
a file (\`@FILE\`) or from a question on the terminal. A card number or a key among the arguments is refused.

\`\`\`sh
cloakroom tokens create --type card --number - --expiration-month 12 --expiration-year 2030
cloakroom tokens get ID --reveal --reason "dispute 17" --query data.number
\`\`\`

Data of tokens is shown with \`--reveal\` only, as far as the rules of the key allow.

## Output

Results go to standard output, everything else to standard error. Lists are tables as wide as the terminal; without a terminal they have
no header, and tabs separate the columns. \`--json\` prints JSON in the names of the REST API: one document, or with \`--all\` one per line.
\`--query\` prints a part of it: \`id\`, \`card.last4\`, \`[0].id\`, \`[].id\`. With \`--json\` an error is one JSON object with \`code\`, \`message\`,
\`fields\` and \`trace_id\`. \`--quiet\` prints ids only, one per line.

Characters that could steer a terminal are replaced, and escaped in JSON. \`--query\` on one text, into a file or a pipe, prints it as it is.
Terminals get colors, unless \`--no-color\` is given or \`NO_COLOR\` is set.

## Completion

\`\`\`sh
cloakroom completion bash > ~/.local/share/bash-completion/completions/cloakroom
cloakroom completion zsh > "\${fpath[1]}/_cloakroom"
cloakroom completion fish > ~/.config/fish/completions/cloakroom.fish
\`\`\`

For an id it asks the vault for the newest 50, and waits for a second at most; such a list of tokens leaves a row in the log.
`;

/** The text of docs/command-line.md. */
export function commandLinePage(): string {
  return [
    INTRODUCTION,
    "## Exit codes\n",
    "| Code | Meaning |",
    "|---|---|",
    ...EXIT_CODE_MEANINGS.map(([code, meaning]) => `| ${code} | ${meaning} |`),
    "",
    "## Options of every command\n",
    ...flagLines(COMMON_FLAGS),
    "",
    "## Commands over the API\n",
    ...API_COMMANDS.flatMap(section),
    "## Commands for operators\n",
    "They work on the database and the root key of a vault. [operations.md](operations.md) explains when to use them.\n",
    "| Command | |",
    "|---|---|",
    ...OPERATOR_COMMANDS.map(({ name, summary }) => `| \`${name}\` | ${summary} |`),
    "",
  ].join("\n");
}

function section({ name, summary, arguments: wanted = [], flags = {}, examples = [] }: ApiCommand): readonly string[] {
  return [
    `### ${name}\n`,
    `\`${["cloakroom", name, ...wanted].join(" ")}\`: ${summary}.\n`,
    ...(Object.keys(flags).length > 0 ? [...flagLines(flags), ""] : []),
    ...(examples.length > 0 ? ["```sh", ...examples.map((text) => `cloakroom ${name} ${text}`), "```\n"] : []),
  ];
}

function flagLines(flags: Flags): readonly string[] {
  return Object.entries(flags).map(([name, { value, meaning, choices }]) => {
    const option = value === undefined ? `--${name}` : `--${name} ${value}`;
    return `- \`${option}\`: ${meaning}${choices ? `: ${choices.join(", ")}` : ""}`;
  });
}
