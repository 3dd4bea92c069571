import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import { AuthMode, policy } from "../../../gen/cloakroom/v1/options_pb.js";
import { operations, requestValidator } from "../../support/api-description.js";
import { bodyLike } from "../../support/generated-bodies.js";
import { methods } from "../../support/methods.js";
import { startReceiver } from "../../support/receiver.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const TYPES = ["private", "management", "public"] as const;
const BODIES_EACH = 2;
/** Of an application. */
const MAX_KEYS = 100;
/** All count for the network of all tests once their keys are refused. */
const AT_ONCE = 16;
/** No entity has this id. */
const ID = "01980f70-1a2b-7c4d-9e5f-60718293a4b5";

interface Request {
  readonly name: string;
  /** Of which its application needs all. */
  readonly permissions: readonly string[];
  readonly send: (client: RestClient) => Promise<{ readonly status: number }>;
}

/** Requests that their schemas allow, for each operation of REST that takes keys. Proxied ones name a destination. */
function requestsOfRest(ids: Readonly<Record<string, string>>, destination: string): Request[] {
  return operations.flatMap((placed): Request[] => {
    const { verb, path, operation } = placed;
    if (operation.security?.length === 0) return [];
    const sentTo = path.replace(/\{\w+\}/g, ids[path] ?? ID);
    const [[type = "", content] = []] = Object.entries(operation.requestBody?.content ?? {});
    const request = { name: `${verb} ${path}`, permissions: operation["x-permissions"] };
    const headers = path.startsWith("/proxy") ? { "BT-PROXY-URL": destination } : {};
    if (!content) return [{ ...request, send: (client) => client(verb, sentTo, { headers }) }];
    const matches = requestValidator(placed, type);
    const bodies = fc.sample(bodyLike(content.schema), { seed: 8, numRuns: 60 }).filter((body) => matches(body));
    return bodies.slice(0, BODIES_EACH).map((body) => ({
      ...request,
      send: (client) => client(verb, sentTo, { body, headers: { ...headers, "Content-Type": type } }),
    }));
  });
}

/** Each method that takes keys, with an empty message: some have no path in REST. */
function requestsOfMethods(): Request[] {
  return methods
    .filter((desc) => desc.methodKind === "unary" && takesKeys(desc))
    .map((desc) => ({
      name: nameOf(desc),
      permissions: getOption(desc, policy).requires,
      send: (client) => client("POST", `/${nameOf(desc)}`, { body: {} }),
    }));
}

function takesKeys(desc: DescMethod): boolean {
  return [AuthMode.UNSPECIFIED, AuthMode.KEY, AuthMode.OPTIONAL].includes(getOption(desc, policy).auth);
}

function nameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}

/** So many clients, each with a key of its own whose rights the server knows, of applications that are deleted then. */
async function deletedClients(tenant: TestTenant, type: (typeof TYPES)[number], count: number): Promise<RestClient[]> {
  const { body } = await tenant.manage("GET", `/permissions?application_type=${type}`);
  const permissions = body.map((permission: { readonly type: string }) => permission.type);
  const clients: RestClient[] = [];
  const applications: string[] = [];
  while (clients.length < count) {
    const application = await tenant.application({ type, permissions });
    applications.push(application.id);
    clients.push(application);
    for (let keys = 1; keys < MAX_KEYS && clients.length < count; keys += 1) {
      const made = await tenant.manage("POST", `/applications/${application.id}/keys`);
      clients.push(restClient(tenant.url, String(made.body.key)));
    }
  }
  // Not before: each change of an application makes all rights of its tenant old.
  await inTurns(clients, async (client) => {
    expect((await client("GET", "/applications/key")).status).toBe(200);
  });
  for (const id of applications) expect((await tenant.manage("DELETE", `/applications/${id}`)).status).toBe(204);
  return clients;
}

async function inTurns<Item>(items: readonly Item[], run: (item: Item, index: number) => Promise<void>): Promise<void> {
  const left = [...items.entries()];
  const runAll = async () => {
    for (let next = left.pop(); next; next = left.pop()) await run(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runAll));
}

it("a deleted application's key is refused by every operation, while its rights are still known", async () => {
  await using destination = await startReceiver();
  const tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const made = async (path: string, body: object) => (await tenant.manage("POST", path, { body })).body.id;
  const token = (await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } })).body.id;
  const reactor = await made("/reactors", { name: "R", code: "module.exports = async () => ({ raw: 1 })" });
  const proxy = await made("/proxies", { name: "P", destination_url: destination.url });
  const all: Request[] = [
    ...requestsOfRest(
      {
        ...{ "/tokens/{id}": token, "/reactors/{id}": reactor, "/proxies/{id}": proxy },
        ...{ "/reactors/{id}/react": reactor, "/reactors/{id}/react-async": reactor },
      },
      destination.url,
    ),
    ...requestsOfMethods(),
    {
      ...{ name: "POST /detokenize", permissions: ["token:use"] },
      send: (client) => client("POST", "/detokenize", { body: `{{ ${token} }}` }),
    },
    {
      ...{ name: "POST /tokenize", permissions: ["token:create"] },
      send: (client) => client("POST", "/tokenize", { body: ["x"] }),
    },
  ];
  const held = new Map<string, ReadonlySet<string>>();
  for (const type of TYPES) {
    const { body } = await tenant.manage("GET", `/permissions?application_type=${type}`);
    held.set(type, new Set(body.map((permission: { readonly type: string }) => permission.type)));
  }
  // By the types of applications that may send it: without the right, the server looks again before it refuses.
  const served: string[] = [];
  const sent = new Set<string>();
  for (const type of TYPES) {
    const mayHold = ({ permissions }: Request) => permissions.every((permission) => held.get(type)?.has(permission));
    const own = all.filter(mayHold);
    const clients = await deletedClients(tenant, type, own.length);
    await inTurns(own, async ({ name, send }, index) => {
      const client = clients[index];
      if (!client) throw new Error("a request has no client");
      sent.add(name);
      const { status } = await send(client);
      if (status !== 401) served.push(`${name} by ${type}: ${status}`);
    });
  }
  expect(served).toEqual([]);
  expect(all.filter(({ name }) => !sent.has(name)).map(({ name }) => name)).toEqual([]);
  expect(destination.received).toEqual([]);
  expect((await backEnd("GET", `/tokens/${token}`)).status).toBe(200);
});

it("a deleted application's key is refused by every stream, before anything is sent", async () => {
  const tenant = await newTenant();
  const streams = methods.filter((desc) => desc.methodKind !== "unary" && takesKeys(desc));
  expect(streams.length).toBeGreaterThan(0);
  for (const desc of streams) {
    const needed = getOption(desc, policy).requires;
    const type = needed.some((permission) => permission.startsWith("token:")) ? "private" : "management";
    const { body } = await tenant.manage("GET", `/permissions?application_type=${type}`);
    const permissions = body.map((permission: { readonly type: string }) => permission.type);
    const client = await tenant.application({ type, permissions });
    expect((await client("GET", "/applications/key")).status).toBe(200);
    expect((await tenant.manage("DELETE", `/applications/${client.id}`)).status).toBe(204);
    const response = await fetch(`${tenant.url}/${nameOf(desc)}`, {
      method: "POST",
      headers: {
        "content-type": "application/connect+json",
        "connect-protocol-version": "1",
        "bt-api-key": client.key,
      },
      body: encodeEnvelope(0, Buffer.from("{}")),
    });
    const [flags, ...bytes] = Buffer.from(await response.arrayBuffer());
    // 2: the end of the stream, with its error.
    expect([nameOf(desc), flags]).toEqual([nameOf(desc), 2]);
    const { error } = JSON.parse(Buffer.from(bytes).subarray(4).toString());
    expect([nameOf(desc), error.code]).toEqual([nameOf(desc), "unauthenticated"]);
  }
});
