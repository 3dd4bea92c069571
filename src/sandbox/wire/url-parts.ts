/** The parts of an address that code may set, beside the whole of it (`href`). The guest asks the host for each change. */
export const SETTABLE_URL_PARTS = [
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
] as const;
