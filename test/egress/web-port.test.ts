import { describe, expect, it } from "vitest";
import { isWebPort } from "../../src/egress/web-port.js";

describe("ports that tenants may name", () => {
  it.each([80, 443, 1024, 3000, 4443, 5000, 8000, 8080, 8443, 9443, 49_152, 65_535])("%i is open", (port) => {
    expect(isWebPort(port)).toBe(true);
  });

  it.each([
    -1,
    0,
    1,
    21,
    22,
    23,
    25,
    53,
    110,
    143,
    389,
    442,
    444,
    465,
    587,
    636,
    993,
    1023,
    2049,
    2375,
    3306,
    5060,
    5432,
    6000,
    6379,
    6667,
    9042,
    10_080,
    10_250,
    11_211,
    27_017,
    65_536,
    443.5,
    Number.NaN,
  ])("%d is closed", (port) => {
    expect(isWebPort(port)).toBe(false);
  });
});
