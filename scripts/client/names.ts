/** How a service of the protos appears in the client. */
export interface ResourceName {
  readonly service: string;
  /** Property of the client, such as `tokens` in `client.tokens`. */
  readonly property: string;
  readonly className: string;
  readonly file: string;
  /** What the rpc names of the service repeat: CreateToken becomes `create`. */
  readonly noun: string;
  /** The thin browser entry has it: pages collect and show values with it. */
  readonly inBrowser?: boolean;
  /** Keys may not call it. The client for Node has it, for people who are signed in with the command line. */
  readonly isForPeople?: boolean;
  /** The class of the client's own that adds to what the protos describe. */
  readonly base?: string;
}

export const RESOURCES: readonly ResourceName[] = [
  resource("TokenService", "tokens", "Token", { inBrowser: true }),
  resource("ApplicationService", "applications", "Application"),
  resource("ApplicationKeyService", "applicationKeys", "ApplicationKey"),
  resource("PermissionService", "permissions", "Permission"),
  resource("SessionService", "sessions", "Session", { inBrowser: true }),
  resource("ProxyService", "proxies", "Proxy", { base: "ProxyCalls" }),
  resource("ReactorService", "reactors", "Reactor"),
  resource("ReactorFormulaService", "reactorFormulas", "ReactorFormula"),
  resource("ConnectionService", "connections", "Connection"),
  resource("TransactionService", "transactions", "Transaction"),
  resource("ThreeDSService", "threeDS", "ThreeDS", { inBrowser: true }),
  resource("WebhookService", "webhooks", "Webhook"),
  resource("TokenExportService", "tokenExports", "TokenExport", { isForPeople: true }),
  resource("LogService", "logs", "Log"),
  // `Tenant` is the message that it reads.
  resource("TenantService", "tenant", "Tenant", { className: "OwnTenant" }),
  resource("MemberService", "members", "Member"),
  resource("InvitationService", "invitations", "Invitation"),
  resource("ServerService", "server", "Server"),
];

/** Services that only the vault's own pages can call: they need cookies. */
export const SERVICES_OF_PAGES: readonly string[] = ["SignInService", "PasskeyService", "RevealService"];

/** Streams that end by themselves: the client reads the same by pages. */
export const LEFT_OUT: ReadonlySet<string> = new Set(["ExportTokens"]);

/** The service whose methods are methods of the client itself. */
export const CLIENT_METHODS = "TokenizeService";

/** Lists by cursor are what callers want: an offset skips rows when others write. */
const METHOD_NAMES: ReadonlyMap<string, string> = new Map([
  ["ListTokensByCursor", "list"],
  ["SearchTokensByCursor", "search"],
  ["ListTokens", "listByOffset"],
  ["SearchTokens", "searchByOffset"],
  ["ExportTokenPage", "export"],
]);

/** Methods that change nothing, or nothing more when they are repeated, and are no GET on REST. No option of the protos says it. */
export const READING_CALLS: ReadonlySet<string> = new Set([
  "SearchTokens",
  "SearchTokensByCursor",
  "ImportTokens",
  "ExportTokenPage",
  "Detokenize",
  "ExplainAccess",
  "GetServerVersion",
]);

export function methodName(rpc: string, noun: string): string {
  const named = METHOD_NAMES.get(rpc);
  if (named !== undefined) return named;
  const short = noun === "" ? rpc : rpc.replace(new RegExp(`${pluralOf(noun)}|${noun}(?=$|[A-Z])`), "");
  return `${short.charAt(0).toLowerCase()}${short.slice(1)}`;
}

/** Messages whose `id` is an id of its own kind, and the kind where it is not the name of the message. */
const ID_KINDS: ReadonlyMap<string, string> = new Map([
  ...["Token", "Application", "ApplicationKey", "Proxy", "Reactor", "ReactorFormula", "Connection", "Transaction"].map(
    same,
  ),
  ...["Refund", "Log", "Member", "User", "Invitation", "Tenant", "ThreeDSSession", "Webhook", "TokenExport"].map(same),
  ["Session", "Session"],
  ["OpenSession", "Session"],
  ["CreateThreeDSSessionResponse", "ThreeDSSession"],
  ["ApplicationReference", "Application"],
  ["ReactorFormulaReference", "ReactorFormula"],
  ["TransactionConnection", "Connection"],
]);

export const ID_TYPES: readonly string[] = [...new Set(ID_KINDS.values())].toSorted();

/** The kind of the id that a field of a message holds; undefined where it holds none. */
export function idKindOf(message: string, field: string): string | undefined {
  if (field === "id") return ID_KINDS.get(message);
  const [, noun] =
    /^(?:request_|response_)?(tenant|token|application|connection|transaction|reactor)_id$/.exec(field) ?? [];
  return noun === undefined ? undefined : `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`;
}

/** The kind of the id in a path: `id` is the resource's own, or the one that a list belongs to. */
export function pathIdKind(service: string, rpc: string, variable: string): string | undefined {
  if (variable === "key_id") return "ApplicationKey";
  if (variable !== "id") return undefined;
  if (rpc === "GetRefund") return "Refund";
  if (service === "ThreeDSService") return "ThreeDSSession";
  if (service === "ApplicationKeyService") return "Application";
  return ID_KINDS.get(service.replace(/Service$/, ""));
}

function same(name: string): readonly [string, string] {
  return [name, name];
}

function pluralOf(noun: string): string {
  return noun.endsWith("y") && !noun.endsWith("ey") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

function resource(
  service: string,
  property: string,
  noun: string,
  {
    inBrowser = false,
    isForPeople = false,
    className = `${property.charAt(0).toUpperCase()}${property.slice(1)}`,
    base = "Resource",
  } = {},
): ResourceName {
  return {
    service,
    property,
    className,
    file: property.replace(/[A-Z]+/g, (letters) => `-${letters.toLowerCase()}`),
    noun,
    inBrowser,
    isForPeople,
    base,
  };
}
