import { createHash } from "node:crypto";

/** The name that a page shows of a key. */
export function keyNameOf(key: string): string {
  const [, , kind, tenantPart] = key.split("_");
  return `${kind}_${tenantPart}_${createHash("sha256").update(key).digest("base64url")}`;
}

/** Data that a document of hosted fields has for its script. */
export function dataIn(document: string): Readonly<Record<string, unknown>> {
  const [, text = ""] = /<meta name="cloakroom" content="([^"]*)">/.exec(document) ?? [];
  return JSON.parse(text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))));
}

/** The header of a new frame for a page: its document is loaded as a browser does. */
export async function frameHeader(url: string, key: string, origin: string): Promise<Record<string, string>> {
  const name = keyNameOf(key);
  const response = await fetch(`${url}/elements/v1/frame?key=${name}&type=controller`);
  if (response.status !== 200) throw new Error(`loading a frame returned ${response.status}`);
  return { "Cloakroom-Frame": `${String(dataIn(await response.text()).pass)} ${name} ${origin}` };
}
