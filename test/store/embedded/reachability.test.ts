import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { canAccessDirectory, inaccessibleParent, ownAccount } from "../../../src/store/embedded/server-account.js";
import { isRoot, scratch } from "./support/databases.js";

const UID = 40_001;
const GID = 40_002;
const account = { uid: UID, gid: GID, label: "somebody", spawnAs: {} };

describe("whether an account may enter", () => {
  it.runIf(isRoot).each([
    { owner: [UID, 0], mode: 0o700, may: true },
    { owner: [UID, 0], mode: 0o077, may: false },
    { owner: [0, GID], mode: 0o710, may: true },
    { owner: [0, GID], mode: 0o701, may: false },
    { owner: [0, 0], mode: 0o711, may: true },
    { owner: [0, 0], mode: 0o776, may: false },
  ] as const)("$mode of $owner: $may", async ({ owner, mode, may }) => {
    const directory = scratch();
    chownSync(directory, owner[0], owner[1]);
    chmodSync(directory, mode);
    expect(await canAccessDirectory(directory, account)).toBe(may);
  });

  it("is decided by the topmost closed directory, regardless of those below, and not by the place itself", async () => {
    const own = ownAccount();
    const top = scratch();
    const deep = join(top, "a", "b", "c");
    mkdirSync(deep, { recursive: true });
    const other = { ...own, uid: own.uid + 1, gid: own.gid + 1 };
    expect(await inaccessibleParent(deep, other)).toBeUndefined();
    chmodSync(deep, 0o700);
    expect(await inaccessibleParent(deep, other)).toBeUndefined();
    chmodSync(join(top, "a", "b"), 0o700);
    expect(await inaccessibleParent(deep, other)).toBe(join(top, "a", "b"));
    chmodSync(join(top, "a"), 0o700);
    expect(await inaccessibleParent(deep, other)).toBe(join(top, "a"));
    expect(await inaccessibleParent(deep, own)).toBeUndefined();
    expect(await inaccessibleParent(join(top, "not", "made", "yet"), other)).toBeUndefined();
  });
});
