import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Cluster, clusterIn, homeMode } from "./cluster.js";
import { EmbeddedDatabaseError } from "./embedded-database-error.js";
import type { PostgresPrograms } from "./postgres-programs.js";
import { ownAccount, type ServerAccount } from "./server-account.js";
import { childEnvironment } from "./server-settings.js";

/** The role owns the database and may create roles, but is not a superuser. */
export const DATABASE = "cloakroom";
export const ROLE = "cloakroom";

/**
 * Runs initdb, and creates the role and the database. Works in a draft directory, which is renamed at the end, so an
 * interrupted start leaves nothing that looks like a database. The caller holds `start.lock`.
 * @throws EmbeddedDatabaseError with PostgreSQL's error message
 */
export async function createCluster(
  cluster: Cluster,
  programs: PostgresPrograms,
  account: ServerAccount,
): Promise<void> {
  for (const name of await readdir(cluster.dataDir)) {
    if (/^pg\d+\.new/.test(name)) await rm(join(cluster.dataDir, name), { recursive: true, force: true });
  }
  const draft = clusterIn(cluster.dataDir, cluster.major, `${cluster.home}.new`);
  await mkdir(draft.home);
  try {
    await chmod(draft.home, homeMode());
    await mkdir(draft.data, { mode: 0o700 });
    await giveTo(account, draft.data);
    await initdb(draft, programs, account);
    await createRole(draft, programs, account);
    await rename(draft.home, cluster.home);
    await sync(cluster.dataDir);
  } catch (error) {
    await rm(draft.home, { recursive: true, force: true });
    throw error;
  }
}

async function initdb(draft: Cluster, programs: PostgresPrograms, account: ServerAccount): Promise<void> {
  // The superuser's password is not kept: nothing runs as superuser.
  const passwordFile = join(draft.home, "superuser-password");
  await writeSecret(passwordFile, newPassword());
  await giveTo(account, passwordFile);
  // The builtin provider is independent of the sort orders of glibc and ICU, which change with their versions.
  const provider =
    programs.major >= 17 ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : ["--locale-provider=libc"];
  const options = ["--username=postgres", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", ...provider];
  await run(
    programs.initdb,
    [`--pgdata=${draft.data}`, `--pwfile=${passwordFile}`, ...options, "--data-checksums", "--no-instructions"],
    account,
  );
  await rm(passwordFile);
}

/** Runs in single-user mode, which needs no server and no superuser password. */
async function createRole(draft: Cluster, programs: PostgresPrograms, account: ServerAccount): Promise<void> {
  const password = newPassword();
  await writeSecret(draft.passwordFile, password);
  await run(
    programs.postgres,
    ["--single", "-D", draft.data, "-c", "exit_on_error=on", "-c", "log_min_error_statement=panic", "postgres"],
    account,
    `create role ${ROLE} login createrole password '${password}';\ncreate database ${DATABASE} owner ${ROLE};\n`,
  );
}

/** @throws EmbeddedDatabaseError if the program fails, with its error message */
async function run(program: string, args: readonly string[], account: ServerAccount, input = ""): Promise<void> {
  const options = { ...account.spawnAs, cwd: "/", env: childEnvironment() };
  const child = spawn(program, args, { ...options, stdio: ["pipe", "ignore", "pipe"] });
  // A program that fails early closes the pipe.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(code === 0 ? "" : (signal ?? `exit code ${code}`)));
  });
  const [failure, stderr] = await Promise.all([ended, text(child.stderr)]);
  if (failure === "") return;
  if (/could not look up effective user ID/.test(stderr)) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL cannot set up a database under ${account.label}, because that uid has no entry in /etc/passwd.\n` +
        "Add one, start the container under a named user, or set DATABASE_URL.",
    );
  }
  const reason = stderr.split("\n").findLast((line) => /\b(error|FATAL|PANIC|ERROR):/.test(line));
  throw new EmbeddedDatabaseError(`PostgreSQL could not set up its database: ${reason?.trim() ?? failure}`);
}

async function writeSecret(path: string, secret: string): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(`${secret}\n`);
  await file.sync();
}

/** 256 bits in base64url, which needs no quoting. */
function newPassword(): string {
  return randomBytes(32).toString("base64url");
}

async function giveTo(account: ServerAccount, path: string): Promise<void> {
  if (ownAccount().uid !== account.uid) await chown(path, account.uid, account.gid);
}

/** Makes the rename survive a power cut. */
async function sync(directory: string): Promise<void> {
  await using handle = await open(directory, "r");
  await handle.sync();
}
