import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  ImportTokensRequestSchema,
  type ImportTokensResponse,
  ImportTokensResponseSchema,
  TokenService,
} from "../../gen/cloakroom/v1/tokens_pb.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import type { Clock } from "../base/clock.js";
import { Fault } from "../base/fault.js";
import { yieldToEventLoop } from "../base/yield-to-event-loop.js";
import {
  type FailedRow,
  importRows,
  prepareRows,
  type ReadyRow,
  replayRefusal,
  type StoredRow,
} from "../tokens/import.js";
import { ImportRecord } from "../tokens/import-record.js";
import { type ServedMethod, serve } from "./call.js";
import { toJson } from "./value.js";

/** Tokens from another vault, batch by batch. Each batch commits or fails as a whole, with one result for each row. */
export function importingTokens(clock: Clock): ServedMethod {
  return serve(TokenService.method.importTokens, async (request, call) => {
    const { importId, position } = request;
    const bytes = call.memory.bodyBytes;
    const body = toBinary(ImportTokensRequestSchema, request);
    await yieldToEventLoop(bytes);
    const record = new ImportRecord(call.caller, call.keys, { importId, position, body });
    const rows = request.rows.map((row) => () => withoutPlace(() => toJson(row, ROW)));
    const prepared = await prepareRows(
      { caller: call.caller, keys: call.keys, now: new Date(clock.now()) },
      { position, rows, bytes },
    );
    return call.transactShared(
      async (tx) => {
        const stored = await record.find(tx);
        if (stored) return replayed(tx, prepared, fromBinary(ImportTokensResponseSchema, stored));
        const results = (await importRows(tx, prepared)).map(showRow);
        const response = create(ImportTokensResponseSchema, { results });
        record.store(tx, toBinary(ImportTokensResponseSchema, response));
        return response;
      },
      (response) => response,
    );
  });
}

/** Names a row where a fault names a place in it. */
const ROW = "row";

/** Fields of a row are named as the row has them. */
function withoutPlace<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Fault) || !error.fields) throw error;
    const fields = Object.entries(error.fields).map(([name, texts]) => [name.slice(ROW.length + 1) || ROW, texts]);
    throw new Fault(error.code, error.message, { fields: Object.fromEntries(fields) });
  }
}

function replayed(tx: CallerTransaction, rows: readonly (ReadyRow | FailedRow)[], { results }: ImportTokensResponse) {
  const shown = results.map((result, index) => {
    const row = rows[index];
    const refused = row && result.id !== undefined ? replayRefusal(tx, row, result.id) : undefined;
    return refused ? showRow(refused) : result;
  });
  return create(ImportTokensResponseSchema, { results: shown });
}

function showRow(row: StoredRow | FailedRow) {
  const { position } = row;
  if ("id" in row) {
    const { id, fingerprint, isDeduplicated } = row;
    return {
      position,
      id,
      ...(fingerprint === undefined ? {} : { fingerprint }),
      ...(isDeduplicated ? { deduplicated: true } : {}),
    };
  }
  const { code, message, fields = {} } = row.fault;
  const [field] = Object.keys(fields);
  return { position, error: { code, detail: message, ...(field === undefined ? {} : { field }) } };
}
