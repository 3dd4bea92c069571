import { createSecretKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  keyDetailsRecord,
  keyIssuanceProof,
  openRights,
  openSessionRights,
  rightsColumns,
  sealSessionRights,
} from "../../src/access/sealed-rights.js";
import { eventRecord } from "../../src/audit/event-record.js";
import { isTenantId, parseUuid, type Uuid } from "../../src/base/ids.js";
import { open } from "../../src/crypto/sealed.js";
import { openName, sealName } from "../../src/crypto/sealed-name.js";
import type { SealedField } from "../../src/crypto/sealed-record.js";
import { failedRunRecord } from "../../src/functions/failed-runs.js";
import { connectionRecord } from "../../src/payments/connections/connection.js";
import { paymentRecord } from "../../src/payments/lifecycle/payment.js";
import { refundRecord } from "../../src/payments/lifecycle/refund.js";
import { threeDSSessionRecord } from "../../src/payments/three-ds/session.js";
import { identityProof } from "../../src/people/identity.js";
import { passkeyRecord } from "../../src/people/passkey.js";
import { signInRecord } from "../../src/people/sign-in.js";
import { signInRequestRecord } from "../../src/people/sign-in-request.js";
import { proxyRecord } from "../../src/proxy/proxy.js";
import { formulaRecord } from "../../src/reactors/formula.js";
import { reactorRecord } from "../../src/reactors/reactor.js";
import { runEndRecord, runRequestRecord } from "../../src/reactors/runs.js";
import { SEALED_TABLES } from "../../src/store/tenancy/sealed-columns.js";
import { invitationRecord, openInvited } from "../../src/tenancy/invitation.js";
import { openProfile, openSealedRights, sealProfile } from "../../src/tenancy/profile.js";
import { exportRecord } from "../../src/tokens/token-export.js";
import { signingKeyBytes } from "../../src/webhooks/signing-key.js";
import { webhookRecord } from "../../src/webhooks/webhook.js";
import { newTenantKeys } from "../support/tenant-keys.js";

/** A stored value as the first release with this format wrote it. */
interface StoredVector {
  readonly name: string;
  readonly field: string;
  readonly entity: string;
  /** The values of the bound columns, as they are written into the additional data. */
  readonly bound: string | null;
  readonly plaintext: string;
  readonly sealed: string;
}

const vectors: readonly StoredVector[] = JSON.parse(
  readFileSync(new URL("support/sealed-records.json", import.meta.url), "utf8"),
);
const tenantId = "0192f3a0-1111-7111-8111-111111111111";
if (!isTenantId(tenantId)) throw new Error("not the id of a tenant");
const versions = { current: 3, byVersion: new Map([[3, createSecretKey(Buffer.alloc(32, 7))]]) };
const keys = { ...newTenantKeys(tenantId), data: versions };

const id = (last: number) => `0192f3a0-2222-7222-8222-${String(last).padStart(12, "0")}`;
const uuid = (last: number): Uuid => {
  const parsed = parseUuid(id(last));
  if (!parsed) throw new Error("not a UUID");
  return parsed;
};
const when = new Date("2026-11-01T12:34:56.789Z");
const hash = Buffer.alloc(32, 0xab);
const application = { id: uuid(8), type: "private", created_by: null } as const;
const session = {
  id: uuid(10),
  key_hash: hash,
  nonce_hash: hash,
  application_id: uuid(8),
  authorized_by: uuid(9),
  expires_at: when,
};
const member = { id: uuid(11), user_id: uuid(12), created_by: null };
const run = { id: uuid(18), reactor_id: uuid(5), application_id: uuid(8) };
const key = { id: uuid(9), application_id: uuid(8), key_hash: hash, created_by: uuid(4), expires_at: when };
const identity = { id: uuid(16), member_id: uuid(11), identity_term: hash };

/** Opens a stored value, and seals what came out of it. */
type OpenAndSeal = (sealed: Buffer) => Buffer;

function again<Row, Content>(record: SealedField<Row, Content>, row: Row): OpenAndSeal {
  return (sealed) => record.seal(keys, row, record.open(keys, row, sealed));
}

const BY_NAME: Readonly<Record<string, OpenAndSeal>> = {
  proxy: again(proxyRecord, { id: id(1), application_id: id(3), require_auth: true, created_by: id(4) }),
  "name of a proxy": (sealed) => sealName(keys, id(1), openName(keys, id(1), sealed)),
  reactor: again(reactorRecord, { id: id(5), application_id: null, formula_id: null, created_by: null }),
  formula: again(formulaRecord, { id: id(6) }),
  connection: again(connectionRecord, {
    id: id(7),
    formula_id: "simulator-card",
    accepted_countries: ["DE", "FR"],
    accepted_currencies: ["EUR"],
    active: true,
  }),
  application: (sealed) => rightsColumns(keys, application, openRights(keys, application, sealed)).definition,
  "application key"(proof) {
    keyIssuanceProof.require(keys, { ...key, proof });
    return keyIssuanceProof.seal(keys, key);
  },
  "details of a key": again(keyDetailsRecord, key),
  session: (rights) => sealSessionRights(keys, session, openSessionRights(keys, { ...session, rights })),
  profile(profile) {
    const row = { ...member, profile };
    return sealProfile(keys, member, openProfile(keys, row), { role: "OWNER", ...openSealedRights(keys, row) });
  },
  passkey: again(passkeyRecord, { id: id(13), member_id: id(11), credential_hash: hash }),
  "sign-in": again(signInRecord, {
    id: id(14),
    token_hash: hash,
    member_id: id(11),
    method: "link",
    expires_at: when,
    strong_at: null,
  }),
  "sign-in request": again(signInRequestRecord, {
    id: id(15),
    method: "link",
    browser_hash: null,
    expires_at: when,
  }),
  "member identity"(proof) {
    identityProof.require(keys, { ...identity, proof });
    return identityProof.seal(keys, identity);
  },
  invitation: (email) =>
    invitationRecord.seal(keys, { id: id(17) }, openInvited(keys, { id: uuid(17), email, role: "DEVELOPER" })),
  "request of a run": again(runRequestRecord, run),
  "result of a run": again(runEndRecord, run),
  "failed run": again(failedRunRecord, { id: id(19) }),
  refund: again(refundRecord, { id: id(20), payment_id: id(21) }),
  payment: again(paymentRecord, {
    id: id(21),
    connection_id: id(7),
    token_id: "order-1",
    containers: ["/a/"],
    status: "authorized",
    provider_id: null,
  }),
  webhook: again(webhookRecord, { id: id(23), events: ["token.created"], created_by: null }),
  event: again(eventRecord, {
    id: id(24),
    event_type: "token.created",
    entity_type: "card",
    entity_id: "order-1",
    actor_id: id(9),
    actor_type: "application",
    trace_id: null,
    created_at: when,
  }),
  "signing key of webhooks": again(signingKeyBytes, { id: id(25) }),
  "request for an export": again(exportRecord, {
    id: id(26),
    application_id: uuid(8),
    created_by: uuid(4),
    approved_by: uuid(12),
    expires_at: when,
  }),
  "3DS session": again(threeDSSessionRecord, { id: id(22), token_id: "order-1", payment_id: null }),
};

describe("a stored sealed record", () => {
  // Values stay for years: a change of their bytes needs a reader of the former ones.
  it.each(vectors)(
    "opens, and is sealed again with the same bytes: $name",
    ({ name, sealed, plaintext, ...vector }) => {
      const bound = vector.bound === null ? {} : { bound: vector.bound };
      const context = { tenantId, entity: vector.entity, field: vector.field, ...bound };
      expect(open(versions, context, Buffer.from(sealed, "hex")).toString()).toBe(plaintext);
      const resealed = BY_NAME[name]?.(Buffer.from(sealed, "hex"));
      expect(resealed && open(versions, context, resealed).toString()).toBe(plaintext);
    },
  );

  it("has a vector for each field that is sealed, except values of tokens and stored responses", () => {
    const fields = new Set(SEALED_TABLES.flatMap(({ columns }) => columns.map(({ field }) => field)));
    const others = ["data", "attributes", "cvc", "idempotency"];
    expect([...new Set(vectors.map(({ field }) => field)), ...others].toSorted()).toEqual([...fields].toSorted());
  });
});
