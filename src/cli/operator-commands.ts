/**
 * Names and summaries of the commands in operator-actions.ts, for help, completion and suggestions: loading all of those
 * takes a third of a second. test/cli/command-table.test.ts compares both.
 */
export const OPERATOR_COMMANDS: readonly { readonly name: string; readonly summary: string }[] = [
  { name: "serve", summary: "Start the server (with an embedded database unless DATABASE_URL is set)" },
  { name: "init", summary: "Set up the database (embedded unless DATABASE_URL is set): schema, roles and root key" },
  { name: "migrate", summary: "Bring the schema up to date" },
  {
    name: "tenants create",
    summary: "Create a tenant with its owner and a management application, and show the management key once",
  },
  { name: "tenants list", summary: "List all tenants" },
  { name: "tenants update", summary: "Change what a tenant's plan includes" },
  {
    name: "members sign-in-link",
    summary: "Show a link by which a member signs in once, within 10 minutes, in any browser",
  },
  {
    name: "formulas import",
    summary: "Publish official reactor formulas to all tenants, replacing earlier ones with the same ids",
  },
  {
    name: "keys list",
    summary: "List root keys and tenants' keys: ids, purposes, versions, states, and rows left under replaced ones",
  },
  { name: "keys rotate", summary: "Replace the root key, or the keys that seal tenants' values, while servers run" },
  {
    name: "keys split",
    summary: "Split the root key into shares for several people, some of whom together can restore it",
  },
  { name: "keys unseal", summary: "Hand shares of the root key to a server on this machine that waits for them" },
  {
    name: "audit verify",
    summary: "Compare the log with its seals, and report which minutes were tampered with (exit code 1)",
  },
  {
    name: "audit export",
    summary: "Write the log with its seals as lines of JSON, for an archive outside this vault's control",
  },
  { name: "audit key", summary: "Show the public keys that sign tenants' logs, for auditors who verify exports" },
  { name: "audit restart", summary: "Continue a chain of seals that was tampered with, after you have investigated" },
  { name: "audit who-read", summary: "List who read or used a token, when, how it was shown, from where and why" },
  { name: "audit what-did", summary: "Show what an application, person, key or session did, by day" },
  {
    name: "audit denied",
    summary: "List requests that were denied, and keys that were not valid, in the last 24 hours or another time",
  },
  {
    name: "audit operations",
    summary: "List what concerned the whole vault: starts and stops of servers, tenants, root keys, exports",
  },
  { name: "audit reopen", summary: "Set logs back to the present that a fast clock closed ahead of time" },
  { name: "export", summary: "Write all stored data to a file, as of one moment; values stay encrypted" },
  { name: "import", summary: "Load an export into an empty database, atomically; the root key must be available" },
  {
    name: "cluster distribute",
    summary: "Distribute the tables over the Citus cluster that DATABASE_URL's database coordinates",
  },
  { name: "doctor", summary: "Check database, roles and root key, and say how to fix problems" },
];
