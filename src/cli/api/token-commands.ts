import type { CreateTokenInput, Token, UpdateTokenInput } from "@cloakroom/client";
import { terminal } from "../../base/terminal.js";
import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";
import { askHidden } from "./prompt.js";
import { readStandardInput } from "./standard-input.js";

const COLUMNS = ["id", "type", "containers", "fingerprint", "created_at"];

export const listTokens: Action = async (call) => {
  const { size } = call.page();
  const filter = {
    type: call.text("type"),
    container: call.text("container"),
    fingerprint: call.text("fingerprint"),
    metadata: call.entries("metadata"),
  };
  await call.show(shown(call, call.client.tokens.list({ ...filter, size }, call.options())), COLUMNS);
};

export const searchTokens: Action = async (call) => {
  const query = { query: call.argument(0), size: call.page().size };
  await call.show(shown(call, call.client.tokens.search(query, call.options())), COLUMNS);
};

export const getToken: Action = async (call) => {
  call.output.one(withoutData(call, await call.client.tokens.get(call.argument(0), call.options())));
};

export const createToken: Action = async (call) => {
  const type = call.required("type");
  const data = await givenData(call);
  if (data === undefined) throw new UsageError("The value is missing: --data, --text, or --number for a card.");
  const input: CreateTokenInput = JSON.parse(
    JSON.stringify({
      id: call.text("id"),
      type,
      data,
      ...givenAttributes(call),
      ...(call.isSet("deduplicate") ? { deduplicateToken: true } : {}),
    }),
  );
  // The response has masked data, whatever the rules of the key show.
  call.output.one(await call.client.tokens.create(input, call.options()));
};

export const updateToken: Action = async (call) => {
  const patch: UpdateTokenInput = JSON.parse(JSON.stringify({ data: await givenData(call), ...givenAttributes(call) }));
  if (Object.keys(patch).length === 0) throw new UsageError("Say what to change: cloakroom tokens update --help");
  call.output.one(await call.client.tokens.update(call.argument(0), patch, call.options()));
};

async function* shown(call: ApiCall, tokens: AsyncIterable<Token>): AsyncGenerator<object> {
  for await (const token of tokens) yield withoutData(call, token);
}

/** Data on a screen stays in its history, and output in logs: it is shown on request only. */
function withoutData(call: ApiCall, { data, ...rest }: Token): object {
  return call.isSet("reveal") ? { ...rest, data } : rest;
}

async function givenData(call: ApiCall): Promise<unknown> {
  const given = ["number", "data", "text"].filter((flag) => call.isSet(flag));
  if (given.length > 1) throw new UsageError(`--${given.join(" and --")} cannot be combined.`);
  if (call.isSet("data")) return call.json("data");
  if (call.isSet("text")) return call.content("text");
  if (!call.isSet("number")) return undefined;
  return {
    number: await readNumber(call),
    expiration_month: call.whole("expiration-month"),
    expiration_year: call.whole("expiration-year"),
  };
}

async function readNumber(call: ApiCall): Promise<string> {
  if (call.text("number") !== "-") {
    throw new UsageError("--number takes - only, which reads the number from standard input.");
  }
  const mayAsk = terminal().stdin.isTTY && !call.isSet("no-input");
  const number = (mayAsk ? await askHidden("Card number") : await readStandardInput("the card number")).trim();
  if (number === "") throw new UsageError("The card number is empty.");
  return number;
}

function givenAttributes(call: ApiCall) {
  return {
    containers: call.list("container"),
    metadata: call.entries("metadata"),
    searchIndexes: call.list("search-index"),
    fingerprintExpression: call.text("fingerprint-expression"),
    expiresAt: call.text("expires-at"),
  };
}
