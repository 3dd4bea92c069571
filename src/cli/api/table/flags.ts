import { type Flags, listFlag, switchFlag, textFlag, wholeFlag } from "../../command.js";

export const LISTED: Flags = {
  limit: wholeFlag("N", "how many at most; default: 20"),
  all: switchFlag("all of them; with --json one JSON document per line"),
};

export const METADATA: Flags = {
  metadata: listFlag("NAME=VALUE", "an entry of the metadata; may be repeated"),
};

export const BODY: Flags = {
  from: textFlag("FILE", "the request as JSON, in the names of the REST API; - is standard input"),
};

export const NAMED: Flags = {
  name: textFlag("TEXT", "only those with this in their name; * is any text"),
};
