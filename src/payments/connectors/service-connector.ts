import type { Connector, ConnectorContext } from "../contract/connector.js";
import type {
  AuthorizationOutcome,
  CredentialsOutcome,
  FollowUpOutcome,
  LookUpOutcome,
  ProviderCodes,
} from "../contract/outcome.js";
import type {
  ApprovalReturn,
  AuthorizationRequest,
  CaptureRequest,
  Money,
  PaymentReference,
  RefundRequest,
  VoidRequest,
} from "../contract/payment-request.js";
import { endedAuthorization, refusedOperation } from "./ending.js";
import { hostIn } from "./fields.js";
import { redacting } from "./redacting.js";

export interface ServiceCall<Requests> {
  readonly context: ConnectorContext;
  readonly requests: Requests;
}

/** What differs between payment services. Amounts are checked before, and texts of the service are redacted after. */
export interface Service<Requests, Amount> extends Pick<Connector, "formulaId" | "readWebhook"> {
  /** The base address of the connection's environment. Undefined if the connection's fields name none. */
  addressOf(context: Pick<ConnectorContext, "fields">): string | undefined;
  /** What a connection without an address lacks. */
  readonly noAddress?: string;
  requestsFor(address: string, context: ConnectorContext): Requests;
  /** The amount as the service writes it. Undefined if that would not be exact. */
  amountOf(money: Money): Amount | undefined;
  authorize(call: ServiceCall<Requests>, request: AuthorizationRequest, amount: Amount): Promise<AuthorizationOutcome>;
  capture(call: ServiceCall<Requests>, request: CaptureRequest, amount: Amount): Promise<FollowUpOutcome>;
  void(call: ServiceCall<Requests>, request: VoidRequest): Promise<FollowUpOutcome>;
  refund(call: ServiceCall<Requests>, request: RefundRequest, amount: Amount): Promise<FollowUpOutcome>;
  lookUp(call: ServiceCall<Requests>, payment: PaymentReference): Promise<LookUpOutcome>;
  /** Absent: a look-up. */
  finishApproval?(call: ServiceCall<Requests>, approval: ApprovalReturn): Promise<LookUpOutcome>;
  checkCredentials(call: ServiceCall<Requests>): Promise<CredentialsOutcome>;
}

export function serviceConnector<Requests, Amount>(service: Service<Requests, Amount>): Connector {
  const noAddress: ProviderCodes = { rawDescription: service.noAddress };
  const callFor = (context: ConnectorContext): ServiceCall<Requests> | undefined => {
    const address = service.addressOf(context);
    return address === undefined ? undefined : { context, requests: service.requestsFor(address, context) };
  };
  const lookUp: Connector["lookUp"] = async (context, payment) => {
    const call = callFor(context);
    return call ? service.lookUp(call, payment) : { kind: "unknown", codes: noAddress };
  };
  return redacting({
    formulaId: service.formulaId,
    hostOf: (context) => hostIn(service.addressOf(context)),
    async authorize(context, request) {
      const amount = service.amountOf(request.money);
      if (amount === undefined) return endedAuthorization("invalid_amount", { codes: INEXPRESSIBLE });
      const call = callFor(context);
      if (!call) return endedAuthorization("invalid_service_configuration", { codes: noAddress });
      return service.authorize(call, request, amount);
    },
    async capture(context, request) {
      const amount = service.amountOf(request.money);
      if (amount === undefined) return refusedOperation("invalid_amount", INEXPRESSIBLE);
      const call = callFor(context);
      return call
        ? service.capture(call, request, amount)
        : refusedOperation("invalid_service_configuration", noAddress);
    },
    async void(context, request) {
      const call = callFor(context);
      return call ? service.void(call, request) : refusedOperation("invalid_service_configuration", noAddress);
    },
    async refund(context, request) {
      const amount = service.amountOf(request.money);
      if (amount === undefined) return refusedOperation("invalid_amount", INEXPRESSIBLE);
      const call = callFor(context);
      return call
        ? service.refund(call, request, amount)
        : refusedOperation("invalid_service_configuration", noAddress);
    },
    lookUp,
    async finishApproval(context, approval) {
      if (!service.finishApproval) return lookUp(context, approval.payment);
      const call = callFor(context);
      return call ? service.finishApproval(call, approval) : { kind: "unknown", codes: noAddress };
    },
    async checkCredentials(context) {
      const call = callFor(context);
      return call ? service.checkCredentials(call) : { kind: "refused" };
    },
    readWebhook: service.readWebhook,
  });
}

/** An amount that the service cannot express exactly is refused before any call. */
export const INEXPRESSIBLE: ProviderCodes = { rawDescription: "The payment service cannot express this amount." };
