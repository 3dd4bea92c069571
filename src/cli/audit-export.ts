import { pipeline } from "node:stream/promises";
import { exportLog } from "../audit/export-log.js";
import { systemClock } from "../base/clock.js";
import { openLogSnapshot } from "../store/audit/log-snapshot.js";
import { openVault } from "../vault/vault.js";
import { exportSigned, recordExport } from "./audit-export-range.js";
import { chosenTenants } from "./chosen-tenants.js";
import { requireNew, writeNewFile } from "./new-file.js";
import { type Command, requiredText } from "./operator-command.js";
import { progressOf } from "./progress.js";
import { UsageError } from "./usage-error.js";

export const auditExport: Command = {
  summary: "Write the log with its seals as lines of JSON, for an archive outside this vault's control",
  options: {
    tenant: { type: "string" },
    file: { type: "string" },
    since: { type: "string" },
    until: { type: "string" },
    out: { type: "string" },
  },
  help: [
    "--tenant ID        this tenant alone",
    "--file F           a new file to write to; otherwise standard output",
    "",
    "With one of the following it writes the signed form, which audit verify FILE verifies without the vault. It needs",
    "--tenant, holds sealed minutes only, and leaves a row in the tenant's log.",
    "--since TIME       from the minute of this time on; otherwise from the beginning",
    "--until TIME       to the end of the minute before this time; otherwise to the last seal",
    "--out F            a new file to write to; otherwise standard output",
  ],
  async run(input) {
    const { config, options, say, printResult } = input;
    if (options.since !== undefined || options.until !== undefined || options.out !== undefined) {
      if (options.file !== undefined) throw new UsageError("Choose one of --file F, and --out F with its options.");
      return exportSigned(input);
    }
    const file = options.file === undefined ? undefined : requiredText(options, "file");
    if (file !== undefined) await requireNew(file);
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock });
    const tenants = await chosenTenants(vault, options);
    let lines = 0;
    async function* logs(): AsyncGenerator<string> {
      for (const tenantId of tenants) {
        await recordExport(vault, tenantId);
        await using snapshot = await openLogSnapshot(vault.address, tenantId);
        const tell = progressOf(say, `Tenant ${tenantId}`, snapshot.sealedRows);
        for await (const text of exportLog(snapshot, tenantId, tell)) {
          lines += text.split("\n").length - 1;
          yield text;
        }
      }
    }
    if (file === undefined) {
      await pipeline(logs(), process.stdout, { end: false });
      return;
    }
    await writeNewFile(file, (target) => pipeline(logs(), target));
    printResult({ file, tenants: tenants.length, lines });
  },
};
