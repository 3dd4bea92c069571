import type { TenantId } from "../../../src/base/ids.js";
import type { TestDatabase } from "../../support/databases.js";
import { ROW_TIME } from "./named-rows.js";

/** Another session's transaction, which holds locks until it ends. */
export interface OtherSession extends AsyncDisposable {
  insert(name: string): Promise<void>;
  raiseRevision(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export async function openSession(database: TestDatabase, tenantId: TenantId): Promise<OtherSession> {
  const sql = await database.owner.reserve();
  let isOpen = true;
  await sql`begin`;
  await sql.unsafe(`set local role cloakroom_app; set local app.tenant_id = '${tenantId}'`);
  const end = async (how: "commit" | "rollback") => {
    if (!isOpen) return;
    isOpen = false;
    await sql.unsafe(how);
    sql.release();
  };
  return {
    async insert(name) {
      await sql`insert into due (tenant_id, kind, due_at) values (${tenantId}, ${name}, ${ROW_TIME})`;
    },
    async raiseRevision() {
      await sql`update tenants set auth_revision = auth_revision + 1 where tenant_id = ${tenantId}`;
    },
    commit: () => end("commit"),
    rollback: () => end("rollback"),
    [Symbol.asyncDispose]: () => end("rollback"),
  };
}
