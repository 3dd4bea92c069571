import { type ComponentType, lazy, Suspense, useState } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { Broken } from "./components/broken.js";
import { Skeleton } from "./components/loaded.js";
import { Screen } from "./components/screen.js";
import { PersonMenu } from "./person-menu.js";
import { Start } from "./screens/start/start.js";
import { useSession } from "./session.js";

interface Place {
  readonly path: string;
  readonly name: string;
  /** Without it the place shows nothing, so it is not offered. */
  readonly operation: string;
  readonly Screen: ComponentType;
}

const PLACES: readonly Place[] = [
  { path: "/", name: "Start", operation: "TenantService/GetTenant", Screen: Start },
  {
    path: "/tokens",
    name: "Tokens",
    operation: "TokenService/SearchTokensByCursor",
    Screen: lazy(() => import("./screens/tokens/tokens.js")),
  },
  {
    path: "/applications",
    name: "Applications",
    operation: "ApplicationService/ListApplications",
    Screen: lazy(() => import("./screens/applications/applications.js")),
  },
  {
    path: "/access",
    name: "Who can see this?",
    operation: "PermissionService/ExplainAccess",
    Screen: lazy(() => import("./screens/access/access.js")),
  },
  {
    path: "/log",
    name: "Log",
    operation: "LogService/ListLogs",
    Screen: lazy(() => import("./screens/log/log.js")),
  },
  {
    path: "/proxies",
    name: "Proxies",
    operation: "ProxyService/ListProxies",
    Screen: lazy(() => import("./screens/proxies/proxies.js")),
  },
  {
    path: "/reactors",
    name: "Reactors",
    operation: "ReactorService/ListReactors",
    Screen: lazy(() => import("./screens/reactors/reactors.js")),
  },
  {
    path: "/payments",
    name: "Payments",
    operation: "TransactionService/ListTransactions",
    Screen: lazy(() => import("./screens/payments/payments.js")),
  },
  {
    path: "/members",
    name: "Members",
    operation: "MemberService/ListMembers",
    Screen: lazy(() => import("./screens/members/members.js")),
  },
  {
    path: "/usage",
    name: "Usage",
    operation: "TenantService/GetUsageReport",
    Screen: lazy(() => import("./screens/usage.js")),
  },
  {
    path: "/settings",
    name: "Settings",
    operation: "TenantService/GetTenant",
    Screen: lazy(() => import("./screens/settings.js")),
  },
  {
    path: "/sign-ins",
    name: "Your sign-ins",
    operation: "SignInService/ListSignIns",
    Screen: lazy(() => import("./screens/sign-ins.js")),
  },
];

/** The console around its screens: places on the left, the person at the top. */
export function Shell({ onSignedOut }: { onSignedOut: () => void }) {
  const { who, can } = useSession();
  const places = PLACES.filter(({ operation }) => can(operation));
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to content
      </a>
      <header className="top">
        <Link href="/" className="brand">
          Cloakroom
        </Link>
        <bdi className="tenant" dir="auto" title={who.tenantId}>
          {who.tenantName}
        </bdi>
        <PersonMenu onSignedOut={onSignedOut} />
      </header>
      <Places places={places} />
      <main id="content" tabIndex={-1}>
        <Broken>
          <Suspense fallback={<Skeleton lines={6} />}>
            <Switch>
              {PLACES.map(({ path, Screen }) => (
                <Route key={path} path={path} component={Screen} />
              ))}
              <Route>
                <Screen title="There is no such page">
                  <Link href="/">Go to the start page</Link>
                </Screen>
              </Route>
            </Switch>
          </Suspense>
        </Broken>
      </main>
    </div>
  );
}

function Places({ places }: { places: readonly Place[] }) {
  const [path] = useLocation();
  const [isOpen, setOpen] = useState(false);
  return (
    <nav className="places" aria-label="Console">
      <button type="button" className="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Menu
      </button>
      <ul data-open={isOpen}>
        {places.map((place) => (
          <li key={place.path}>
            <Link
              href={place.path}
              aria-current={path === place.path ? "page" : undefined}
              onClick={() => setOpen(false)}
            >
              {place.name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
