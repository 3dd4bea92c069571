import type { Transform } from "../access/access-rule.js";
import type { TenantId } from "../base/ids.js";
import type { Json, JsonObject } from "../base/json.js";
import type { TokenView as ExpressionView } from "../expressions/detokenization.js";
import type { Token } from "./token.js";
import { enrichments } from "./types/details.js";
import { type Showing, type TokenView, viewToJson, viewToken } from "./view.js";

/**
 * A token as expressions see it under a transform. Nearly all of them need only its data. Its mask, its fingerprint and
 * the rest of the token, a tenth of a proxied call, are computed on first use.
 */
export class ShownToken implements ExpressionView {
  readonly #tenantId: TenantId;
  readonly #token: Token;
  readonly #transform: Transform;
  readonly #showing: Showing;
  #view: TokenView | undefined;
  #whole: JsonObject | undefined;

  constructor(tenantId: TenantId, token: Token, transform: Transform, showing: Showing) {
    this.#tenantId = tenantId;
    this.#token = token;
    this.#transform = transform;
    this.#showing = showing;
  }

  /** Null for a redacted token. */
  get data(): Json {
    return this.#transform === "reveal" ? this.#token.data.reveal() : (this.#seen().data ?? null);
  }

  get token(): JsonObject {
    this.#whole ??= { ...viewToJson(this.#seen()), ...this.#enriched() };
    return this.#whole;
  }

  /** Evaluated once: the mask is computed once, and every reference sees the same result. */
  #seen(): TokenView {
    this.#view ??= viewToken(this.#tenantId, this.#token, this.#transform, this.#showing);
    return this.#view;
  }

  /** Contains first and last digits, so the rule for `card` and `bank` of the view applies. */
  #enriched(): JsonObject {
    const { card, bank } = this.#seen();
    if (!card && !bank) return {};
    const rich = enrichments(this.#token.type, this.#token.data.reveal(), this.#showing.bins);
    return rich ? { enrichments: rich } : {};
  }
}
