import fc from "fast-check";
import { expect, it } from "vitest";
import { operations, requestValidator } from "../../support/api-description.js";
import { bodyLike } from "../../support/generated-bodies.js";
import { startReceiver } from "../../support/receiver.js";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const BODIES_EACH = 3;
const AT_ONCE = 12;
/** No entity has this id. */
const ID = "01980f70-1a2b-7c4d-9e5f-60718293a4b5";

interface Request {
  readonly name: string;
  readonly send: (client: RestClient) => Promise<{ readonly status: number }>;
}

/** Requests that their schemas allow, a few for each operation that takes keys. */
function requests(ids: Readonly<Record<string, string>>): Request[] {
  return operations.flatMap((placed): Request[] => {
    const { verb, path, operation } = placed;
    if (operation.security?.length === 0) return [];
    const sentTo = path.replace(/\{\w+\}/g, ids[path] ?? ID);
    const [[type = "", content] = []] = Object.entries(operation.requestBody?.content ?? {});
    const name = `${verb} ${path}`;
    if (!content) return [{ name, send: (client) => client(verb, sentTo) }];
    const matches = requestValidator(placed, type);
    const bodies = fc.sample(bodyLike(content.schema), { seed: 8, numRuns: 60 }).filter((body) => matches(body));
    return bodies.slice(0, BODIES_EACH).map((body) => ({
      name,
      send: (client) => client(verb, sentTo, { body, headers: { "Content-Type": type } }),
    }));
  });
}

/** An application with every permission of its type, whose rights the server knows. */
async function knownApplication(tenant: TestTenant, type: "private" | "public" | "management") {
  const { body } = await tenant.manage("GET", `/permissions?application_type=${type}`);
  const permissions = body.map((permission: { readonly type: string }) => permission.type);
  const client = await tenant.application({ type, permissions });
  expect((await client("GET", "/applications/key")).status).toBe(200);
  return client;
}

it("a deleted application's key is refused by every operation, while its rights are still known", async () => {
  await using destination = await startReceiver();
  const tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const made = async (path: string, body: object) => (await tenant.manage("POST", path, { body })).body.id;
  const token = (await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } })).body.id;
  const reactor = await made("/reactors", { name: "R", code: "module.exports = async () => ({ raw: 1 })" });
  const proxy = await made("/proxies", { name: "P", destination_url: destination.url });
  const all = requests({
    ...{ "/tokens/{id}": token, "/reactors/{id}": reactor, "/proxies/{id}": proxy },
    ...{ "/reactors/{id}/react": reactor, "/reactors/{id}/react-async": reactor },
  });
  all.push(
    { name: "GET /proxy", send: (client) => client("GET", "/proxy", { headers: { "BT-PROXY-URL": destination.url } }) },
    { name: "POST /detokenize", send: (client) => client("POST", "/detokenize", { body: `{{ ${token} }}` }) },
    { name: "POST /tokenize", send: (client) => client("POST", "/tokenize", { body: ["x"] }) },
  );
  expect(all.length).toBeGreaterThan(100);
  const types = ["private", "public", "management"] as const;
  const wrong: string[] = [];
  let refused = 0;
  const sendTo = async (client: RestClient, { name, send }: Request) => {
    const { status } = await send(client);
    if (status === 401) refused += 1;
    // What a request itself forbids may be said: nothing has happened then.
    else if (status !== 400) wrong.push(`${name}: ${status}`);
  };
  // A few at once, each few with a key of their own: the first refusal forgets the rights.
  for (let first = 0; first < all.length; first += AT_ONCE) {
    const few = all.slice(first, first + AT_ONCE);
    const clients = await Promise.all(types.map((type) => knownApplication(tenant, type)));
    for (const { id } of clients) expect((await tenant.manage("DELETE", `/applications/${id}`)).status).toBe(204);
    await Promise.all(clients.flatMap((client) => few.map((request) => sendTo(client, request))));
  }
  expect(wrong).toEqual([]);
  expect(refused, `of ${types.length * all.length}`).toBeGreaterThan(types.length * all.length * 0.8);
  expect(destination.received).toEqual([]);
  expect((await backEnd("GET", `/tokens/${token}`)).status).toBe(200);
});
