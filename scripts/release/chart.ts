import { filesBelow } from "./disk-files.js";
import type { Source } from "./source.js";
import { tarGz } from "./tar.js";

/** The Helm chart as `helm package` would pack it. */
export function chartArchive({ version, commit, at }: Source): Buffer {
  const files = filesBelow("deploy/helm/cloakroom", "cloakroom/").map((file) => {
    if (file.path !== "cloakroom/Chart.yaml") return file;
    const text = Buffer.from(file.content)
      .toString("utf8")
      .replace(/^version: .*$/m, `version: ${version}`)
      .replace(/^appVersion: .*$/m, `appVersion: "${version}"`)
      .replace(/^ {2}cloakroom\/commit: .*$/m, `  cloakroom/commit: "${commit}"`);
    return { ...file, content: Buffer.from(text) };
  });
  return tarGz(files, at);
}
