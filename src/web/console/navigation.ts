import type { IconName } from "./components/icon.js";
import { type LazyScreen, lazyScreen } from "./lazy-screen.js";
import { Start } from "./screens/start/start.js";

/** A screen with an address of its own. */
export interface NavigationItem extends LazyScreen {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  /** Without it the screen shows nothing, so it is not offered. */
  readonly operation: string;
}

export interface NavigationGroup {
  readonly name: string;
  readonly items: readonly NavigationItem[];
}

const START: NavigationItem = {
  path: "/",
  name: "Home",
  icon: "home",
  operation: "TenantService/GetTenant",
  Screen: Start,
  retry: () => {},
};

const TOKENS: NavigationItem = {
  path: "/tokens",
  name: "Tokens",
  icon: "token",
  operation: "TokenService/SearchTokensByCursor",
  ...lazyScreen(() => import("./screens/tokens/tokens.js")),
};

const ACCESS: NavigationItem = {
  path: "/access",
  name: "Who can see this?",
  icon: "eye",
  operation: "PermissionService/ExplainAccess",
  ...lazyScreen(() => import("./screens/access/access.js")),
};

const APPLICATIONS: NavigationItem = {
  path: "/applications",
  name: "Applications",
  icon: "key",
  operation: "ApplicationService/ListApplications",
  ...lazyScreen(() => import("./screens/applications/applications.js")),
};

const SESSIONS: NavigationItem = {
  path: "/sessions",
  name: "Sessions",
  icon: "clock",
  operation: "SessionService/ListSessions",
  ...lazyScreen(() => import("./screens/sessions/sessions.js")),
};

const PROXIES: NavigationItem = {
  path: "/proxies",
  name: "Proxies",
  icon: "proxy",
  operation: "ProxyService/ListProxies",
  ...lazyScreen(() => import("./screens/proxies/proxies.js")),
};

const REACTORS: NavigationItem = {
  path: "/reactors",
  name: "Reactors",
  icon: "reactor",
  operation: "ReactorService/ListReactors",
  ...lazyScreen(() => import("./screens/reactors/reactors.js")),
};

const PAYMENTS: NavigationItem = {
  path: "/payments",
  name: "Payments",
  icon: "card",
  operation: "TransactionService/ListTransactions",
  ...lazyScreen(() => import("./screens/payments/payments.js")),
};

const WEBHOOKS: NavigationItem = {
  path: "/webhooks",
  name: "Webhooks",
  icon: "send",
  operation: "WebhookService/ListWebhooks",
  ...lazyScreen(() => import("./screens/webhooks/webhooks.js")),
};

const EXPORTS: NavigationItem = {
  path: "/exports",
  name: "Exports",
  icon: "out",
  operation: "TokenExportService/ListTokenExports",
  ...lazyScreen(() => import("./screens/exports/exports.js")),
};

const FORMULAS: NavigationItem = {
  path: "/formulas",
  name: "Formulas",
  icon: "formula",
  operation: "ReactorFormulaService/ListReactorFormulas",
  ...lazyScreen(() => import("./screens/formulas/formulas.js")),
};

const CONNECTIONS: NavigationItem = {
  path: "/connections",
  name: "Connections",
  icon: "plug",
  operation: "ConnectionService/ListConnections",
  ...lazyScreen(() => import("./screens/connections/connections.js")),
};

const IMPORTS: NavigationItem = {
  path: "/imports",
  name: "Imports",
  icon: "in",
  operation: "TokenService/ImportTokens",
  ...lazyScreen(() => import("./screens/imports/imports.js")),
};

const LOG: NavigationItem = {
  path: "/log",
  name: "Log",
  icon: "log",
  operation: "LogService/ListLogs",
  ...lazyScreen(() => import("./screens/log/log.js")),
};

const USAGE: NavigationItem = {
  path: "/usage",
  name: "Usage",
  icon: "chart",
  operation: "TenantService/GetUsageReport",
  ...lazyScreen(() => import("./screens/usage.js")),
};

const MEMBERS: NavigationItem = {
  path: "/members",
  name: "Members",
  icon: "people",
  operation: "MemberService/ListMembers",
  ...lazyScreen(() => import("./screens/members/members.js")),
};

const SETTINGS: NavigationItem = {
  path: "/settings",
  name: "Settings",
  icon: "settings",
  operation: "TenantService/GetTenant",
  ...lazyScreen(() => import("./screens/settings.js")),
};

/** In the menu of the person, not among the tenant's. */
export const SIGN_INS: NavigationItem = {
  path: "/sign-ins",
  name: "Your sign-ins",
  icon: "key",
  operation: "SignInService/ListSignIns",
  ...lazyScreen(() => import("./screens/sign-ins.js")),
};

export const NAVIGATION: readonly NavigationGroup[] = [
  { name: "Overview", items: [START] },
  { name: "Vault", items: [TOKENS, ACCESS, IMPORTS, EXPORTS] },
  { name: "Connect", items: [APPLICATIONS, SESSIONS, PROXIES, REACTORS, FORMULAS, WEBHOOKS, PAYMENTS, CONNECTIONS] },
  { name: "Observe", items: [LOG, USAGE] },
  { name: "Tenant", items: [MEMBERS, SETTINGS] },
];

export const NAVIGATION_ITEMS: readonly NavigationItem[] = [...NAVIGATION.flatMap(({ items }) => items), SIGN_INS];
