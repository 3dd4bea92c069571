import { type DescMessage, type DescMethodUnary, isMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import { ApplicationService } from "../../gen/cloakroom/v1/applications_pb.js";
import {
  ConnectionService,
  type CreateConnectionRequest,
  type ReplaceConnectionRequest,
} from "../../gen/cloakroom/v1/connections_pb.js";
import {
  type CreateProxyRequest,
  ProxyService,
  type ProxyTransform,
  type ReplaceProxyRequest,
  type UpdateProxyRequest,
} from "../../gen/cloakroom/v1/proxies_pb.js";
import { SessionService } from "../../gen/cloakroom/v1/sessions_pb.js";
import { type CreateTokenRequest, TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import { parseRights } from "../access/access-rule.js";
import { parseAllowedOrigins } from "../access/allowed-origins.js";
import { parseContainer } from "../access/container.js";
import { isApplicationType } from "../access/permissions.js";
import { invalid } from "../base/fault.js";
import { chooseFormula } from "../payments/connections/connection.js";
import { readFields } from "../payments/connections/connection-fields.js";
import { type NamedStep, requireUsableSteps } from "../proxy/check-steps.js";
import { parseTransform } from "../proxy/transform.js";
import { normalizeData } from "../tokens/data-field.js";
import { parseExpiry } from "../tokens/parse-expiry.js";
import { tokenType } from "../tokens/types/registry.js";
import { ruleDraft } from "./access-rules.js";
import { parseSentTemplates } from "./application-pages.js";
import { nonEmptyTransform, transformDraft } from "./proxies.js";
import { readTypedData } from "./typed-data.js";
import { toJson } from "./value.js";

/** Checks some fields of a request on their own. Throws a fault that names the problem. */
type FieldCheck = () => unknown;

/** The checks of a request, which fail independently of each other. */
export type FieldChecks = (request: Message) => readonly FieldCheck[];

const NONE: FieldChecks = () => [];

/**
 * The checks that a handler makes one after the other, as separate checks. A handler stops at the first problem. These
 * run only on rejected requests, to make the error name every problem.
 */
export function compileFieldChecks(desc: DescMethodUnary): FieldChecks {
  return CHECKS.get(desc) ?? NONE;
}

function checking<I extends DescMessage>(
  desc: DescMethodUnary<I, DescMessage>,
  checksOf: (request: MessageShape<I>) => readonly FieldCheck[],
): [DescMethodUnary, FieldChecks] {
  return [desc, (request) => (isMessage(request, desc.input) ? checksOf(request) : [])];
}

const CHECKS: ReadonlyMap<DescMethodUnary, FieldChecks> = new Map([
  checking(TokenService.method.createToken, tokenChecks),
  checking(ApplicationService.method.createApplication, ({ type, permissions, rules, allowedOrigins, templates }) => [
    () => {
      if (!isApplicationType(type)) throw invalid("type", "must be private, public or management");
      // Unreadable rules are absent here. The handler itself reports that both rules and permissions are missing.
      if (permissions.length + rules.length > 0) parseRights(type, permissions, rules.map(ruleDraft));
    },
    () => isApplicationType(type) && parseAllowedOrigins(type, allowedOrigins),
    () => parseSentTemplates(templates),
  ]),
  checking(SessionService.method.authorizeSession, ({ permissions, rules }) => [
    () => permissions.length + rules.length > 0 && parseRights("session", permissions, rules.map(ruleDraft)),
  ]),
  checking(ProxyService.method.createProxy, (request) => [...transformChecks(request), ...stepChecks(request)]),
  checking(ProxyService.method.replaceProxy, (request) => [...transformChecks(request), ...stepChecks(request)]),
  checking(ProxyService.method.updateProxy, transformChecks),
  checking(ConnectionService.method.createConnection, connectionChecks),
  checking(ConnectionService.method.replaceConnection, connectionChecks),
]);

function tokenChecks(request: CreateTokenRequest): readonly FieldCheck[] {
  const { type, data, mask, containers, expiresAt } = request;
  const typed = readTypedData(request);
  return [
    () => tokenType(type),
    () => data && tokenType(type).normalize(toJson(data, "data")),
    () => typed && normalizeData(tokenType(type), typed.data, typed.dataField),
    () => mask && toJson(mask, "mask"),
    ...containers.map((path, index) => () => parseContainer(path, `containers[${index}]`)),
    () => expiresAt === undefined || parseExpiry(expiresAt, new Date()),
  ];
}

function transformChecks(
  request: CreateProxyRequest | ReplaceProxyRequest | UpdateProxyRequest,
): readonly FieldCheck[] {
  const { requestTransform, responseTransform, requestTransforms, responseTransforms } = request;
  const before = nonEmptyTransform(requestTransform);
  const after = nonEmptyTransform(responseTransform);
  return [
    () => before && parseTransform(before, "request_transform", false),
    () => after && parseTransform(after, "response_transform", true),
    ...requestTransforms.map(
      (transform, index) => () => parseTransform(transformDraft(transform), `request_transforms[${index}]`, false),
    ),
    ...responseTransforms.map(
      (transform, index) => () => parseTransform(transformDraft(transform), `response_transforms[${index}]`, true),
    ),
  ];
}

/** Not for a patch, whose steps may use the results of steps that are not in the request. */
function stepChecks(request: CreateProxyRequest | ReplaceProxyRequest): readonly FieldCheck[] {
  const { requestTransform, responseTransform, requestTransforms, responseTransforms } = request;
  const check = (
    field: string,
    single: ProxyTransform | undefined,
    list: readonly ProxyTransform[],
    isResponse: boolean,
  ) => {
    const draft = nonEmptyTransform(single);
    const drafts = [
      ...(draft ? [[field, draft] as const] : []),
      ...list.map((transform, index) => [`${field}s[${index}]`, transformDraft(transform)] as const),
    ];
    requireUsableSteps(
      drafts.map(([name, one]): NamedStep => [name, parseTransform(one, name, isResponse)]),
      isResponse,
    );
  };
  return [
    () => check("request_transform", requestTransform, requestTransforms, false),
    () => check("response_transform", responseTransform, responseTransforms, true),
  ];
}

function connectionChecks(request: CreateConnectionRequest | ReplaceConnectionRequest): readonly FieldCheck[] {
  const formula = () => chooseFormula(request.connectionFormulaId, request.method);
  return [
    formula,
    () => readFields(formula(), request.fields),
    ...request.acceptedCountries.map((code, index) => () => {
      if (!formula().countries.includes(code)) {
        throw invalid(`accepted_countries[${index}]`, "must be an ISO 3166-1 alpha-2 code that the formula supports");
      }
    }),
    ...request.acceptedCurrencies.map((code, index) => () => {
      if (!formula().currencies.includes(code)) {
        throw invalid(`accepted_currencies[${index}]`, "must be an ISO 4217 code that the formula supports");
      }
    }),
  ];
}
