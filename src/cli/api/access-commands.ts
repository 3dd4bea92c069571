import { UsageError } from "../usage-error.js";
import { type ApiCall, clientFor } from "./api-call.js";
import type { Action } from "./api-command.js";
import { readStandardInput } from "./standard-input.js";
import { cellText } from "./text-table.js";

/** The last step is the permissions that an application has beside its rules. */
const WITHOUT_RULE = { permissions: "those without a rule" };
const COLUMNS = ["priority", "container", "transform", "permissions", "outcome"];

export const explainAccess: Action = async (call) => {
  const [tokenId, containers] = [call.optionalArgument(1), call.list("container")];
  if ((tokenId === undefined) === (containers === undefined)) throw new UsageError("Give either TOKEN or --container.");
  const given = call.argument(0);
  const applicationId = given === "-" ? await applicationOfKey(call) : given;
  const permission = call.text("permission") ?? "token:read";
  const request = { applicationId, tokenId, containers, permission };
  for await (const explained of call.client.permissions.explainAccess(request, call.options())) {
    if (call.output.isForPeople) {
      const { name = "", transform, keys } = explained;
      const verdict = transform === undefined ? "is denied" : `is allowed (${transform})`;
      call.output.line(`${permission} ${verdict} for the application ${cellText(name)} (keys: ${keys}).`);
      call.output.list(
        explained.steps.map(({ rule = WITHOUT_RULE, outcome }) => ({ ...rule, outcome })),
        COLUMNS,
      );
    } else call.output.one(explained);
  }
};

async function applicationOfKey(call: ApiCall): Promise<string> {
  const key = (await readStandardInput("the key")).trim();
  if (key === "") throw new UsageError("The key is empty.");
  const client = clientFor({ ...call.credentials(), identity: { kind: "key", key, from: "standard input" } });
  try {
    return (await client.applications.getByKey(call.options())).id;
  } finally {
    await client.close();
  }
}
