/** The part of the package that the tests use. It has no types of its own. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  export interface InteractionResult {
    readonly login?: { readonly accountId: string };
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
    interactionFinished(request: unknown, response: unknown, result: InteractionResult, options: object): Promise<void>;
  }
}
