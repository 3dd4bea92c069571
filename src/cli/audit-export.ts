import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { exportLog } from "../audit/export-log.js";
import { systemClock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { readLogSnapshot } from "../store/log-snapshot.js";
import { openVault } from "../vault.js";
import { chosenTenants } from "./chosen-tenants.js";
import { type Command, UsageError } from "./command.js";
import { progressOf } from "./progress.js";

export const auditExport: Command = {
  summary: "Write the log with its seals as lines of JSON, for an archive that nobody here can change",
  options: { tenant: { type: "string" }, file: { type: "string" } },
  help: [
    "--tenant ID        this tenant alone",
    "--file F           a new file to write to; otherwise standard output",
  ],
  async run({ config, options, say, answer }) {
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    const tenants = await chosenTenants(vault, options);
    const file = typeof options.file === "string" ? options.file : undefined;
    let lines = 0;
    const write = (tenantId: TenantId, target: NodeJS.WritableStream) =>
      readLogSnapshot(vault.address, tenantId, (snapshot) =>
        pipeline(
          exportLog(snapshot, tenantId, progressOf(say, `Tenant ${tenantId}`, snapshot.sealedRows)),
          async function* (texts: AsyncIterable<string>) {
            for await (const text of texts) {
              lines += text.split("\n").length - 1;
              yield text;
            }
          },
          target,
          { end: false },
        ),
      );
    const target = file === undefined ? process.stdout : await newFile(file);
    for (const tenantId of tenants) await write(tenantId, target);
    if (file === undefined) return;
    await new Promise<void>((resolve, reject) => target.on("error", reject).end(resolve));
    answer({ file, tenants: tenants.length, lines });
  },
};

async function newFile(path: string) {
  const stream = createWriteStream(path, { flags: "wx", mode: 0o600, flush: true });
  await new Promise<void>((resolve, reject) => {
    stream.once("open", () => resolve());
    stream.once("error", () => reject(new UsageError(`--file ${path} cannot be made, or is there already.`)));
  });
  return stream;
}
