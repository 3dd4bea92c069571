import type { Commands } from "./command.js";

/** Loaded when they are called: the server alone takes half a second, most of what a command takes. */
export const OPERATOR_ACTIONS: Commands = new Map([
  ["serve", async () => (await import("./serve.js")).serve],
  ["init", async () => (await import("./init.js")).init],
  ["migrate", async () => (await import("./migrate.js")).migrate],
  ["tenants create", async () => (await import("./tenants-create.js")).tenantsCreate],
  ["tenants list", async () => (await import("./tenants-list.js")).tenantsList],
  ["tenants update", async () => (await import("./tenants-update.js")).tenantsUpdate],
  ["members sign-in-link", async () => (await import("./members-sign-in-link.js")).membersSignInLink],
  ["formulas import", async () => (await import("./formulas-import.js")).formulasImport],
  ["keys list", async () => (await import("./keys-list.js")).keysList],
  ["keys rotate", async () => (await import("./keys-rotate.js")).keysRotate],
  ["keys split", async () => (await import("./keys-split.js")).keysSplit],
  ["keys unseal", async () => (await import("./keys-unseal.js")).keysUnseal],
  ["audit verify", async () => (await import("./audit-verify.js")).auditVerify],
  ["audit export", async () => (await import("./audit-export.js")).auditExport],
  ["audit key", async () => (await import("./audit-key.js")).auditKey],
  ["audit restart", async () => (await import("./audit-restart.js")).auditRestart],
  ["audit who-read", async () => (await import("./audit-who-read.js")).auditWhoRead],
  ["audit what-did", async () => (await import("./audit-what-did.js")).auditWhatDid],
  ["audit denied", async () => (await import("./audit-denied.js")).auditDenied],
  ["audit reopen", async () => (await import("./audit-reopen.js")).auditReopen],
  ["export", async () => (await import("./export.js")).exportCommand],
  ["import", async () => (await import("./import.js")).importCommand],
  ["cluster distribute", async () => (await import("./cluster-distribute.js")).clusterDistribute],
  ["doctor", async () => (await import("./doctor.js")).doctor],
]);
