import type { RestClient } from "../../support/rest.js";

const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };

/** What a client knows of one token that it changes step by step and finally deletes. */
export interface ChangedToken {
  readonly id: string;
  /** The last acknowledged step, and the last one sent. */
  acknowledged: number;
  sent: number;
  deletion: "none" | "sent" | "acknowledged";
}

/** A step changes the value and everything with it: a partial step would show. */
export const stateAfter = (step: number) => ({
  data: { step, text: `step ${step}` },
  metadata: { step: `step-${step}` },
  containers: [`/step/${step}/`],
});

/** Creates tokens in their state before the first step. */
export async function makeChanged(client: RestClient, many: number): Promise<ChangedToken[]> {
  const items = Array.from({ length: many }, () => ({ type: "token", ...stateAfter(0) }));
  const { status, body } = await client("POST", "/tokenize", { body: items });
  if (status !== 200) throw new Error(`tokenizing returned ${status}`);
  return body.map(({ id }: { id: string }) => ({ id, acknowledged: 0, sent: 0, deletion: "none" }));
}

/** Changes a token step by step and deletes it after the last, until the server stops responding. */
export async function changeOn(client: RestClient, token: ChangedToken, lastStep: number): Promise<void> {
  const path = `/tokens/${token.id}`;
  while (token.sent < lastStep) {
    token.sent += 1;
    const response = await client("PATCH", path, { headers: MERGE_PATCH, body: stateAfter(token.sent) }).catch(
      () => {},
    );
    if (!response) return;
    if (response.status !== 200) throw new Error(`a patch returned ${response.status}`);
    token.acknowledged = token.sent;
  }
  token.deletion = "sent";
  const response = await client("DELETE", path).catch(() => {});
  if (!response) return;
  if (response.status !== 204) throw new Error(`a deletion returned ${response.status}`);
  token.deletion = "acknowledged";
}
