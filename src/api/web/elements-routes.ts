import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { parseKeyName } from "../../access/frame-pass.js";
import type { FramePasses } from "../../access/frame-passes.js";
import { Fault, invalid } from "../../base/fault.js";
import { OWN_PAGE_HEADERS } from "../browser/security-headers.js";
import type { ReadClient } from "../connection/client-address.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { sendFault } from "../faults/send-fault.js";
import { type Observation, type Observe, toFault } from "../observation/observation.js";
import { readTrace, requestTraceId } from "../observation/trace.js";
import { messagePage } from "./message-page.js";
import { registerNotice } from "./notice.js";
import { IMMUTABLE, sendFile } from "./send-file.js";
import type { WebBuild } from "./web-build.js";
import { pageHeaders, renderDocument } from "./web-page.js";

const PORTAL = { config: { rateScope: "portal" } } as const;
const FRAME = "/elements/v1/frame";
const PASS = "/elements/v1/pass";

/** The titles of frames, by `type`. Only the controller may call the API. */
const TITLES: Readonly<Record<string, string>> = {
  controller: "Secure connection",
  cardNumber: "Card number",
  cardExpirationDate: "Expiration date",
  cardVerificationCode: "Verification code",
  card: "Card",
  text: "Secure field",
  reveal: "Protected value",
  copy: "Copy a protected value",
};

/** Frames are for pages of other origins and other policies: a page with COEP loads only frames that have it too. */
const FRAME_HEADERS = {
  "cross-origin-resource-policy": "cross-origin",
  "cross-origin-embedder-policy": "require-corp",
  "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
  // The response depends on the allowed origins, which may change.
  "cache-control": "private, max-age=30",
} as const;

export interface ElementsParts {
  readonly build: WebBuild;
  readonly passes: FramePasses;
  readonly readClient: ReadClient;
  readonly observe: Observe;
}

/** Serves the loader of hosted fields and their frames, without a key. */
export function registerElements(app: FastifyInstance, parts: ElementsParts): void {
  const { build, observe } = parts;
  registerLoader(app, build);
  registerNotice(app, build, FRAME_HEADERS);
  registerPass(app, parts);
  app.get(FRAME, PORTAL, async (request, reply) => {
    const observation = observe({ rpc: "LoadFrame", route: FRAME, ...readTrace(request.raw) });
    try {
      requireFrame(request);
      return await sendFrame(request, reply, parts, observation);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const { http: status } = FAULT_TABLE[error.code];
      observation.fail(status, error);
      // Without an origin that may show it: the browser tells the page nothing, and the loader explains.
      return reply
        .code(status)
        .headers({ ...pageHeaders({}), "cache-control": "no-store" })
        .send(messagePage(error.message));
    }
  });
}

/** Gives the controller's document another pass in place of one that ends. Its body, if it has one, is not read. */
function registerPass(app: FastifyInstance, { passes, readClient, observe }: ElementsParts): void {
  app.post(PASS, PORTAL, async (request, reply) => {
    const observation = observe({ rpc: "RenewPass", route: PASS, ...readTrace(request.raw) });
    reply.header("cache-control", "no-store");
    hideFromPages(reply);
    try {
      const { pass, until } = await passes.renew(sentPassOf(request), readClient(request.raw));
      observation.end(200);
      return reply.send({ pass, expires_at: until.toISOString() });
    } catch (error) {
      const fault = toFault(error);
      observation.fail(FAULT_TABLE[fault.code].http, fault);
      return sendFault(reply, fault, requestTraceId(request.raw));
    }
  });
}

/**
 * Only a document of the vault may ask. Browsers say so, and a request from elsewhere would need a pass already.
 * @throws {Fault} permission_denied for a request from elsewhere; validation_failed without a pass.
 */
function sentPassOf({ headers }: FastifyRequest): string {
  if (headers["sec-fetch-site"] !== "same-origin") {
    throw new Fault("permission_denied", "Only hosted fields renew their pass.");
  }
  const sent = headers["cloakroom-frame"];
  if (typeof sent === "string") return sent;
  throw invalid("cloakroom-frame", "must be sent, with the pass to renew");
}

async function sendFrame(
  request: FastifyRequest,
  reply: FastifyReply,
  { build, passes, readClient }: ElementsParts,
  observation: Observation,
): Promise<FastifyReply> {
  const type = parameter(request, "type");
  const title = Object.hasOwn(TITLES, type) ? TITLES[type] : undefined;
  if (title === undefined) throw new Fault("validation_failed", "There is no field of this type.");
  const key = parseKeyName(parameter(request, "key"));
  const framed = key && (await passes.issue(key, readClient(request.raw)));
  if (!framed) throw new Fault("not_found", "The key of this field does not exist or is no longer valid.");
  const isController = type === "controller";
  const { origins, pass } = framed;
  const data = { type, key: parameter(request, "key"), origins, ...(isController ? { pass } : {}) };
  observation.end(200);
  hideFromPages(reply);
  return reply
    .headers({
      ...pageHeaders({ ...(isController ? { connect: "'self'" } : {}), frameAncestors: origins }),
      ...FRAME_HEADERS,
      // Each of its documents has a pass of its own.
      ...(isController ? { "cache-control": "no-store" } : {}),
    })
    .send(renderDocument(build, { title, entry: isController ? "elements/controller" : "elements/field", data }));
}

/** The document holds a pass. Browsers that do not say what they load it for must not give it to a page's script either. */
function hideFromPages(reply: FastifyReply): void {
  reply.raw.removeHeader("access-control-allow-origin");
  reply.raw.removeHeader("access-control-expose-headers");
}

/** @throws {Fault} permission_denied for a browser that loads a frame as a page, script or the like. */
function requireFrame({ headers }: FastifyRequest): void {
  const dest = headers["sec-fetch-dest"] ?? "iframe";
  if (dest === "iframe" && headers["service-worker"] === undefined) return;
  throw new Fault("permission_denied", "This address is a field for other pages. It opens in a frame only.");
}

function parameter({ query }: FastifyRequest, name: string): string {
  const value = typeof query === "object" && query !== null ? Reflect.get(query, name) : undefined;
  return typeof value === "string" ? value : "";
}

/** The loader, at an address that pages can keep and at one with a hash, for Subresource Integrity. */
function registerLoader(app: FastifyInstance, build: WebBuild): void {
  const { file: name } = build.entry("elements/elements");
  const file = build.files.get(name);
  if (!file) throw new Error(`dist/web has no ${name}: run npm run build`);
  const hash = /-([^.]+)\.js$/.exec(name)?.[1] ?? "";
  const etag = `"${hash}"`;
  app.get("/elements/v1/elements.js", PORTAL, (request, reply) => {
    reply.headers({ ...LOADER_HEADERS, etag, "cache-control": "public, max-age=300" });
    if (request.headers["if-none-match"]?.includes(etag)) return reply.code(304).send();
    return sendFile(request, reply, file);
  });
  app.get(`/elements/v1/${hash}/elements.js`, PORTAL, (request, reply) =>
    sendFile(request, reply.headers({ ...LOADER_HEADERS, "cache-control": IMMUTABLE }), file),
  );
  const integrity = `sha384-${createHash("sha384").update(file.content).digest("base64")}`;
  const described = Buffer.from(JSON.stringify({ path: `/elements/v1/${hash}/elements.js`, integrity }));
  app.get("/elements/v1/version.json", PORTAL, (_request, reply) =>
    reply
      .headers({ ...LOADER_HEADERS, "cache-control": "no-cache" })
      .type("application/json")
      .send(described),
  );
}

/** Pages of any origin load it, and check its integrity, which needs CORS. */
const LOADER_HEADERS = {
  ...OWN_PAGE_HEADERS,
  "cross-origin-resource-policy": "cross-origin",
  "access-control-allow-origin": "*",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;
