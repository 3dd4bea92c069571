import { describe, expect, it } from "vitest";
import { isFromBrowser, refuseLoadAsPage, requirePageLoad } from "../../../src/api/browser/fetch-metadata.js";

const REFUSED = expect.objectContaining({ code: "permission_denied" });
const outcome = (check: () => void): unknown => {
  try {
    check();
    return "passes";
  } catch (error) {
    return error;
  }
};

describe("a tenant's content", () => {
  it.each([
    ...["document", "iframe", "frame", "fencedframe", "object", "embed", "script", "json", "style", "font", "xslt"],
    ...["worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet", "manifest", "report", "webidentity"],
    ...["speculationrules", "websocket", "a-destination-of-tomorrow", "", "empty, document"],
  ])("is not loaded by a browser as %s", (dest) => {
    for (const mode of ["navigate", "cors", "no-cors", "same-origin"]) {
      const headers = { "sec-fetch-site": "same-origin", "sec-fetch-mode": mode, "sec-fetch-dest": dest };
      expect(outcome(() => refuseLoadAsPage(headers))).toEqual(REFUSED);
    }
  });

  it.each(["empty", "image", "audio", "video", "track"])("is loaded by a browser as %s", (dest) => {
    for (const mode of ["cors", "no-cors", "same-origin"]) {
      const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest };
      expect(outcome(() => refuseLoadAsPage(headers))).toBe("passes");
    }
  });

  it.each([
    { "sec-fetch-mode": "navigate" },
    { "sec-fetch-mode": "navigate", "sec-fetch-dest": "empty" },
    { "sec-fetch-mode": "websocket", "sec-fetch-dest": "empty" },
    { "sec-fetch-dest": "empty", "sec-fetch-mode": "no-cors", "sec-purpose": "prefetch;prerender" },
    { "sec-fetch-dest": "empty", "sec-fetch-mode": "no-cors", purpose: "prefetch" },
    { "service-worker": "script" },
    { "upgrade-insecure-requests": "1" },
    { "service-worker": "script", "sec-fetch-dest": "empty", "sec-fetch-mode": "cors" },
  ])("is not loaded with %j", (headers) => {
    expect(outcome(() => refuseLoadAsPage(headers))).toEqual(REFUSED);
  });

  it("is served to clients that are not browsers", () => {
    expect(outcome(() => refuseLoadAsPage({}))).toBe("passes");
    // What Node's fetch() sends.
    const ofNode = { "sec-fetch-mode": "cors", "user-agent": "node", accept: "*/*" };
    expect(outcome(() => refuseLoadAsPage(ofNode))).toBe("passes");
    expect([isFromBrowser(ofNode), isFromBrowser({ "user-agent": "Mozilla/5.0" })]).toEqual([false, false]);
  });
});

describe("a page of the vault", () => {
  it.each([undefined, "empty", "document", "iframe", "frame"])("is shown as %s", (dest) => {
    expect(outcome(() => requirePageLoad(dest === undefined ? {} : { "sec-fetch-dest": dest }))).toBe("passes");
  });

  it.each(["script", "style", "worker", "serviceworker", "font", "image", "object", "embed", "manifest"])(
    "is not loaded as %s",
    (dest) => {
      expect(outcome(() => requirePageLoad({ "sec-fetch-dest": dest }))).toEqual(REFUSED);
    },
  );

  it("is not served as a service worker script", () => {
    expect(outcome(() => requirePageLoad({ "service-worker": "script" }))).toEqual(REFUSED);
  });
});
