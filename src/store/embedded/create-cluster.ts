import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { homeMode } from "./claim-cluster.js";
import { type Cluster, clusterAt } from "./cluster.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import { childEnvironment, type PostgresBinaries } from "./postgres-binaries.js";
import { processIds, type ServerAccount } from "./server-account.js";

/** The role and the database that Cloakroom uses. The role may create roles, owns the database, and is no superuser. */
export const DATABASE = "cloakroom";
export const ROLE = "cloakroom";

/**
 * Makes a cluster with its role and database. It is built beside and renamed at the end, so that a start that dies halfway
 * leaves nothing that looks like a database. The caller holds the directory lock.
 * @throws EmbeddedDatabaseError with what PostgreSQL complains about
 */
export async function createCluster(
  cluster: Cluster,
  binaries: PostgresBinaries,
  account: ServerAccount,
): Promise<void> {
  await removeDrafts(cluster);
  const draft = clusterAt(`${cluster.home}.new-${randomBytes(4).toString("hex")}`, cluster.dataDir, cluster.major);
  await mkdir(draft.home);
  try {
    await chmod(draft.home, homeMode());
    await mkdir(draft.data, { mode: 0o700 });
    await handTo(account, draft.data);
    await runInitdb(draft, binaries, account);
    const password = newPassword();
    await runSql(draft, binaries, account, [
      `create role ${ROLE} login createrole password '${password}'`,
      `create database ${DATABASE} owner ${ROLE}`,
    ]);
    await writeSecret(draft.passwordFile, password);
    await rename(draft.home, cluster.home);
    await sync(cluster.dataDir);
  } catch (error) {
    await rm(draft.home, { recursive: true, force: true });
    throw error;
  }
}

async function removeDrafts(cluster: Cluster): Promise<void> {
  for (const name of await readdir(cluster.dataDir)) {
    if (/^pg\d+\.new-/.test(name)) await rm(join(cluster.dataDir, name), { recursive: true, force: true });
  }
}

async function runInitdb(draft: Cluster, binaries: PostgresBinaries, account: ServerAccount): Promise<void> {
  const passwordFile = join(draft.home, "superuser-password");
  // Nobody keeps the superuser's password: nothing runs as superuser, and whoever owns the files can set another.
  await writeSecret(passwordFile, newPassword());
  await handTo(account, passwordFile);
  const locale =
    // The builtin provider frees us from the sort orders of glibc and ICU, which change with their versions.
    binaries.major >= 17 ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : ["--locale-provider=libc"];
  const child = spawn(
    binaries.initdb,
    [
      `--pgdata=${draft.data}`,
      "--username=postgres",
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      ...locale,
      "--data-checksums",
      "--no-instructions",
    ],
    { ...account.spawnAs, cwd: "/", env: childEnvironment(), stdio: ["ignore", "ignore", "pipe"] },
  );
  await assertSucceeds(child, "PostgreSQL could not set up its database", account);
  await rm(passwordFile);
}

/** Runs statements, one a line, in single-user mode: without a server, and with all rights. */
async function runSql(
  draft: Cluster,
  binaries: PostgresBinaries,
  account: ServerAccount,
  statements: readonly string[],
): Promise<void> {
  const settings = ["exit_on_error=on", "log_min_messages=warning", "log_min_error_statement=panic"];
  const child = spawn(
    binaries.postgres,
    ["--single", "-D", draft.data, ...settings.flatMap((setting) => ["-c", setting]), "postgres"],
    { ...account.spawnAs, cwd: "/", env: childEnvironment(), stdio: ["pipe", "ignore", "pipe"] },
  );
  // A server that dies early closes the pipe; its exit code tells the story.
  child.stdin.on("error", () => {});
  child.stdin.end(`${statements.join(";\n")};\n`);
  await assertSucceeds(child, "PostgreSQL could not create its role and database", account);
}

async function assertSucceeds(child: ChildProcess, failure: string, account: ServerAccount): Promise<void> {
  const [end, complaint] = await Promise.all([
    new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("close", (code, signal) => resolve(code === 0 ? "" : (signal ?? `exit code ${code}`)));
    }),
    child.stderr ? text(child.stderr) : "",
  ]);
  if (end === "") return;
  if (/could not look up effective user ID/.test(complaint)) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL cannot set up a database under ${account.label}, because that uid has no entry in /etc/passwd.\n` +
        "Add one, start the container under a named user, or set DATABASE_URL.",
    );
  }
  const reason = complaint.split("\n").findLast((line) => /\b(error|FATAL|PANIC|ERROR):/.test(line));
  throw new EmbeddedDatabaseError(`${failure}: ${reason?.trim() ?? end}`);
}

/** Readable by nobody else from its first moment on. */
async function writeSecret(path: string, secret: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(`${secret}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** 256 bits in base64url, which needs no quoting. */
function newPassword(): string {
  return randomBytes(32).toString("base64url");
}

async function handTo(account: ServerAccount, path: string): Promise<void> {
  if (processIds().uid !== account.uid) await chown(path, account.uid, account.gid);
}

/** A rename is durable once its directory is. */
async function sync(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
