import { buffer } from "node:stream/consumers";
import type { TokenLookup } from "../expressions/detokenization.js";
import type { RequestMemory } from "../memory/request-memory.js";
import { type ScannedRequest, scanReferences } from "./scanned-request.js";
import type { ProxySample } from "./test-proxy.js";

/** Finds the references of a sample request as those of a call are found. @throws errors of {@link scanReferences}. */
export function scanSample({ request }: ProxySample, memory: RequestMemory): Promise<ScannedRequest> {
  return scanReferences({ ...request, memory }, { isDetokenizing: true, hasSteps: true });
}

/** The sample with its request as a call would send it, with masked values. @throws {Fault} as a call's. */
export async function resolvedSample(
  sample: ProxySample,
  { head, body, references }: ScannedRequest,
  lookup: TokenLookup,
): Promise<ProxySample> {
  references.resolve(lookup, sample.configuration);
  const { path, query } = head;
  const sent = body.send(head.headers);
  const bytes = Buffer.isBuffer(sent.body) ? sent.body : await buffer(sent.body);
  return { ...sample, request: { ...sample.request, path, query, headers: sent.headers, body: bytes } };
}
