import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { listKeysOfApplication } from "../store/access/application-keys.js";
import { readApplication } from "../store/access/applications.js";
import { type Application, openApplication } from "./application.js";

/** An application with all its keys. @throws {Fault} not_found. */
export async function findApplication(tx: TenantTransaction, id: Uuid): Promise<Application> {
  const [row, keyRows] = await Promise.all([tx.query(readApplication, id), tx.query(listKeysOfApplication, id)]);
  if (!row) throw notFound("application");
  return openApplication(tx.keys, row, keyRows);
}
