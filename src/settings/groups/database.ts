import { secret, text, whole } from "../setting.js";

/** These names have no prefix, because other programs read the same variables. */
export const DATABASE_SETTINGS = {
  DATABASE_URL: secret(
    "`postgres://` URL",
    "the embedded database",
    "PostgreSQL 15 to 18 that holds the vault. Run `cloakroom init` once before the first start.",
  ),
  MIGRATE_DATABASE_URL: secret(
    "`postgres://` URL",
    "`DATABASE_URL`",
    "Login of its own for migrations. It owns the tables. Needs `DATABASE_URL`. Give it to a server too: only this login removes months of the log past their retention.",
  ),
};

export const DATABASE = {
  DATA_DIR: text(
    "directory",
    ".cloakroom",
    "Directory of the embedded database, of the root key file, and of mails while no mail server is set.",
  ),
  DB_CONNECTIONS: whole(
    16,
    [3, 400],
    "Connections of a process for transactions: half for creating, reading and using tokens, a quarter for other short transactions, a quarter for lists, counts and sweeps. Four more serve leases, health checks, jobs and sealing.",
  ),
};
