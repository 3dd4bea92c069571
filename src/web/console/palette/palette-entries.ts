import { useEffect, useState } from "react";
import { ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { ProxyService } from "#client/proto/cloakroom/v1/proxies_pb.js";
import { ReactorService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useRead } from "../api/queries.js";
import { entityAddress } from "../components/entity-link.js";
import { NAVIGATION_ITEMS } from "../navigation.js";
import { useSession } from "../session.js";
import { ACTIONS, lookups, matching, type PaletteEntry } from "./palette-match.js";

/** After the last letter. Each list that is read leaves a row in the log. */
const PAUSE_MS = 250;
/** Letters from which on names are searched by the server. */
const MIN_LENGTH = 2;
const SIZE = 8;

/** Screens, actions, and what the text may be the name, id, trace or container of, as far as the role allows. */
export function usePaletteEntries(text: string): readonly PaletteEntry[] {
  const { can } = useSession();
  const typed = text.trim();
  const name = usePaused(typed.replaceAll("*", ""));
  const search = { name, size: SIZE };
  const enabled = name.length >= MIN_LENGTH;
  const proxies = useRead(ProxyService.method.listProxies, search, { enabled });
  const applications = useRead(ApplicationService.method.listApplications, search, { enabled });
  const reactors = useRead(ReactorService.method.listReactors, search, { enabled });
  const screens = NAVIGATION_ITEMS.filter(({ operation }) => can(operation));
  const named = (kind: string, path: string, found: readonly { id: string; name: string }[] = []) =>
    found.map(({ id, name }) => ({ kind, name, path: entityAddress(path, id) }));
  return [
    ...matching(
      [
        ...screens.map(({ name, path }) => ({ kind: "Page", name, path })),
        ...ACTIONS.filter(({ operation }) => can(operation)).map(({ name, path }) => ({ kind: "Action", name, path })),
      ],
      typed,
    ),
    ...(enabled ? named("Application", "/applications", applications.data?.data) : []),
    ...(enabled ? named("Proxy", "/proxies", proxies.data?.data) : []),
    ...(enabled ? named("Reactor", "/reactors", reactors.data?.data) : []),
    ...(typed === "" ? [] : lookups(typed).filter(({ operation }) => can(operation))),
  ];
}

/** A text once it has not changed for {@link PAUSE_MS}. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
