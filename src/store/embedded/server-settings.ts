import { totalmem } from "node:os";

const MB = 1024 * 1024;

/**
 * What PostgreSQL's programs inherit: loader variables, which some systems need to find libraries or passwd entries.
 */
const INHERITED = [
  "PATH",
  "LD_LIBRARY_PATH",
  "LD_PRELOAD",
  "NSS_WRAPPER_PASSWD",
  "NSS_WRAPPER_GROUP",
  "DYLD_LIBRARY_PATH",
];

/**
 * The environment of PostgreSQL's programs. It has none of our settings, some of which are secret, and no locale,
 * because initdb fails with a locale that the system lacks. Without a locale it creates a SQL_ASCII database.
 */
export function childEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => INHERITED.includes(name));
  return { ...Object.fromEntries(inherited), LC_ALL: "C" };
}

/** The memory of this machine, or the container's limit, in bytes. Node reports 2^64 if there is no limit. */
export function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** A fifth of the memory, between 32 MB and 2 GB: the rest is for Node and the page cache. */
export function sharedBuffers(memory: number): string {
  return `${Math.floor(Math.min(Math.max(memory / 5, 32 * MB), 2048 * MB) / MB)}MB`;
}

/**
 * Settings for the command line of `postgres` 15 to 18. There they win over postgresql.conf, so an edit of that file cannot turn
 * durability off or write values into the log.
 */
export function serverSettings(socketDirectory: string, port: number, memory: number): readonly string[] {
  const settings = {
    // The bundled OpenSSL and ICU are out of support. Without TCP and without ICU collations neither can be reached.
    listen_addresses: "",
    unix_socket_directories: socketDirectory,
    unix_socket_permissions: "0700",
    port: String(port),
    cluster_name: "cloakroom",

    fsync: "on",
    full_page_writes: "on",
    synchronous_commit: "on",

    // Up to 9 processes of a server with 19 each, and commands beside them.
    max_connections: "200",
    shared_buffers: sharedBuffers(memory),
    // Some container platforms offer huge pages that their limits then forbid: the server would end with SIGBUS.
    huge_pages: "off",
    max_wal_size: "4GB",
    wal_compression: "on",
    jit: "off",
    timezone: "UTC",

    // DETAIL lines quote rows and keys, and STATEMENT lines quote literals, so neither is logged.
    logging_collector: "off",
    log_destination: "stderr",
    log_timezone: "UTC",
    log_min_messages: "warning",
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    log_statement: "none",
    log_duration: "off",
    log_min_duration_statement: "-1",
    log_parameter_max_length: "0",
    log_parameter_max_length_on_error: "0",
    log_checkpoints: "off",
    log_connections: "off",
    log_disconnections: "off",
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}
