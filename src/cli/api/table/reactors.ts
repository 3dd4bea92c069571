import { type Flags, listFlag, switchFlag, textFlag } from "../../command.js";
import type { ApiCommand } from "../api-command.js";
import { deleteCommand, getCommand } from "./entity-commands.js";
import { BODY, LISTED, NAMED } from "./flags.js";

const CONFIGURATION: Flags = {
  configuration: listFlag("NAME=VALUE", "a setting that is not secret; may be repeated"),
};

const REACTOR: Flags = {
  name: textFlag("NAME", "the name"),
  code: textFlag("FILE", "the JavaScript file"),
  application: textFlag("ID", "the application whose permissions the code uses"),
  ...CONFIGURATION,
  ...BODY,
};

const ARGS: Flags = {
  args: textFlag("@FILE", "the arguments as JSON, from a file, or from standard input with -"),
};

export const REACTOR_COMMANDS: readonly ApiCommand[] = [
  {
    name: "reactors list",
    summary: "List reactors, newest first",
    flags: { ...NAMED, ...LISTED },
    load: async () => (await import("../reactor-commands.js")).listReactors,
  },
  getCommand("reactors get", "Show a reactor", "reactors"),
  {
    name: "reactors create",
    summary: "Create a reactor",
    flags: REACTOR,
    examples: ["--name Charge --code charge.js --application ID"],
    load: async () => (await import("../reactor-commands.js")).createReactor,
  },
  {
    name: "reactors update",
    summary: "Change a reactor",
    arguments: ["ID"],
    flags: REACTOR,
    load: async () => (await import("../reactor-commands.js")).updateReactor,
  },
  deleteCommand({
    name: "reactors delete",
    summary: "Delete a reactor",
    part: "reactors",
    warning: "Reactor ID will be deleted.",
  }),
  {
    name: "reactors run",
    summary: "Run code that is not saved in the vault's sandbox; nothing is stored",
    arguments: ["FILE"],
    flags: {
      ...ARGS,
      ...CONFIGURATION,
      "evaluate-tokens": switchFlag(
        "replace expressions in the arguments by values of tokens as you read them, masked at most",
      ),
    },
    examples: ["charge.js --args @args.json", "charge.js --args @args.json --evaluate-tokens"],
    notes: ["Without --evaluate-tokens no token is read. With it, each token that is read leaves a row in the log."],
    load: async () => (await import("../reactor-commands.js")).runCode,
  },
  {
    name: "reactors react",
    summary: "Run a reactor and show its result",
    arguments: ["ID"],
    flags: ARGS,
    load: async () => (await import("../reactor-commands.js")).react,
  },
];
