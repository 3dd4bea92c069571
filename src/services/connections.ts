import {
  ConnectionService,
  type CreateConnectionRequest,
  type ReplaceConnectionRequest,
} from "../../gen/cloakroom/v1/connections_pb.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import {
  type Connection,
  type ConnectionDraft,
  chooseFormula,
  connections,
  createConnection,
  listConnectionFormulas,
  listConnections,
  replaceConnection,
  requireSupported,
} from "../payments/connections/connection.js";
import { FEATURES, type Formula, hasThreeDSecure } from "../payments/contract/formula.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { replayWhole } from "./replay.js";
import { serveById } from "./serve-by-id.js";
import { showAudit, storedUuid } from "./show.js";

export interface ConnectionServiceParts {
  /** The URL to which the payment service posts webhooks of a connection. */
  readonly webhookUrl: (keys: TenantKeys, connectionId: Uuid) => string;
  readonly checkSoon: (tenantId: TenantId) => void;
}

export function connectionService(parts: ConnectionServiceParts): ServedMethod[] {
  return [...connectionReads(parts), ...connectionChanges(parts)];
}

function connectionReads({ webhookUrl }: ConnectionServiceParts): ServedMethod[] {
  const { method } = ConnectionService;
  return [
    serve(method.listConnections, async (_request, call) =>
      call.list(
        (tx) => listConnections(tx),
        (found) => ({ data: found.map((item) => showWhole(item, webhookUrl(call.keys, item.id))) }),
      ),
    ),
    serve(method.getConnection, async ({ id }, call) =>
      call.transact(
        (tx) => connections.get(tx, storedUuid(id)),
        (found) => showWhole(found, webhookUrl(call.keys, found.id)),
      ),
    ),
    serve(method.listConnectionFormulas, async (_request, call) =>
      call.transact(
        (tx) => listConnectionFormulas(tx),
        (formulas) => ({ data: formulas.map(showFormula) }),
      ),
    ),
  ];
}

function connectionChanges({ webhookUrl, checkSoon }: ConnectionServiceParts): ServedMethod[] {
  const { method } = ConnectionService;
  return [
    serve(
      method.createConnection,
      async (request, call) => {
        const draft = readDraft(request);
        const shown = await call.transact(
          (tx) => createConnection(tx, draft),
          (made) => ({ ...show(made), webhookUrl: webhookUrl(call.keys, made.id) }),
        );
        checkSoon(call.caller.tenantId);
        return shown;
      },
      { replay: replayWhole("connection") },
    ),
    serve(
      method.replaceConnection,
      async (request, call) => {
        const draft = readDraft(request);
        const shown = await call.transact(
          (tx) => replaceConnection(tx, storedUuid(request.id), draft),
          (changed) => showWhole(changed, webhookUrl(call.keys, changed.id)),
        );
        checkSoon(call.caller.tenantId);
        return shown;
      },
      { replay: replayWhole("connection") },
    ),
    serveById(method.deleteConnection, (tx, id) => connections.delete(tx, id), showNothing),
  ];
}

function readDraft(request: CreateConnectionRequest | ReplaceConnectionRequest): ConnectionDraft {
  const draft = {
    formula: chooseFormula(request.connectionFormulaId, request.method),
    fields: request.fields,
    displayName: request.displayName,
    acceptedCountries: distinctCodes(request.acceptedCountries),
    acceptedCurrencies: distinctCodes(request.acceptedCurrencies),
    active: request.active ?? true,
  };
  requireSupported(draft);
  return draft;
}

/** Codes of ISO 3166 and ISO 4217 are shown in upper case, and accepted in either case. */
function distinctCodes(codes: readonly string[]): string[] {
  return [...new Set(codes.map((code) => code.toUpperCase()))];
}

/** The response to a creation omits the method, as documented. */
function show(connection: Connection) {
  const { id, formula, displayName, status, acceptedCountries, acceptedCurrencies, active } = connection;
  return {
    id,
    connectionFormulaId: formula.id,
    displayName,
    status,
    active,
    acceptedCountries: [...acceptedCountries],
    acceptedCurrencies: [...acceptedCurrencies],
    threeDSecureEnabled: hasThreeDSecure(formula),
    ...showAudit(connection),
  };
}

function showWhole(connection: Connection, webhookUrl: string) {
  return { ...show(connection), method: connection.formula.method, webhookUrl };
}

function showFormula({ id, displayName, method, fields, currencies, countries, features }: Formula) {
  return {
    id,
    displayName,
    method,
    fields: fields.map(({ key, displayName: name, required, format, secret }) => ({
      key,
      displayName: name,
      required,
      format,
      secret,
    })),
    supportedCurrencies: [...currencies],
    supportedCountries: [...countries],
    supportedFeatures: Object.fromEntries(FEATURES.map((feature) => [feature, features.has(feature)])),
  };
}
