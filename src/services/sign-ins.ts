import type { DescService } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { SignInService } from "../../gen/cloakroom/v1/sign_ins_pb.js";
import { callingPerson } from "../access/caller.js";
import { newSecret } from "../access/secret-text.js";
import type { OrdinaryTenantTransaction } from "../audit/tenant-transaction.js";
import { Fault, invalid } from "../base/fault.js";
import { isTenantId, newUuid, type TenantId, VAULT_TENANT_ID } from "../base/ids.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { DeviceSignIn } from "../people/device-sign-in.js";
import type { SignInStep } from "../people/finish-first-factor.js";
import { findKnownBrowser, KNOWN_SECONDS, rememberBrowser } from "../people/known-browser.js";
import type { OpenIdSignIn } from "../people/openid-sign-in.js";
import { isPasskeyAwaited } from "../people/passkey-sign-in.js";
import type { SignInParts } from "../people/refused-sign-ins.js";
import { SIGN_IN_SECONDS } from "../people/sign-in.js";
import { askForSignInLink, takeSignInLink } from "../people/sign-in-link.js";
import { REQUEST_SECONDS } from "../people/sign-in-request.js";
import { endSignIn, identify, listMemberSignIns, type SignedInPerson, type SignIn } from "../people/sign-ins.js";
import type { SoleTenant } from "../people/sole-tenant.js";
import { switchTenant } from "../people/switch-tenant.js";
import type { CookieName, Visit } from "../people/visit.js";
import type { SignInLimits } from "../rate-limits/sign-in-limits.js";
import { requireEmailAddress } from "../tenancy/email-address.js";
import { type Reply, type ServedMethod, serve, showNothing } from "./call.js";
import { allowedOperations } from "./method-roles.js";
import { serveById } from "./serve-by-id.js";
import { storedUuid } from "./show.js";

export interface SignInServiceParts extends SignInParts {
  readonly limits: SignInLimits;
  readonly soleTenant: Pick<SoleTenant, "find">;
  /** Absent: the operator has configured no issuer. */
  readonly openId: OpenIdSignIn | undefined;
  /** Absent with `openId`. */
  readonly device: DeviceSignIn | undefined;
  /** Whether messages are files on the server. */
  readonly mailIsFiled: boolean;
  /** Time without a request after which a sign-in ends, in milliseconds. */
  readonly idleMs: number;
  /** Every service, for the operations of a role. */
  readonly services: readonly DescService[];
}

export function signInService(parts: SignInServiceParts): ServedMethod[] {
  return [...beginnings(parts), ...deviceSignIn(parts), ...ofOneself(parts), ...lists(parts)];
}

/** Methods of people who are not signed in yet. */
function beginnings(parts: SignInServiceParts): ServedMethod[] {
  const { method } = SignInService;
  const { limits, openId } = parts;
  return [
    serve(method.getSignInMethods, async (_request, { visit }) => ({
      methods: ["link", ...(openId ? ["openid"] : [])],
      needsTenant: (await parts.soleTenant.find()) === undefined,
      ...(openId ? { openidIssuer: openId.issuer, openidSecondFactor: openId.provesSecondFactor } : {}),
      awaitsPasskey: await isPasskeyAwaited(parts, visit),
      mailIsFiled: parts.mailIsFiled,
    })),
    serve(method.askForSignInLink, async (request, { visit, reply }) => {
      const email = requireEmailAddress("email", request.email);
      const tenantId = await tenantOf(parts, request.tenantId);
      const id = newUuid();
      const { text: asking, hash } = newSecret("ask", tenantId, id);
      reply.setCookie({ name: "asking", value: asking, maxAge: REQUEST_SECONDS });
      const tenant = await parts.tenants.find(tenantId);
      const browser = tenant && (await findKnownBrowser(tenant, visit.cookie("known"), email));
      if (await limits.allows({ kind: "link", tenantId, email, network: visit.network, browser })) {
        await askForSignInLink(parts, tenantId, { email, id, hash, knownBrowser: browser }, visit);
      }
      return {};
    }),
    serve(method.takeSignInLink, async ({ link }, { visit, reply }) =>
      showStarted(parts, reply, await takeSignInLink(parts, link, visit)),
    ),
    serve(method.beginOpenIdSignIn, async (request, { visit, reply }) => {
      if (!openId) throw invalid("method", "must be link: the operator of this server has configured no issuer");
      const cookieOf = (name: CookieName) => visit.cookie(name);
      const start = { network: visit.network, cookie: cookieOf, isFresh: request.fresh };
      const { url, cookie } = await openId.begin(await tenantOf(parts, request.tenantId), start);
      reply.setCookie({ name: "openid", value: cookie, maxAge: REQUEST_SECONDS });
      return { authorizationUrl: url };
    }),
  ];
}

/** Methods of a program without a browser whose person is not signed in yet. */
function deviceSignIn(parts: SignInServiceParts): ServedMethod[] {
  const { method } = SignInService;
  const required = (): DeviceSignIn => {
    if (parts.device) return parts.device;
    throw new Fault(
      "unprocessable",
      "The operator of this server has configured no issuer, so there are no device codes.",
    );
  };
  return [
    serve(method.beginDeviceSignIn, async (request, { visit, reply }) => {
      const begun = await required().begin(await tenantOf(parts, request.tenantId), visit);
      reply.setCookie({ name: "openid", value: begun.cookie, maxAge: REQUEST_SECONDS });
      return {
        userCode: begun.userCode,
        verificationUri: begun.page,
        ...(begun.pageWithCode === undefined ? {} : { verificationUriComplete: begun.pageWithCode }),
        expiresIn: begun.expiresInSeconds,
        interval: begun.intervalSeconds,
      };
    }),
    serve(method.endDeviceSignIn, async (_request, { visit, reply }) => {
      const ended = await required().end(visit);
      return "waitSeconds" in ended
        ? { result: { case: "waitSeconds" as const, value: ended.waitSeconds } }
        : { result: { case: "signedIn" as const, value: await showStarted(parts, reply, ended) } };
    }),
  ];
}

/** Methods about the sign-in of the request. */
function ofOneself(parts: SignInServiceParts): ServedMethod[] {
  const { method } = SignInService;
  return [
    serve(method.whoAmI, async (_request, call) =>
      call.transact(
        async (tx) => {
          const found = await identify(tx, callingPerson(call.caller));
          return { found, known: await remembered(tx, found, call.visit) };
        },
        ({ found, known }) => {
          if (known) call.reply.setCookie({ name: "known", value: known, maxAge: KNOWN_SECONDS });
          return showIdentified(parts, found);
        },
      ),
    ),
    serve(method.switchTenant, async ({ tenantId }, { caller, visit, reply }) =>
      showStarted(parts, reply, await switchTenant(parts, caller, asTenantId(tenantId), visit)),
    ),
    serve(method.signOut, async (_request, call) => {
      await call.commit((tx) => endSignIn(tx, callingPerson(call.caller).signInId));
      call.reply.setCookie({ name: "sign_in", value: undefined, maxAge: 0 });
      return {};
    }),
  ];
}

function lists(parts: SignInServiceParts): ServedMethod[] {
  const { method } = SignInService;
  return [
    serve(method.listSignIns, async ({ memberId }, call) => {
      const own = callingPerson(call.caller);
      const of = memberId === undefined ? own.memberId : storedUuid(memberId);
      return call.transact(
        (tx) => listMemberSignIns(tx, of, parts.idleMs),
        (found) => ({ data: found.map((item) => show(item, own.signInId, parts.idleMs)) }),
      );
    }),
    serveById(method.endSignIn, endSignIn, showNothing),
  ];
}

/** @throws {Fault} validation_failed if the vault has several tenants and the request names none. */
async function tenantOf({ soleTenant }: SignInServiceParts, given: string | undefined): Promise<TenantId> {
  if (given !== undefined) return asTenantId(given);
  const only = await soleTenant.find();
  if (!only) throw invalid("tenant_id", "must be given: this server has several tenants");
  return only;
}

function asTenantId(text: string): TenantId {
  const id = storedUuid(text);
  if (!isTenantId(id) || id === VAULT_TENANT_ID) throw invalid("tenant_id", "must be the id of a tenant");
  return id;
}

/** Returns a sign-in that has just begun, or that waits for a passkey, and sets its cookie. */
export async function showStarted(
  parts: Pick<SignInServiceParts, "tenants" | "services" | "idleMs">,
  reply: Reply,
  step: SignInStep,
) {
  if (step.kind === "passkey_awaited") {
    reply.setCookie({ name: "passkey", value: step.token, maxAge: REQUEST_SECONDS });
    return { needsPasskey: true };
  }
  const { tenantId, memberId, id: signInId, token } = step;
  const tenant = await parts.tenants.of(tenantId);
  const found = await tenant.ordinary((tx) => identify(tx, { memberId, signInId }));
  reply.setCookie({ name: "sign_in", value: token, maxAge: SIGN_IN_SECONDS });
  return showIdentified(parts, found);
}

/**
 * Lets a member ask for links from this browser whatever others ask for. Pages ask first who is signed in, however the
 * person did.
 */
async function remembered(
  tx: OrdinaryTenantTransaction,
  { person: { memberId }, profile: { email } }: SignedInPerson,
  visit: Visit,
): Promise<Sensitive<string> | undefined> {
  return email === undefined ? undefined : rememberBrowser(tx, { memberId, email }, visit.cookie("known"));
}

function showIdentified({ services, idleMs }: Pick<SignInServiceParts, "services" | "idleMs">, found: SignedInPerson) {
  const { tenantId, tenantName, person, profile, containers, signIn, hasPasskey, secondFactorUntil } = found;
  const { email, firstName, lastName } = profile;
  return {
    tenantId,
    tenantName,
    memberId: person.memberId,
    userId: person.userId,
    role: person.role,
    ...(email === undefined ? {} : { email }),
    ...(firstName === undefined ? {} : { firstName }),
    ...(lastName === undefined ? {} : { lastName }),
    containers: [...containers],
    operations: [...allowedOperations(person.role, services)],
    signIn: show(signIn, person.signInId, idleMs),
    hasPasskey,
    ...(secondFactorUntil ? { strongUntil: timestampFromDate(secondFactorUntil) } : {}),
  };
}

function show({ id, memberId, method, address, client, ...times }: SignIn, current: string, idleMs: number) {
  const idleEnd = Math.min(times.lastSeenAt.getTime() + idleMs, times.expiresAt.getTime());
  return {
    id,
    memberId,
    method,
    address,
    client,
    current: id === current,
    createdAt: timestampFromDate(times.createdAt),
    lastSeenAt: timestampFromDate(times.lastSeenAt),
    idleEndAt: timestampFromDate(new Date(idleEnd)),
    expiresAt: timestampFromDate(times.expiresAt),
  };
}
