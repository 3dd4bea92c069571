import { create, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LogSchema } from "../../../clients/typescript/src/proto/cloakroom/v1/logs_pb.js";
import { TokenSchema } from "../../../clients/typescript/src/proto/cloakroom/v1/tokens_pb.js";
import { filledParams } from "../../../src/web/console/filled-params.js";
import { writeCsv } from "../../../src/web/console/screens/log/csv.js";
import { groupCalls } from "../../../src/web/console/screens/log/log-calls.js";
import { logRequest, readFilters } from "../../../src/web/console/screens/log/log-filters.js";
import { formatMoney } from "../../../src/web/console/screens/payments/money.js";
import { hasPlainMetadata, tokenProperties, tokenUpdate } from "../../../src/web/console/screens/tokens/token-draft.js";
import { isQuery, readSearch } from "../../../src/web/console/screens/tokens/token-query.js";

const NOW = Date.UTC(2026, 10, 22, 12, 0, 30);
const HOSTILE = ["/", "%2F", "..", "\\", "#", "?a=b&c", "<b>", "שלום", "😀", "a b", "+"];

describe("exported rows", () => {
  it("are read back as they were, and no cell is a formula", () => {
    const cell = fc.string({ unit: "grapheme", minLength: 1 });
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1 }), (lines) => {
        const read: string[][] = parse(writeCsv(lines), { recordDelimiter: "\r\n" });
        for (const [row, line] of lines.entries()) {
          for (const [column, text] of line.entries()) {
            const got = read[row]?.[column] ?? "";
            expect(got).not.toMatch(/^[=+\-@\t\r]/);
            expect([text, `'${text}`]).toContain(got);
          }
        }
      }),
    );
  });
});

describe("filters of the log", () => {
  it("survive the address, whatever they contain", () => {
    for (const text of HOSTILE) {
      const params = new URLSearchParams(filledParams({ entity_id: text, destination_host: text }).toString());
      expect(readFilters(params)).toMatchObject({ entity_id: text, destination_host: text });
    }
  });

  it("search a day where the server needs a window, and everything otherwise", () => {
    const requestFor = (query: string) => logRequest(readFilters(new URLSearchParams(query)), NOW);
    const day = "2026-11-21T12:00:00.000Z";
    expect(requestFor("")).toEqual({});
    expect(requestFor("entity_id=x")).toEqual({ entityId: "x" });
    expect(requestFor("outcome=denied")).toEqual({ outcome: "denied" });
    for (const [query, filter] of [
      ["outcome=allowed", { outcome: "allowed" }],
      ["trace_id=t", { traceId: "t" }],
      ["operation=read", { operation: "read" }],
      ["key_id=k", { keyId: "k" }],
    ] as const) {
      expect(requestFor(query)).toEqual({ ...filter, startDate: day });
    }
    expect(requestFor("key_id=k&actor_id=a")).toEqual({ keyId: "k", actorId: "a" });
    expect(requestFor("from=nonsense")).toEqual({});
  });
});

describe("a search for tokens", () => {
  it("tells queries from ids", () => {
    for (const query of [
      "type:card",
      "metadata.order id:7",
      "fingerprint:x",
      "data:a",
      "NOT type:card",
      "(id:a OR id:b)",
    ])
      expect([query, isQuery(query)]).toEqual([query, true]);
    for (const id of ["order:1", "01980f70-1a2b-7c4d-9e5f-60718293a4b5", "typecard", "subtype:card", '"type:card"'])
      expect([id, isQuery(id)]).toEqual([id, false]);
  });

  it("covers what is below a container, and lists by cursor where one term allows it", () => {
    expect(readSearch("", "")).toEqual({ query: undefined, isByCursor: true });
    expect(readSearch("type:card", "pci/high")).toEqual({
      query: "type:card AND container:/pci/high/*",
      isByCursor: true,
    });
    expect(readSearch("", "/")).toEqual({ query: "container:/*", isByCursor: true });
    expect(readSearch('data:"this OR that (both)"', "")).toMatchObject({ isByCursor: true });
    expect(readSearch("type:card OR type:bank", "/pci/")).toEqual({
      query: "(type:card OR type:bank) AND container:/pci/*",
      isByCursor: false,
    });
    for (const query of ["type:card AND data:x", "NOT type:card", "-type:card", "id:a", "type:card !data:x"])
      expect([query, readSearch(query, "").isByCursor]).toEqual([query, false]);
  });
});

describe("amounts", () => {
  it("have the digits of their currency", () => {
    expect(formatMoney(123_456n, "USD")).toMatch(/1.234.56/);
    expect(formatMoney(1_000n, "JPY")).toMatch(/1.000$/);
    expect(formatMoney(1_234n, "KWD")).toMatch(/1.234$/);
    expect(formatMoney(1n, "not a currency")).toContain("minor units");
  });
});

describe("the rows of calls", () => {
  it("are all shown once, in their order, and only those of one actor, trace and moment stand together", () => {
    const row = fc.record({
      traceId: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
      actorId: fc.constantFrom("one", "other"),
      seconds: fc.integer({ min: 0, max: 40 }),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 30 }), (drafts) => {
        const rows = drafts
          .toSorted((one, other) => other.seconds - one.seconds)
          .map(({ traceId, actorId, seconds }, at) => {
            const createdAt = { seconds: BigInt(seconds), nanos: 0 };
            return create(LogSchema, { id: String(at), traceId, actorId, createdAt });
          });
        const calls = groupCalls(rows);
        const all = calls.flatMap(({ first, others }) => [first, ...others]);
        expect(all.toSorted((one, other) => Number(one.id) - Number(other.id))).toEqual(rows);
        for (const { first, others } of calls) {
          const ofCall = [first, ...others];
          expect(ofCall.map(({ id }) => Number(id))).toEqual(
            ofCall.map(({ id }) => Number(id)).toSorted((a, b) => a - b),
          );
          if (others.length > 0) expect(first.traceId).toBeDefined();
          expect(new Set(ofCall.map(({ traceId, actorId }) => `${traceId} ${actorId}`)).size).toBe(1);
          for (const [at, { createdAt }] of others.entries()) {
            expect(Number((ofCall[at]?.createdAt?.seconds ?? 0n) - (createdAt?.seconds ?? 0n))).toBeLessThanOrEqual(10);
          }
        }
      }),
    );
  });
});

describe("an edited token", () => {
  const metadata = fc.dictionary(fc.string({ minLength: 1, maxLength: 6 }), fc.string({ maxLength: 6 }), {
    maxKeys: 4,
  });
  const plainText = fc.stringMatching(/^[a-z]{1,5}$/);
  const plain = fc.dictionary(plainText, plainText, { maxKeys: 4 });

  it("asks for no change while the form says what the vault has", () => {
    fc.assert(
      fc.property(metadata, (entries) => {
        const token = create(TokenSchema, { id: "t", metadata: entries, containers: ["/a/", "/b/"] });
        const request = tokenUpdate(token, tokenProperties(token));
        expect(request).toMatchObject({ id: "t", updateMask: { paths: [] } });
        expect(Object.keys(request).toSorted()).toEqual(["id", "updateMask"]);
      }),
    );
  });

  it("has the metadata of the form once the patch is merged, and is not offered metadata that lines cannot hold", () => {
    fc.assert(
      fc.property(metadata, plain, (before, after) => {
        const token = create(TokenSchema, { metadata: before });
        if (!hasPlainMetadata(token)) {
          const isHard = ([name, value]: [string, string]) => /[=\n]|^\s|\s$/.test(name) || value.includes("\n");
          expect(Object.entries(before).some(isHard)).toBe(true);
          return;
        }
        const draft = { ...tokenProperties(create(TokenSchema, { metadata: after })), containers: "", expiresAt: "" };
        const { metadata: patch } = tokenUpdate(token, draft);
        const merged = new Map(Object.entries(before));
        for (const [name, value] of Object.entries(
          patch ? Object(toJson(ValueSchema, create(ValueSchema, patch))) : {},
        )) {
          if (value === null) merged.delete(name);
          else merged.set(name, String(value));
        }
        expect(Object.fromEntries(merged)).toEqual(after);
      }),
    );
  });
});
