import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient, RestResponse } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Holder, holds, PERMISSIONS, shownTo, shownWherePut, TRANSFORMS, type Transform } from "./model.js";

/** Containers of the rules: everything, a container, one below it, one beside it. */
const REACHES = ["/", "/a/", "/a/b/", "/c/"];
/** Containers of the tokens. /ab/ begins like /a/, and is not inside it. */
const PLACES = [["/"], ["/a/"], ["/a/b/"], ["/a/b/d/"], ["/ab/"], ["/c/"], ["/a/", "/c/"]];
const SECRET = "the value itself";
const MASK = "the mask";

const singles: Holder[] = PERMISSIONS.flatMap((permission) => [
  { name: `${permission} plainly`, permissions: [permission], rules: [] },
  ...REACHES.flatMap((container) =>
    TRANSFORMS.map((transform) => ({
      name: `${permission} on ${container} as ${transform}`,
      permissions: [],
      rules: [{ priority: 1, container, transform, permissions: [permission] }],
    })),
  ),
]);

/** Two rules and, in half of the cases, the plain permissions below: the order of priority decides. */
const pairs: Holder[] = TRANSFORMS.flatMap((outer) =>
  TRANSFORMS.flatMap((inner) =>
    [1, 3].map((priority): Holder => {
      const permissions = ["token:read", "token:search"] as const;
      return {
        name: `/a/ as ${outer} at 2, /a/b/ as ${inner} at ${priority}`,
        permissions: priority === 1 ? permissions : [],
        rules: [
          { priority: 2, container: "/a/", transform: outer, permissions },
          { priority, container: "/a/b/", transform: inner, permissions },
        ],
      };
    }),
  ),
);

const dataShownAs: Record<Transform, unknown> = { redact: undefined, mask: MASK, reveal: SECRET };
/** Responses of writes show masked data at most. */
const dataWrittenAs: Record<Transform, unknown> = { redact: undefined, mask: MASK, reveal: MASK };

/** The outcome of a response: the status of a refusal, or how the token is shown. */
function outcomeOf({ status, body }: RestResponse, data: (body: RestResponse["body"]) => unknown): unknown {
  return status >= 300 ? { refused: status, code: body.code } : { shown: data(body) };
}

function expected(shown: Transform | "refused", value: (transform: Transform) => unknown): unknown {
  return shown === "refused" ? { refused: 403, code: "permission_denied" } : { shown: value(shown) };
}

/** Runs the checks a few at a time and returns those that failed. */
async function failuresOf(checks: readonly (() => Promise<string | undefined>)[]): Promise<string[]> {
  const left = [...checks];
  const failures: string[] = [];
  const work = async () => {
    for (let check = left.pop(); check; check = left.pop()) {
      const failure = await check();
      if (failure) failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: 24 }, work));
  return failures;
}

describe("every permission, container, transform and operation", () => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  let reactor: string;
  const tokens: { readonly id: string; readonly containers: readonly string[] }[] = [];
  const clients = new Map<Holder, RestClient>();

  const tokenIn = (containers: readonly string[], metadata: object = {}) => ({
    type: "token",
    ...{ data: SECRET, mask: MASK, containers, metadata },
  });
  const newToken = async (containers: readonly string[]): Promise<string> =>
    (await backEnd("POST", "/tokens", { body: tokenIn(containers) })).body.id;
  const clientOf = (holder: Holder): RestClient => {
    const client = clients.get(holder);
    if (!client) throw new Error("this holder has no application");
    return client;
  };

  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
    for (const containers of PLACES) {
      const { body } = await backEnd("POST", "/tokens", { body: tokenIn(containers, { matrix: "yes" }) });
      tokens.push({ id: body.id, containers });
    }
    const code = "module.exports = async ({ args }) => ({ raw: args });";
    reactor = (await tenant.manage("POST", "/reactors", { body: { name: "Echo", code } })).body.id;
    const making = [...singles, ...pairs].map((holder) => async () => {
      const { name: _, ...rights } = holder;
      clients.set(holder, await tenant.application({ type: "private", ...rights }));
      return undefined;
    });
    await failuresOf(making);
  });

  /** One check for each application and token. */
  const forEach = (
    holders: readonly Holder[],
    check: (holder: Holder, client: RestClient, token: (typeof tokens)[number]) => Promise<readonly [unknown, unknown]>,
  ) =>
    failuresOf(
      holders.flatMap((holder) =>
        tokens.map((token) => async () => {
          const [actual, wanted] = await check(holder, clientOf(holder), token);
          const same = JSON.stringify(actual) === JSON.stringify(wanted);
          const where = `${holder.name}, token in ${token.containers.join(" and ")}`;
          return same ? undefined : `${where}: ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`;
        }),
      ),
    );

  it("to create", async () => {
    const failures = await forEach(singles, async (holder, client, { containers }) => [
      outcomeOf(await client("POST", "/tokens", { body: tokenIn(containers) }), ({ data }) => data),
      expected(shownWherePut(holder, "token:create", containers), (transform) => dataWrittenAs[transform]),
    ]);
    expect(failures).toEqual([]);
  });

  it("to tokenize", async () => {
    const failures = await forEach(singles, async (holder, client, { containers }) => [
      outcomeOf(await client("POST", "/tokenize", { body: [tokenIn(containers)] }), ([made]) => made.data),
      expected(shownWherePut(holder, "token:create", containers), (transform) => dataWrittenAs[transform]),
    ]);
    expect(failures).toEqual([]);
  });

  it("to read", async () => {
    const failures = await forEach([...singles, ...pairs], async (holder, client, { id, containers }) => [
      outcomeOf(await client("GET", `/tokens/${id}`), ({ data }) => data),
      expected(shownTo(holder, "token:read", containers), (transform) => dataShownAs[transform]),
    ]);
    expect(failures).toEqual([]);
  });

  it("to detokenize", async () => {
    const failures = await forEach([...singles, ...pairs], async (holder, client, { id, containers }) => [
      outcomeOf(await client("POST", "/detokenize", { body: { value: `{{ ${id} }}` } }), ({ value }) => value),
      expected(shownTo(holder, "token:read", containers), (transform) => dataShownAs[transform] ?? null),
    ]);
    expect(failures).toEqual([]);
  });

  it("to use", async () => {
    const failures = await forEach(singles, async (holder, client, { id, containers }) => [
      outcomeOf(
        await client("POST", `/reactors/${reactor}/react`, { body: { args: { value: `{{ ${id} }}` } } }),
        ({ raw }) => raw.value,
      ),
      expected(shownTo(holder, "token:use", containers), (transform) => dataShownAs[transform] ?? null),
    ]);
    expect(failures).toEqual([]);
  });

  it("to update", async () => {
    const headers = { "Content-Type": "application/merge-patch+json" };
    const failures = await forEach(singles, async (holder, client, { id, containers }) => {
      const shown = shownTo(holder, "token:update", containers);
      const body = shown === "refused" ? { data: "overwritten", mask: null, metadata: null } : {};
      return [
        outcomeOf(await client("PATCH", `/tokens/${id}`, { headers, body }), ({ data }) => data),
        expected(shown, (transform) => dataWrittenAs[transform]),
      ];
    });
    expect(failures).toEqual([]);
  });

  it("to move from one place to another", async () => {
    const headers = { "Content-Type": "application/merge-patch+json" };
    const movers = singles.filter((holder) => holds(holder, "token:update"));
    const failures = await failuresOf(
      movers.flatMap((holder) =>
        PLACES.flatMap((from) =>
          PLACES.filter((to) => to !== from).map((to) => async () => {
            const shown =
              shownTo(holder, "token:update", from) === "refused"
                ? "refused"
                : shownWherePut(holder, "token:update", [...from, ...to]);
            const shared = tokens.find(({ containers }) => containers === from)?.id ?? "";
            const id = shown === "refused" ? shared : await newToken(from);
            const response = await clientOf(holder)("PATCH", `/tokens/${id}`, { headers, body: { containers: to } });
            const actual = JSON.stringify(outcomeOf(response, ({ containers }) => containers));
            const wanted = JSON.stringify(expected(shown, () => to));
            return actual === wanted ? undefined : `${holder.name}, ${from} to ${to}: ${actual} instead of ${wanted}`;
          }),
        ),
      ),
    );
    expect(failures).toEqual([]);
  });

  it("to delete", async () => {
    const failures = await forEach(singles, async (holder, client, { id: shared, containers }) => {
      const shown = shownTo(holder, "token:delete", containers);
      const id = shown === "refused" ? shared : await newToken(containers);
      const response = outcomeOf(await client("DELETE", `/tokens/${id}`), () => "deleted");
      const { status } = await backEnd("GET", `/tokens/${id}`);
      return [
        { response, status },
        { response: expected(shown, () => "deleted"), status: shown === "refused" ? 200 : 404 },
      ];
    });
    expect(failures).toEqual([]);
  });

  const search = { query: "metadata.matrix:yes" };
  it.each([
    ["list", "token:read", "GET", "/tokens?metadata.matrix=yes&size=100", undefined],
    ["list by cursor", "token:read", "GET", "/v2/tokens?metadata.matrix=yes&size=100", undefined],
    ["search", "token:search", "POST", "/tokens/search", search],
    ["search by cursor", "token:search", "POST", "/v2/tokens/search", search],
  ] as const)("to %s: what is invisible is neither shown nor counted", async (_, permission, verb, path, body) => {
    const failures = await failuresOf(
      [...singles, ...pairs].map((holder) => async () => {
        const response = await clientOf(holder)(verb, path, { body });
        const visible = tokens.flatMap(({ id, containers }) => {
          const shown = shownTo(holder, permission, containers);
          return shown === "refused" ? [] : [[id, dataShownAs[shown] ?? "nothing"]];
        });
        const actual = outcomeOf(response, ({ pagination, data }) => ({
          total: pagination.total_items ?? visible.length,
          items: data.map((item: { id: string; data?: unknown }) => [item.id, item.data ?? "nothing"]),
        }));
        const isHeld = holds(holder, permission);
        const wanted = expected(isHeld ? "reveal" : "refused", () => ({
          total: visible.length,
          items: visible.toReversed(),
        }));
        const [was, should] = [JSON.stringify(actual), JSON.stringify(wanted)];
        return was === should ? undefined : `${holder.name}: ${was} instead of ${should}`;
      }),
    );
    expect(failures).toEqual([]);
  });

  it("leaves every token unchanged for which a request was refused", async () => {
    for (const { id, containers } of tokens) {
      const { body } = await backEnd("GET", `/tokens/${id}`);
      expect(body).toMatchObject({ data: SECRET, mask: MASK, containers, metadata: { matrix: "yes" } });
      expect(body).not.toHaveProperty("modified_at");
    }
  });
});
