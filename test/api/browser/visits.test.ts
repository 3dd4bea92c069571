import { describe, expect, it } from "vitest";
import { createVisits } from "../../../src/api/browser/visits.js";
import { Sensitive } from "../../../src/crypto/sensitive.js";

const visitsAt = (address: string) =>
  createVisits({ address: () => address, readAddress: () => "", readNetwork: () => "" });
const cookieAt = (address: string) =>
  visitsAt(address).setCookie({ name: "sign_in", value: new Sensitive("secret"), maxAge: 60 });

describe("a cookie", () => {
  it("has the prefix __Host- and Secure over HTTPS", () => {
    expect(cookieAt("https://vault.example.com")).toMatch(
      /^__Host-cloakroom-sign-in-[0-9a-f]{8}=secret; Path=\/; HttpOnly; SameSite=Strict; Max-Age=60; Secure$/,
    );
  });

  it("has neither on loopback without TLS, and another name for each port", () => {
    const [one = "", other = ""] = [8080, 8081].map((port) => cookieAt(`http://127.0.0.1:${port}`));
    expect(one).not.toMatch(/__Host-|Secure/);
    expect(one.split("=")[0]).not.toBe(other.split("=")[0]);
  });
});
