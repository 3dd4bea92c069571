import type { TestTenant } from "../../../support/tenant.js";

export interface MadeProxy {
  readonly id: string;
  readonly key: string;
}

/** Creates a proxy; `definition` is added to a name. */
export async function makeProxy(
  tenant: TestTenant,
  definition: { readonly destination_url: string } & Readonly<Record<string, unknown>>,
): Promise<MadeProxy> {
  const { status, body } = await tenant.manage("POST", "/proxies", { body: { name: "Test proxy", ...definition } });
  if (status !== 201) throw new Error(`making a proxy returned ${status}: ${JSON.stringify(body)}`);
  return { id: body.id, key: body.key };
}

/** Code of a transform with this body; `req` is its argument. */
export function code(statements: string): { readonly code: string } {
  return { code: `module.exports = async function (req) { ${statements} };` };
}
