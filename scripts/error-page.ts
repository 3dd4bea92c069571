import { Code } from "@connectrpc/connect";
import { FAULT_TABLE } from "../src/api/faults/fault-table.js";
import { FAULT_CODES, type FaultCode } from "../src/base/fault.js";

/** When a caller gets each code, and what to do then. */
const MEANINGS: Readonly<Record<FaultCode, string>> = {
  malformed_body:
    "The request cannot be read: not HTTP, not JSON or protobuf, nested too deeply, too many values. Do not retry.",
  validation_failed: "Fields or parameters are wrong; `errors` names each with what is expected. Do not retry.",
  unauthenticated: "The key is missing, wrong, expired or deleted, or the person is not signed in.",
  permission_denied: "The key or role does not have the right; `detail` names it.",
  reason_required: "A rule or the tenant asks for a reason to read this value: send `X-Cloakroom-Reason`.",
  reason_invalid: "`X-Cloakroom-Reason` is empty, too long, sent twice, or has characters that it must not have.",
  second_factor_required:
    "A person who is signed in must prove a second factor first: the proof may be at most 5 minutes old. Keys never get it.",
  not_found: "There is no such path or entity in this tenant, or the caller may not know of it.",
  method_not_allowed: "The path does not take this method; the header `Allow` lists those that it takes.",
  destination_timeout: "The destination of a proxied call did not respond in time. It may have done its work.",
  already_exists: "The id is taken.",
  conflict: "Another request changed the same thing at the same time. Nothing was changed: read again, then retry.",
  wrong_state: "The transaction or session is not in a state that allows this. A retry does not help.",
  idempotency_in_flight: "The first request with this `BT-IDEMPOTENCY-KEY` has not ended. Retry after `Retry-After`.",
  body_too_large: "The body exceeds a limit, which `detail` names.",
  headers_too_large: "Address and headers exceed 32 KB or 200 headers.",
  request_timeout: "The request did not arrive in time, or too slowly. Nothing was changed.",
  unsupported_media_type: "The operation does not take this `Content-Type`; `detail` names those that it takes.",
  expectation_failed: "An `Expect` header other than `100-continue`.",
  unprocessable: "The request is well formed and impossible, such as code that does not compile; `detail` says why.",
  rate_limited: "Too many requests. Retry after `Retry-After`; `RateLimit-Reset` says when the limit is lifted.",
  internal: "A fault of the vault. Its operator finds the cause in the log by the trace id.",
  destination_unreachable: "The destination could not be connected to, or its response is not valid HTTP.",
  unavailable: "The vault or its database is overloaded, starting or stopping. Retry after `Retry-After`.",
};

const INTRODUCTION = `# Errors

<!-- \`npm run generate\` writes this page from scripts/error-page.ts, src/base/fault.ts and src/api/faults/fault-table.ts. Do not edit it by hand. -->

Programs decide by \`code\`. The list is closed within a version; new versions may add codes, so treat an unknown one by its status.
\`title\` and \`detail\` are for people and may change.

## Form

Over REST an error is a JSON object (RFC 9457), sent as \`application/json\`:

\`\`\`json
{
  "type": "/docs/guides/errors#validation_failed",
  "title": "One or more validation errors occurred.",
  "status": 400,
  "detail": "data.expiration_month must be a month from 1 to 12 (1 of 2 problems)",
  "instance": "urn:cloakroom:trace:01980f70-1a2b-7c4d-9e5f-60718293a4b5",
  "code": "validation_failed",
  "errors": {
    "data.expiration_month": ["must be a month from 1 to 12"],
    "containers[0]": ["must be a path such as /pci/high/: slashes at both ends, and letters, digits, - or _ between them"]
  }
}
\`\`\`

\`type\` leads to the code's row on this page, relative to the vault's address. \`errors\` names fields as they were sent; \`detail\` is its first problem and the number of all. \`instance\` has the trace id, which the header
\`BT-TRACE-ID\` has, too. Over gRPC, gRPC-Web and Connect, the message is \`detail\`, and the details are
\`google.rpc.ErrorInfo\` (\`reason\` is the code, \`metadata.trace_id\` the trace), \`google.rpc.BadRequest\` (the fields) and
\`google.rpc.RetryInfo\`. Below \`/proxy\` the object is in \`proxy_error\`, which tells the vault's errors from the destination's.

A request that is refused changes nothing, except that \`destination_timeout\` and \`destination_unreachable\` leave open how far the
destination got. \`internal\`, a lost connection and, if the database was lost during a commit, \`unavailable\` leave open whether the
request was carried out: [idempotency keys](idempotency.md) make it safe to send again.

## Codes

| Code | HTTP | gRPC | When, and what to do |
|---|---|---|---|
`;

const FUNCTIONS = `
## Tenants' code

Errors of the code of reactors and transforms have a status of their own, and one of two codes.

| Code | Status | When |
|---|---|---|
| \`reactor_error\` | the status that the code chose, else 500 | the code of a reactor failed; [code.md](code.md) describes its errors |
| \`proxy_error\` | the same | the code of a proxy's transform failed |
`;

/** The text of docs/errors.md. */
export function errorPage(): string {
  return [INTRODUCTION, ...FAULT_CODES.map(rowOf), FUNCTIONS].join("");
}

function rowOf(code: FaultCode): string {
  const { http, rpc } = FAULT_TABLE[code];
  const status = Code[rpc].replaceAll(/(?<!^)([A-Z])/g, "_$1").toUpperCase();
  return `| \`${code}\` | ${http} | \`${status}\` | ${MEANINGS[code]} |\n`;
}
