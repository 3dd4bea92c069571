import { optional, text, whole } from "../setting.js";

const PORTS = [0, 65_535] as const;

export const LISTENING = {
  HOST: text("IP address or host name", "127.0.0.1", "Address that the API listens on."),
  PORT: whole(8080, PORTS, "Port of the API, for all protocols. 0 picks a free port."),
  PUBLIC_URL: optional(
    "`http` or `https` URL",
    "the address that the server listens on",
    "Address under which callers reach this server. Links in mails, `webhook_url` and approval pages start with it.",
  ),
  ADMIN_HOST: text("IP address or host name", "127.0.0.1", "Address of the admin port."),
  ADMIN_NAMES: optional(
    "host names, separated by commas",
    "addresses, `localhost` and `CLOAKROOM_ADMIN_HOST` only",
    "Further names under which the admin port answers, such as `cloakroom` where Prometheus scrapes `cloakroom:9464`.",
  ),
  ADMIN_PORT: whole(9464, PORTS, "Port that serves `/metrics`, `/healthz` and `/readyz` to operators."),
  TLS_CERT_FILE: optional(
    "file",
    "clear text",
    "Certificate chain of the API port, PEM. Needs `CLOAKROOM_TLS_KEY_FILE`. Both are read again when they change.",
  ),
  TLS_KEY_FILE: optional("file", "clear text", "Private key of that certificate, PEM."),
  TRUSTED_PROXIES: optional(
    "addresses and networks, separated by commas",
    "none",
    "Load balancers whose `X-Forwarded-For` is believed. The header is read from the right.",
  ),
  PROCESSES: text(
    "`auto` or a whole number from 1 to 64",
    "1",
    "Processes that serve requests. `auto` starts one for each processor that the server may use.",
  ),
  CORS_ORIGINS: text(
    "`*`, or origins separated by commas",
    "*",
    "Origins whose pages may call the API. Browsers never send cookies with these calls.",
  ),
};
