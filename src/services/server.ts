import { ServerService } from "../../gen/cloakroom/v1/server_pb.js";
import type { Caller } from "../access/caller.js";
import { deniedWith } from "../access/refusal.js";
import type { BuildVersion } from "../base/build-version.js";
import { Fault } from "../base/fault.js";
import { authorizeOnly, type ServedMethod, serve } from "./call.js";

/** @param version of this process, which does not change while it runs. */
export function serverService(version: BuildVersion): ServedMethod[] {
  return [
    serve(ServerService.method.getServerVersion, async (_, call) => {
      requireKeptSecret(call.caller);
      return call.transact(authorizeOnly, () => version);
    }),
  ];
}

/** Every visitor of a page has its key and session. The exact build would tell them which attacks to try. */
function requireKeptSecret(caller: Caller): void {
  const { principal } = caller;
  // A session acts as its public application.
  const isInPages = principal.kind === "application" && principal.type === "public";
  if (!isInPages) return;
  const fault = new Fault(
    "permission_denied",
    "This takes the key of a private or management application, or a person who is signed in.",
  );
  throw deniedWith(caller, fault, "server version");
}
