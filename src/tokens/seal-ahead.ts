import { inTurns } from "../base/caller-turns.js";
import { newUuid } from "../base/ids.js";
import { writeInPieces } from "../base/write-in-pieces.js";
import { isLarge, yieldToEventLoop } from "../base/yield-to-event-loop.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { PreparedToken } from "./prepare.js";
import { type SealedToken, sealCvc, sealToken, splitCvc, tokenDataText } from "./sealing.js";

/**
 * Seals a token under the id of the first attempt to store it. Sealing is most of the work on a small token, and a
 * transaction that requests share cannot yield.
 */
export function sealAhead(keys: TenantKeys, prepared: PreparedToken): PreparedToken {
  return { ...prepared, sealed: sealUnder(chooseId(prepared, false), keys, prepared) };
}

/** The same for a token of a request of so many bytes, whose text takes as many turns of the caller as it needs. */
export async function sealInTurns(keys: TenantKeys, prepared: PreparedToken, bytes: number): Promise<PreparedToken> {
  if (!isLarge(bytes)) return sealAhead(keys, prepared);
  const { data } = splitCvc(prepared.type.name, prepared.data.reveal());
  const text = await inTurns(writeInPieces(data));
  await yieldToEventLoop(text.length);
  return { ...prepared, sealed: sealUnder(chooseId(prepared, false), keys, prepared, text) };
}

/** @param text of the data without a verification code, if it is written already. */
export function sealUnder(id: string, keys: TenantKeys, prepared: PreparedToken, text?: Buffer): SealedToken {
  const { data: whole, attributes, indexValues, fingerprint = null } = prepared;
  const { data, cvc } = splitCvc(prepared.type.name, whole.reveal());
  const bound = {
    id,
    type: prepared.type.name,
    containers: [...prepared.containers],
    fingerprint,
    dedupe_key: prepared.isDeduplicated ? fingerprint : null,
    revision: 1,
  };
  const sealed = sealToken(keys, bound, { text: text ?? tokenDataText(data), attributes, indexValues });
  return {
    id,
    type: bound.type,
    containers: bound.containers,
    fingerprint,
    dedupe_key: bound.dedupe_key,
    revision: bound.revision,
    data: sealed.data,
    attributes: sealed.attributes,
    cvc: cvc === undefined ? undefined : sealCvc(keys, id, cvc),
  };
}

export function chooseId({ idChoice }: PreparedToken, isTaken: boolean): string {
  switch (idChoice.kind) {
    case "ours":
      return newUuid();
    case "given":
      return idChoice.id;
    case "alias":
      return isTaken ? idChoice.next() : idChoice.id;
  }
}
