import { databaseErrorCode } from "../postgres/database-error.js";

/** How a program of PostgreSQL failed: its exit code, its signal, or why it did not start. */
export function programFailure(error: unknown): string {
  if (error instanceof Error) {
    if ("signal" in error && typeof error.signal === "string") return error.signal;
    if ("code" in error && typeof error.code === "number") return `exit code ${error.code}`;
  }
  return databaseErrorCode(error);
}
