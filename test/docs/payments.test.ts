import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { newTenant } from "../support/tenant.js";

/** The commands of the page, in order. */
const BLOCKS = [...readFileSync("docs/payments.md", "utf8").matchAll(/```sh\n([\s\S]*?)```/g)].map(
  ([, text]) => text ?? "",
);

/** The variables that the page tells its reader to set, and those that it sets itself. */
let variables: string;
beforeAll(async () => {
  const tenant = await newTenant();
  variables = `URL=${tenant.url}; KEY=${tenant.managementKey}`;
});

let next = 0;
/** Types the next block into the same shell, so to say. Answers with what it printed, as JSON documents. */
async function typeBlock(): Promise<unknown[]> {
  const block = BLOCKS[next];
  if (block === undefined) throw new Error("the page has no more commands");
  next += 1;
  const script = `set -eu -o pipefail\n${variables}\n${block}\necho; echo ---; declare -p`;
  const said = await new Promise<string>((resolve, reject) => {
    execFile("bash", ["-c", script], (error, stdout, stderr) =>
      error ? reject(new Error(`${block}\n${stderr}`)) : resolve(stdout),
    );
  });
  const [printed = "", declared = ""] = said.split("\n---\n");
  const names = "KEY URL PAY CONNECTION TOKEN TRANSACTION CHALLENGED WAITING AUTH SESSION CHALLENGE".split(" ");
  // What a shell prints of a variable may go over several lines; these are its own words for reading it again.
  variables = declared
    .split(/\n(?=declare )/)
    .filter((line) => names.includes(/^declare \S+ (\w+)=/.exec(line)?.[1] ?? ""))
    .join("\n");
  return printed.trim() === ""
    ? []
    : printed
        .trim()
        .split(/\n(?=\{)/)
        .map((text): unknown => JSON.parse(text));
}

describe("the walk-through of docs/payments.md, as it is written", () => {
  it("makes an application and a connection, and authorizes a payment", async () => {
    expect(await typeBlock()).toEqual([]);
    expect(await typeBlock()).toEqual([]);
    expect(variables).toMatch(/TRANSACTION="[0-9a-f-]{36}"/);
  });

  it("captures a part, and returns a part of that", async () => {
    expect(await typeBlock()).toEqual([
      { status: "capture_succeeded", authorized_amount: 1000, captured_amount: 800 },
      { status: "succeeded", amount: 300 },
    ]);
  });

  it("has the buyer approve", async () => {
    expect(await typeBlock()).toMatchObject([
      { status: "buyer_approval_pending", approval_url: expect.stringMatching(/^http/) },
    ]);
    expect(await typeBlock()).toMatchObject([
      {
        status: "capture_succeeded",
        captured_amount: 2500,
        three_d_secure: { status: "complete", method: "challenge" },
      },
    ]);
  });

  it("authenticates the cardholder in a 3DS session first", async () => {
    expect(await typeBlock()).toMatchObject([
      { authentication_status: "challenge", acs_challenge_url: expect.stringMatching(/^http/) },
    ]);
    expect(await typeBlock()).toMatchObject([
      { status: "authorization_succeeded", three_d_secure: { status: "complete", method: "challenge" } },
    ]);
    expect(next).toBe(BLOCKS.length);
  });
});
