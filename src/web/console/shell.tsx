import { Suspense, useState } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { Broken } from "./components/broken.js";
import { Icon } from "./components/icon.js";
import { Skeleton } from "./components/loaded.js";
import { Logo } from "./components/logo.js";
import { Screen } from "./components/screen.js";
import { NAVIGATION, NAVIGATION_ITEMS, type NavigationGroup, type NavigationItem } from "./navigation.js";
import { Palette } from "./palette/palette.js";
import { PersonMenu } from "./person-menu.js";
import { RoleChange } from "./role-change.js";
import { useSession } from "./session.js";

/** The console around its screens: the navigation at the side, with the person at its foot. */
export function Shell({ onSignedOut }: { onSignedOut: () => void }) {
  const { who } = useSession();
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to content
      </a>
      <header className="side" data-open={isOpen}>
        <div className="side-head">
          <Link href="/" className="brand" title="Cloakroom">
            <Logo />
            <span>Cloakroom</span>
          </Link>
          <button type="button" className="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Icon name="menu" />
            <span>Menu</span>
          </button>
        </div>
        <bdi className="tenant" dir="auto" title={`${who.tenantName}, ${who.tenantId}`}>
          {who.tenantName}
        </bdi>
        <Palette />
        <Navigation onLeave={() => setOpen(false)} />
        <div className="side-foot">
          <a href="/docs" className="nav-item" title="Documentation">
            <Icon name="book" />
            <span>Documentation</span>
          </a>
          <PersonMenu onSignedOut={onSignedOut} onLeave={() => setOpen(false)} />
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        <RoleChange />
        <Screens />
      </main>
    </div>
  );
}

function Screens() {
  return (
    <Switch>
      {NAVIGATION_ITEMS.map((item) => (
        <Route key={item.path} path={item.path}>
          <ShownItem key={item.path} item={item} />
        </Route>
      ))}
      <Route>
        <Screen title="There is no such page">
          <Link href="/">Go to the home page</Link>
        </Screen>
      </Route>
    </Switch>
  );
}

/** A screen that fails leaves the others as they are. */
function ShownItem({ item: { Screen: Shown, retry } }: { item: NavigationItem }) {
  return (
    <Broken onRetry={retry}>
      <Suspense fallback={<Skeleton lines={6} />}>
        <Shown />
      </Suspense>
    </Broken>
  );
}

function Navigation({ onLeave }: { onLeave: () => void }) {
  const { can } = useSession();
  const groups = NAVIGATION.map(({ name, items }) => ({
    name,
    items: items.filter(({ operation }) => can(operation)),
  }));
  return (
    <nav className="navigation" aria-label="Console">
      {groups
        .filter(({ items }) => items.length > 0)
        .map((group) => (
          <Group key={group.name} group={group} onLeave={onLeave} />
        ))}
    </nav>
  );
}

function Group({ group: { name, items }, onLeave }: { group: NavigationGroup; onLeave: () => void }) {
  const [path] = useLocation();
  return (
    <>
      <p className="group" aria-hidden="true">
        {name}
      </p>
      <ul aria-label={name}>
        {items.map((item) => (
          <li key={item.path}>
            <Link
              href={item.path}
              className="nav-item"
              title={item.name}
              aria-current={path === item.path ? "page" : undefined}
              onClick={onLeave}
            >
              <Icon name={item.icon} />
              <span>{item.name}</span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}
