import { totalmem } from "node:os";

const MB = 1024 * 1024;

/**
 * The memory that this machine, or the container's limit, allows, in bytes. Node reports 2^64 where there is no limit.
 */
export function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** A fifth of the memory, between 32 MB and 2 GB, in whole megabytes: the rest is for Node and the page cache. */
export function sharedBuffers(memory: number): string {
  return `${Math.floor(Math.min(Math.max(memory / 5, 32 * MB), 2048 * MB) / MB)}MB`;
}

/**
 * The arguments of `postgres`. They win over postgresql.conf, so that neither durability nor the silence of the log can be
 * lost by an edit there. Valid for 15 to 18.
 */
export function serverArguments(
  data: string,
  socketDirectory: string,
  port: number,
  memory: number,
): readonly string[] {
  const settings = {
    // The bundled OpenSSL and ICU are out of support: neither is reachable without TCP and without ICU collations.
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
    // Some container platforms offer huge pages that their limits then forbid, which ends in SIGBUS.
    huge_pages: "off",
    max_wal_size: "4GB",
    wal_compression: "on",
    jit: "off",
    timezone: "UTC",

    // Our own bounded file takes stderr. DETAIL lines quote rows and keys, STATEMENT lines literals: neither is written.
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
  return ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}
