import type { TenantId } from "../base/ids.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { FormulaId } from "./formulas.js";
import type { AuthorizationOutcome, CredentialsOutcome, FollowUpOutcome, LookUpOutcome } from "./outcome.js";
import type {
  ApprovalReturn,
  AuthorizationRequest,
  CaptureRequest,
  PaymentReference,
  RefundRequest,
  VoidRequest,
} from "./payment-request.js";
import type { ProviderHttp } from "./provider-http.js";
import type { WebhookDelivery, WebhookReading } from "./webhook.js";

/** How a connector reaches its payment service for one connection of one tenant. */
export interface ConnectorContext {
  readonly tenantId: TenantId;
  /** What the tenant filled in, by the formula's keys; empty values are absent. */
  readonly fields: ReadonlyMap<string, Sensitive<string>>;
  readonly send: ProviderHttp;
  /** Business time, for what is computed from it. */
  readonly now: Date;
}

/**
 * A payment service. Methods never throw for what a service does or fails to do: every end is an outcome. They throw only
 * for defects of ours. One HTTP call each, or as few as the service's interface allows.
 *
 * Only `unknown` says that money may have moved without our knowing. A request that never left (see `never_sent` of
 * {@link ProviderHttp}) is `failed` with service_network_error, or `refused` as failed.
 */
export interface Connector {
  readonly formulaId: FormulaId;
  /** Refuses with invalid_amount, and without a call, what the service cannot express exactly. */
  authorize(context: ConnectorContext, request: AuthorizationRequest): Promise<AuthorizationOutcome>;
  capture(context: ConnectorContext, request: CaptureRequest): Promise<FollowUpOutcome>;
  /** Releases an authorization. Where `providerId` is absent, by our reference if the service can do that, else `unknown`. */
  void(context: ConnectorContext, request: VoidRequest): Promise<FollowUpOutcome>;
  refund(context: ConnectorContext, request: RefundRequest): Promise<FollowUpOutcome>;
  /** How a payment stands now. Changes nothing. */
  lookUp(context: ConnectorContext, payment: PaymentReference): Promise<LookUpOutcome>;
  /** After the buyer came back: finishes the approval where the service wants that, else the same as a look-up. */
  finishApproval(context: ConnectorContext, approval: ApprovalReturn): Promise<LookUpOutcome>;
  /** A harmless call that only tells whether the credentials work. */
  checkCredentials(context: ConnectorContext): Promise<CredentialsOutcome>;
  /** Verifies, then reads. Makes no call. */
  readWebhook(context: ConnectorContext, delivery: WebhookDelivery): WebhookReading;
}
