import type { Flags } from "../../command.js";

export const LISTED: Flags = {
  limit: { kind: "whole", value: "N", meaning: "how many at most; default: 20" },
  all: { kind: "switch", meaning: "all of them; with --json one JSON document per line" },
};

export const METADATA: Flags = {
  metadata: { kind: "list", value: "NAME=VALUE", meaning: "an entry of the metadata; may be repeated" },
};

export const BODY: Flags = {
  from: {
    kind: "text",
    value: "FILE",
    meaning: "the request as JSON, in the names of the REST API; - is standard input",
  },
};

export const NAMED: Flags = {
  name: { kind: "text", value: "TEXT", meaning: "only those with this in their name; * is any text" },
};
