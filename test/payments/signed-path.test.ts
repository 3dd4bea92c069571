import { expect, it } from "vitest";
import { compactUuid } from "../../src/base/compact-uuid.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { decodeSignedPath } from "../../src/payments/signed-path.js";

it("our reference at a payment service is not taken for an address of ours", () => {
  for (const text of ["", compactUuid(newUuid()), compactUuid(newTenantId()).repeat(4), "-".repeat(66)]) {
    expect(decodeSignedPath(text)).toBeUndefined();
  }
});
