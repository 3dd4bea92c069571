import { describe, expect, it } from "vitest";
import { readGuestImage, readPackage } from "../../src/sandbox/engine/quickjs/guest-image.js";

describe("a server that is installed without the packages of tenants' code", () => {
  it("starts its runner, and finds none of them", async () => {
    const image = await readGuestImage("dist/sandbox", undefined);
    expect(image.packages.size).toBe(0);
    expect(readPackage(image, "stripe")).toBeUndefined();
  });

  it("finds those of a folder by the name that code requires", async () => {
    const image = await readGuestImage("dist/sandbox", "dist/sandbox/packages");
    expect(readPackage(image, "@adyen/api-library")?.length).toBeGreaterThan(1_000);
  });
});
