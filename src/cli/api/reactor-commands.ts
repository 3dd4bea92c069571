import type {
  CreateReactorInput,
  ReactInput,
  TestReactorInput,
  TestReactorResponse,
  UpdateReactorInput,
} from "@cloakroom/client";
import { terminal } from "../../base/terminal.js";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";
import { EXIT_CODES } from "./exit-codes.js";
import { readFile } from "./standard-input.js";
import { cellText } from "./text-table.js";

const COLUMNS = ["id", "name", "state", "created_at"];

export const listReactors: Action = async (call) => {
  const filter = { name: call.text("name"), size: call.page().size };
  await call.show(call.client.reactors.list(filter, call.options()), COLUMNS);
};

export const createReactor: Action = async (call) => {
  const input: CreateReactorInput = JSON.parse(await call.request(givenFields(call)));
  call.output.one(await call.client.reactors.create(input, call.options()));
};

export const updateReactor: Action = async (call) => {
  const id = call.argument(0);
  const patch: UpdateReactorInput = JSON.parse(await call.request(givenFields(call)));
  await call.client.reactors.update(id, patch, call.options());
  call.output.one(await call.client.reactors.get(id, call.options()));
};

export const runCode: Action = async (call) => {
  const input: TestReactorInput = JSON.parse(
    JSON.stringify({
      code: readFile("FILE", call.argument(0)),
      args: await call.json("args"),
      configuration: call.entries("configuration"),
      evaluateTokens: call.isSet("evaluate-tokens") || undefined,
    }),
  );
  const outcome = await call.client.reactors.test(input, call.options());
  if (outcome.error) terminal().exitCode = EXIT_CODES.failed;
  if (call.output.isJson || call.isSet("query")) return call.output.one(outcome);
  showRun(call, outcome);
};

export const react: Action = async (call) => {
  const input: ReactInput = JSON.parse(JSON.stringify({ args: await call.json("args") }));
  call.output.one(await call.client.reactors.react(call.argument(0), input, call.options()));
};

/** What the code wrote to its console and the warnings go to standard error, its result to standard output. */
function showRun(
  call: ApiCall,
  { console, warnings, returned, response, error, durationMs }: TestReactorResponse,
): void {
  for (const { level, text } of console) terminal().stderr.write(`${level}: ${cellText(text)}\n`);
  for (const warning of warnings) terminal().stderr.write(`warning: ${cellText(warning)}\n`);
  if (error) {
    const { line, column } = error.position ?? {};
    const place = line === undefined ? "" : ` (line ${line}, column ${column ?? 0})`;
    terminal().stderr.write(`${error.status}: ${cellText(error.detail)}${place}\n`);
  }
  const result = response ?? returned;
  if (result !== undefined) call.output.line(JSON.stringify(result, null, 2));
  if (durationMs !== undefined) terminal().stderr.write(`${Math.round(durationMs)} ms\n`);
}

function givenFields(call: ApiCall) {
  const code = call.text("code");
  const application = call.text("application");
  return {
    name: call.text("name"),
    code: code === undefined ? undefined : readFile("--code", code),
    application: application === undefined ? undefined : { id: application },
    configuration: call.entries("configuration"),
  };
}
