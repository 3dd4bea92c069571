import { expect } from "vitest";
import type { Replica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { expectAllReadable, TOKENS_OF, type TokenLoad } from "./token-load.js";

/** Loads the server until it has acknowledged this many more requests, and then acts on it. */
export async function underLoad(
  load: TokenLoad,
  server: Pick<Replica, "url">,
  key: string,
  many: number,
  then: () => Promise<unknown>,
) {
  const before = load.acknowledged.length;
  load.start(restClient(server.url, key));
  await expect.poll(() => load.acknowledged.length - before, { interval: 5 }).toBeGreaterThan(many);
  await then();
  await load.stop();
}

/** Everything acknowledged is there with its value; everything else is complete or absent, and can be sent again. */
export async function expectNothingLost(load: TokenLoad, url: string, key: string): Promise<void> {
  const client = restClient(url, key);
  await expectAllReadable(client, load.acknowledged);
  for (const { name, path } of load.unacknowledged) {
    const found = await client("GET", `/tokens?metadata.request=${name}`);
    expect([0, TOKENS_OF[path]], `${name} of ${path}`).toContain(found.body.pagination.total_items);
  }
  const again = load.unacknowledged;
  const outcomes = await Promise.all(again.map((request) => load.send(client, request)));
  expect(outcomes).toEqual(again.map(() => "acknowledged"));
  await expectAllReadable(client, again);
}

/** How many tokens its requests store. */
export const tokensOf = (load: TokenLoad) => load.requests.reduce((sum, { path }) => sum + TOKENS_OF[path], 0);
