import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { databaseErrorCode } from "../postgres/database-error.js";
import { EmbeddedDatabaseError, REMEDY } from "./embedded-database-error.js";
import { programFailure } from "./program-failure.js";
import { canAccessDirectory, runsAsRoot, type ServerAccount } from "./server-account.js";
import { childEnvironment } from "./server-settings.js";

/** The role owns the database and may create roles, but is not a superuser. */
export const DATABASE = "cloakroom";
export const ROLE = "cloakroom";

/**
 * Only `data` belongs to the server's account. The rest belongs to Cloakroom's user, so a root process follows no link
 * that PostgreSQL's account may have made.
 */
export interface Cluster {
  readonly major: number;
  readonly dataDir: string;
  /** `<dataDir>/pg18`: one directory for each major version. */
  readonly home: string;
  readonly data: string;
  /** The password of the role `cloakroom`, mode 0600. */
  readonly passwordFile: string;
  /** What PostgreSQL writes to stderr. */
  readonly logFile: string;
}

/** PostgreSQL's programs, which run under the server's account. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
  readonly major: number;
}

const run = promisify(execFile);

export function clusterIn(dataDir: string, major: number, home = join(dataDir, `pg${major}`)): Cluster {
  const [data, passwordFile, logFile] = [join(home, "data"), join(home, "password"), join(home, "postgres.log")];
  return { major, dataDir, home, data, passwordFile, logFile };
}

/** The major versions that have a cluster here, newest first. */
export async function majorsIn(dataDir: string): Promise<readonly number[]> {
  const names = await readdir(dataDir).catch((error: unknown) => {
    if (databaseErrorCode(error) === "ENOENT") return [];
    throw error;
  });
  return names
    .flatMap((name) => /^pg(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => b - a);
}

/** @throws EmbeddedDatabaseError if the directory is not a database of the major version in its name */
export async function assertMajor({ data, dataDir, home, major }: Cluster): Promise<void> {
  const version = (await readFileIfExists(join(data, "PG_VERSION")))?.trim();
  if (version === String(major)) return;
  throw new EmbeddedDatabaseError(
    version === undefined
      ? `${data} is not a PostgreSQL database (no PG_VERSION). Restore it from a backup, or move ${home} away to start with an empty vault.`
      : `${data} holds a PostgreSQL ${version} database where version ${major} is expected. Move it to ${join(dataDir, `pg${version}`, "data")}, or restore the right one.`,
  );
}

/** @throws EmbeddedDatabaseError if the password is missing */
export async function readPassword({ home, passwordFile }: Cluster): Promise<string> {
  const password = (await readFileIfExists(passwordFile))?.trim();
  if (password) return password;
  throw new EmbeddedDatabaseError(
    `The database's password is missing: restore ${passwordFile} from the backup that ${home} came from.`,
  );
}

/** Returns the text of a file; undefined for a missing file. */
export async function readFileIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (databaseErrorCode(error) === "ENOENT" || databaseErrorCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/**
 * Runs initdb, and creates the role and the database. Works in a draft directory, which is renamed at the end, so an
 * interrupted start leaves nothing that looks like a database. Each draft has a name of its own: the initdb of a killed start
 * goes on for a while, and empties its directory when it fails. The caller holds `start.lock`.
 * @throws EmbeddedDatabaseError with PostgreSQL's error message
 */
export async function createCluster(
  cluster: Cluster,
  programs: PostgresPrograms,
  account: ServerAccount,
): Promise<void> {
  const { dataDir, home, major } = cluster;
  for (const name of await readdir(dataDir)) if (/^pg\d+\.new/.test(name)) await removeDraft(join(dataDir, name));
  const draft = clusterIn(dataDir, major, await mkdtemp(`${home}.new-`));
  try {
    await chmod(draft.home, homeMode());
    await mkdir(draft.data, { mode: 0o700 });
    await giveTo(account, draft.data);
    await initdb(draft, programs, account);
    await createRole(draft, programs, account);
    await rename(draft.home, home);
    // Makes the rename survive a power cut.
    await using directory = await open(dataDir, "r");
    await directory.sync();
  } catch (error) {
    await removeDraft(draft.home);
    throw error;
  }
}

/**
 * Gives a stopped server's files the modes that PostgreSQL requires. As root, also gives them to the server's account:
 * a copy or a restored backup often has others.
 */
export async function repairPermissions({ home, data, passwordFile }: Cluster, account: ServerAccount): Promise<void> {
  if (runsAsRoot()) {
    if (!(await canAccessDirectory(home, account))) await chmod(home, homeMode());
    if ((await stat(data)).uid !== account.uid) await changeOwner(data, account);
  }
  for (const [path, mode] of [[data, 0o700] as const, [passwordFile, 0o600] as const]) {
    if (((await stat(path)).mode & 0o077) !== 0) await chmod(path, mode);
  }
}

/** As root, the server's account must be able to pass through `home` to `data`. */
function homeMode(): number {
  return runsAsRoot() ? 0o711 : 0o700;
}

/**
 * Root takes the top directory first and gives it away last, so no other user can exchange parts of the tree meanwhile.
 */
async function changeOwner(data: string, { uid, gid }: ServerAccount): Promise<void> {
  await chown(data, 0, 0);
  await chmod(data, 0o700);
  const files = (await readdir(data)).map((name) => join(data, name));
  await run("chown", ["-R", "-h", `${uid}:${gid}`, ...files]);
  await chown(data, uid, gid);
}

/** The initdb of a killed start may still be writing there. */
async function removeDraft(home: string): Promise<void> {
  await rm(home, { recursive: true, force: true, maxRetries: 10 });
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
  const files = [`--pgdata=${draft.data}`, `--pwfile=${passwordFile}`];
  await setUp(programs.initdb, [...files, ...options, "--data-checksums", "--no-instructions"], account);
  await rm(passwordFile);
}

/** Runs in single-user mode, which needs no server and no superuser password. */
async function createRole(draft: Cluster, programs: PostgresPrograms, account: ServerAccount): Promise<void> {
  const password = newPassword();
  await writeSecret(draft.passwordFile, password);
  await setUp(
    programs.postgres,
    ["--single", "-D", draft.data, "-c", "exit_on_error=on", "-c", "log_min_error_statement=panic", "postgres"],
    account,
    `create role ${ROLE} login createrole password '${password}';\ncreate database ${DATABASE} owner ${ROLE};\n`,
  );
}

/** @throws EmbeddedDatabaseError if the program fails, with its error message */
async function setUp(program: string, args: readonly string[], account: ServerAccount, input = ""): Promise<void> {
  const running = run(program, args, { ...account.spawnAs, cwd: "/", env: childEnvironment() });
  // A program that fails early closes the pipe.
  running.child.stdin?.on("error", () => {}).end(input);
  try {
    await running;
  } catch (error) {
    const stderr = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
    if (/could not look up effective user ID/.test(stderr)) {
      throw new EmbeddedDatabaseError(
        `PostgreSQL cannot set up a database under ${account.label}, because that uid has no entry in /etc/passwd.\n` +
          "Add one, start the container under a named user, or set DATABASE_URL.",
      );
    }
    const lines = stderr.split("\n");
    // What follows a full disk is only its consequence.
    const reason =
      lines.find((line) => /No space left on device|Disk quota exceeded/.test(line)) ??
      lines.findLast((line) => /\b(error|FATAL|PANIC|ERROR):/.test(line));
    throw new EmbeddedDatabaseError(
      `PostgreSQL could not set up its database: ${reason?.trim() ?? `${program} failed (${programFailure(error)})`}\n${REMEDY}`,
    );
  }
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
  if (runsAsRoot()) await chown(path, account.uid, account.gid);
}
