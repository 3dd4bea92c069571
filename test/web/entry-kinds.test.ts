import { describe, expect, it } from "vitest";
import { problemOfForm } from "../../clients/elements/src/text-form.js";
import { verificationCodeKind } from "../../src/web/elements/entry-kinds.js";
import { formatExpiration, readExpiration } from "../../src/web/elements/expiration.js";
import { textKind } from "../../src/web/elements/text-form.js";
import { applyMask, fillsMask } from "../../src/web/elements/text-mask.js";

const NOW = new Date(2026, 10, 22);

describe("an expiration date", () => {
  it.each([
    ["1", "1", "incomplete"],
    ["12", "12 / ", "incomplete"],
    ["5", "05 / ", "incomplete"],
    ["1231", "12 / 31", { month: 12, year: 2031 }],
    ["531", "05 / 31", { month: 5, year: 2031 }],
    ["12/31", "12 / 31", { month: 12, year: 2031 }],
    ["1/31", "01 / 31", { month: 1, year: 2031 }],
    ["12/2031", "12 / 2031", { month: 12, year: 2031 }],
    ["12-31", "12 / 31", { month: 12, year: 2031 }],
    ["12 . 2031", "12 / 2031", { month: 12, year: 2031 }],
    ["122031", "12 / 2031", { month: 12, year: 2031 }],
    ["2031-12", "12 / 2031", { month: 12, year: 2031 }],
    ["2031-12-31", "12 / 2031", { month: 12, year: 2031 }],
    ["١٢/٣١", "12 / 31", { month: 12, year: 2031 }],
    ["1326", "13 / 26", "invalid"],
    ["0031", "00 / 31", "invalid"],
    ["1026", "10 / 26", "expired"],
    ["1126", "11 / 26", { month: 11, year: 2026 }],
    ["1299", "12 / 99", "invalid"],
  ])("typed or pasted as %s", (text, formatted, read) => {
    expect(formatExpiration(text)).toBe(formatted);
    expect(formatExpiration(formatted)).toBe(formatted);
    expect(readExpiration(formatted, NOW)).toEqual(read);
  });
});

describe("a verification code", () => {
  it("has the length of the card's brand", () => {
    const visa = verificationCodeKind(() => [3]);
    expect(visa.format("1234x")).toBe("123");
    expect(visa.read("12").problem).toBe("incomplete");
    expect(visa.read("123")).toEqual({ isFull: true, value: "123" });
    const unknown = verificationCodeKind(() => [3, 4]);
    expect(unknown.read("123")).toEqual({ isFull: false, value: "123" });
    expect(unknown.read("1234")).toEqual({ isFull: true, value: "1234" });
  });
});

describe("a text with a mask", () => {
  it.each([
    ["###-##-####", "123456789", "123-45-6789"],
    ["###-##-####", "123-45-6789", "123-45-6789"],
    ["###-##-####", "123", "123"],
    ["###-##-####", "1234", "123-4"],
    ["AA## ####", "de89 3704", "de89 3704"],
    ["AA##", "8de9", "de9"],
    ["(###) ###", "555", "(555"],
  ])("%s takes %s", (mask, text, shown) => {
    expect(applyMask(mask, text)).toBe(shown);
    expect(applyMask(mask, shown)).toBe(shown);
  });

  it("is complete when every place is filled", () => {
    expect(fillsMask("###-##", "123-45")).toBe(true);
    expect(fillsMask("###-##", "123-4")).toBe(false);
  });

  it("is judged by its check digit only as a whole", () => {
    const routing = textKind({ check: "aba" }, () => false);
    expect(routing.read("02100002").problem).toBe("incomplete");
    expect(routing.read("021000021").value).toBe("021000021");
    expect(routing.read("021000022").problem).toBe("invalid");
    const device = textKind({ mask: "## ######", check: "luhn" }, () => false);
    expect([device.read("00 000000").value, device.read("00 000001").problem]).toEqual(["00 000000", "invalid"]);
  });

  it("is handed over when the person has finished, if it may go on", () => {
    for (const form of [{}, { check: "account" as const }]) {
      expect(textKind(form, () => false).read("1234")).toMatchObject({ value: "1234", isOpen: true });
      expect(textKind(form, () => true).read("1234")).toMatchObject({ value: "1234", isOpen: false });
    }
    expect(textKind({ check: "account" }, () => true).read("12").problem).toBe("incomplete");
  });

  it.each([
    // Each would tell whether single digits of the value are those that the page asks for.
    [{ mask: "4###############" }, "may not hold other letters or digits"],
    [{ mask: "#٤#" }, "may not hold other letters or digits"],
    [{ mask: "#", check: "luhn" as const }, "check luhn needs a mask of at least 8 digits"],
    [{ mask: "A#######*", check: "luhn" as const }, "check luhn needs a mask of at least 8 digits"],
    [{ check: "luhn" as const }, "check luhn needs a mask of at least 8 digits"],
    [{ mask: "####", check: "aba" as const }, "check aba has the mask"],
    [{ mask: "####", check: "account" as const }, "check account has no mask"],
    [{ mask: "--" }, "mask must hold places"],
  ])("cannot be %o, and takes nothing then", (form, problem) => {
    expect(problemOfForm(form)).toContain(problem);
    expect(textKind(form, () => true).read("4")).toEqual({ isFull: false, problem: "unsupported" });
  });
});
