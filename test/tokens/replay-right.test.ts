import { describe, expect, it } from "vitest";
import type { Transform } from "../../src/access/access-rule.js";
import { Grant } from "../../src/access/grant.js";
import { type KeptToken, type ReplayedColumns, replayRight } from "../../src/tokens/replay-right.js";
import { rightsOf } from "../access/rights.js";

const CREATED = new Date("2026-01-01T00:00:00Z");
const LATER = new Date("2026-01-02T00:00:00Z");

const kept: KeptToken = {
  ...{ id: "order-1", type: "card", containers: ["/a/"], createdAt: CREATED },
  ...{ modifiedAt: undefined, deduplicated: false },
};
const same: ReplayedColumns = { type: "card", containers: ["/a/"], created_at: CREATED, modified_at: null };
const DELETED = undefined;
const CHANGED = { ...same, modified_at: LATER };
const MOVED = { ...same, containers: ["/b/"] };
/** A token that was given the same id after the first was deleted. */
const OTHER = { ...same, type: "token", containers: ["/b/"], created_at: LATER };
const DEDUPED: KeptToken = { ...kept, deduplicated: true };

type Outcome = "denied" | "kept" | Transform;

function outcomeOf(
  permission: "create" | "update",
  lines: readonly string[],
  of: KeptToken,
  now?: ReplayedColumns,
): Outcome {
  const right = replayRight(new Grant(rightsOf(...lines)), `token:${permission}`, of, now);
  return right.kind === "shown" ? right.transform : right.kind;
}

describe("the replay of a token that was created", () => {
  it.each<[string, readonly string[], KeptToken, ReplayedColumns | undefined, Outcome]>([
    ["is shown by the right to create", ["/a/ mask create"], kept, same, "mask"],
    ["is redacted once that right says so", ["/a/ redact create", "/ reveal read"], kept, same, "redact"],
    ["is denied once that right is gone", ["/ reveal read"], kept, same, "denied"],
    ["is denied in a container where nothing may be created", ["/a/ mask create"], kept, MOVED, "denied"],
    ["is shown in a container where it may", ["/ mask create"], kept, MOVED, "mask"],
    ["has only what was kept if it was changed since", ["/a/ mask create"], kept, CHANGED, "kept"],
    ["shows later changes with the right to read", ["/a/ mask create", "/a/ redact read"], kept, CHANGED, "redact"],
    ["has only what was kept if it is deleted", ["/a/ mask create"], kept, DELETED, "kept"],
    ["is denied if it is deleted, too", ["/b/ mask create"], kept, DELETED, "denied"],
    ["is not another token with the same id", ["/ mask create", "/ reveal read"], kept, OTHER, "kept"],
    ["needs no right for the place of another token", ["/a/ mask create"], kept, OTHER, "kept"],
    ["needs the right to read an older token with its content", ["/ mask create"], DEDUPED, same, "kept"],
    ["shows such an older token by that right", ["/ mask create", "/ reveal read"], DEDUPED, same, "reveal"],
    ["of an older token is not denied: it was found without a right", ["/b/ mask create"], DEDUPED, same, "kept"],
  ])("%s", (_, lines, of, now, expected) => {
    expect(outcomeOf("create", lines, of, now)).toBe(expected);
  });
});

describe("the replay of a token that was patched", () => {
  it.each<[string, readonly string[], ReplayedColumns | undefined, Outcome]>([
    ["is shown by the right to update", ["/a/ mask update"], same, "mask"],
    ["shows later changes, because its author may see their mask", ["/a/ mask update"], CHANGED, "mask"],
    ["is denied once that right is gone", ["/ reveal read"], same, "denied"],
    ["is denied in a container without it", ["/a/ mask update"], MOVED, "denied"],
    ["has only what was kept if it is deleted", ["/a/ mask update"], DELETED, "kept"],
    ["is not another token with the same id", ["/ reveal update"], OTHER, "kept"],
  ])("%s", (_, lines, now, expected) => {
    expect(outcomeOf("update", lines, kept, now)).toBe(expected);
  });
});

it("the log names the type of the token that the replay is about", () => {
  const grant = new Grant(rightsOf("plain create"));
  expect(replayRight(grant, "token:create", kept, OTHER).type).toBe("card");
  expect(replayRight(grant, "token:create", kept, same).type).toBe("card");
});
