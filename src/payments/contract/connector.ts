import type { TenantId } from "../../base/ids.js";
import type { Sensitive } from "../../crypto/sensitive.js";
import type { FormulaId } from "./formula.js";
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

export interface ConnectorContext {
  readonly tenantId: TenantId;
  /** The tenant's values by the formula's keys; empty values are absent. */
  readonly fields: ReadonlyMap<string, Sensitive<string>>;
  readonly send: ProviderHttp;
  /** Business time, for values computed from it. */
  readonly now: Date;
}

/**
 * A payment service. Methods never throw for anything that a service does or fails to do: every end is an outcome. They
 * throw only for our own defects. Each makes one HTTP call, or as few as the service's interface allows.
 *
 * Only `unknown` means that money may have moved without our knowledge. A request that never left (see `never_sent` of
 * {@link ProviderHttp}) is `failed` with service_network_error, or `refused` as failed.
 */
export interface Connector {
  readonly formulaId: FormulaId;
  /** The host that the connection's calls go to. Undefined if it has no valid address, or no service is called. */
  hostOf(context: Pick<ConnectorContext, "fields">): string | undefined;
  /** Refuses an amount that the service cannot express exactly with invalid_amount, without a call. */
  authorize(context: ConnectorContext, request: AuthorizationRequest): Promise<AuthorizationOutcome>;
  capture(context: ConnectorContext, request: CaptureRequest): Promise<FollowUpOutcome>;
  /**
   * Releases an authorization. Without `providerId`, by our reference if the service supports that, otherwise
   * `unknown`.
   */
  void(context: ConnectorContext, request: VoidRequest): Promise<FollowUpOutcome>;
  refund(context: ConnectorContext, request: RefundRequest): Promise<FollowUpOutcome>;
  /** Gets the current state of a payment. Changes nothing. */
  lookUp(context: ConnectorContext, payment: PaymentReference): Promise<LookUpOutcome>;
  /** Finishes the approval after the buyer's return, if the service needs that. Otherwise the same as a look-up. */
  finishApproval(context: ConnectorContext, approval: ApprovalReturn): Promise<LookUpOutcome>;
  /** A harmless call that only shows whether the credentials work. */
  checkCredentials(context: ConnectorContext): Promise<CredentialsOutcome>;
  /** Verifies, then reads. Makes no call. */
  readWebhook(context: ConnectorContext, delivery: WebhookDelivery): WebhookReading;
}
