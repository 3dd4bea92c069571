import { ServerService } from "../../gen/cloakroom/v1/server_pb.js";
import type { BuildVersion } from "../base/build-version.js";
import { type ServedMethod, serve } from "./call.js";

/** @param version of this process, which does not change while it runs. */
export function serverService(version: BuildVersion): ServedMethod[] {
  return [serve(ServerService.method.getServerVersion, async () => version)];
}
