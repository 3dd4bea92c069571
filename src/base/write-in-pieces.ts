import type { Steps } from "./caller-turns.js";
import { type Json, type JsonObject, setOwnProperty } from "./json.js";

/** Values that the engine's writer writes at once, in about 0.05 ms where they are numbers. */
const PIECE = 1_000;

/**
 * The text of `JSON.stringify` in UTF-8, of which each step writes some values. A long text within is one step. No string
 * has the whole, and none waits for it: the engine's own memory has neither.
 */
export function* writeInPieces(json: Json): Steps<Buffer> {
  const pieces: Buffer[] = [];
  yield* addPieces(json, (text) => pieces.push(Buffer.from(text)));
  const [only] = pieces;
  return only && pieces.length === 1 ? only : Buffer.concat(pieces);
}

type Add = (text: string) => void;

function* addPieces(json: Json, add: Add): Steps<void> {
  if (countValues(json) <= PIECE || typeof json !== "object" || json === null) add(JSON.stringify(json));
  else if (Array.isArray(json)) yield* addItems(json, add);
  else yield* addMembers(json, add);
}

function* addItems(list: readonly Json[], add: Add): Steps<void> {
  let [from, values, opening] = [0, 0, "["];
  const write = (to: number) => {
    if (to > from) {
      add(opening + JSON.stringify(list.slice(from, to)).slice(1, -1));
      opening = ",";
    }
    [from, values] = [to, 0];
  };
  for (let index = 0; index < list.length; index += 1) {
    const item = list[index] ?? null;
    const more = countValues(item);
    if (values + more > PIECE) {
      write(index);
      yield;
    }
    values += more;
    if (more <= PIECE) continue;
    add(opening);
    opening = ",";
    yield* addPieces(item, add);
    [from, values] = [index + 1, 0];
  }
  write(list.length);
  add("]");
}

function* addMembers(object: JsonObject, add: Add): Steps<void> {
  let [members, values, opening]: [JsonObject, number, string] = [{}, 0, "{"];
  const write = () => {
    if (values > 0) {
      add(opening + JSON.stringify(members).slice(1, -1));
      opening = ",";
    }
    [members, values] = [{}, 0];
  };
  for (const [name, value] of Object.entries(object)) {
    const more = countValues(value);
    if (values + more > PIECE) {
      write();
      yield;
    }
    if (more > PIECE) {
      add(`${opening}${JSON.stringify(name)}:`);
      opening = ",";
      yield* addPieces(value, add);
    } else {
      setOwnProperty(members, name, value);
      values += more;
    }
  }
  write();
  add("}");
}

/** Scalars, lists and objects together; stops at more than a piece has. */
function countValues(json: Json, before = 0): number {
  if (typeof json !== "object" || json === null) return before + 1;
  const parts = Array.isArray(json) ? json : Object.values(json);
  let count = before + 1;
  if (count + parts.length > PIECE) return count + parts.length;
  for (const part of parts) {
    count = countValues(part, count);
    if (count > PIECE) return count;
  }
  return count;
}
