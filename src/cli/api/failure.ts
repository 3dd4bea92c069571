import { styleText } from "node:util";
import { CloakroomError } from "@cloakroom/client";
import { terminal } from "../../base/terminal.js";
import { UnreadableFile } from "../../token-files/unreadable-file.js";
import { printableJson } from "../printable.js";
import { UsageError } from "../usage-error.js";
import { messageForCommands } from "./client-words.js";
import { NotSignedIn } from "./credentials.js";
import { EXIT_CODES, exitCodeFor } from "./exit-codes.js";
import { Interrupted } from "./interrupted.js";
import { cellText } from "./text-table.js";

/** What a failed command prints: one JSON object with --json, otherwise lines. */
interface Report {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
  readonly fields?: Readonly<Record<string, readonly string[]>>;
  readonly traceId?: string | undefined;
}

interface ReportOptions {
  readonly asJson: boolean;
  readonly color: boolean;
}

/** Prints to standard error why a command failed. Returns its exit code. */
export function reportFailure(error: unknown, { asJson, color }: ReportOptions): number {
  const { exitCode, code, message, fields = {}, traceId } = failureReport(error);
  if (asJson) {
    const shown = { code, message, ...(Object.keys(fields).length > 0 ? { fields } : {}), trace_id: traceId };
    terminal().stderr.write(`${printableJson(shown)}\n`);
    return exitCode;
  }
  const lines = [
    message,
    ...Object.entries(fields).flatMap(([name, texts]) => texts.map((text) => `  ${name}: ${text}`)),
    ...(traceId === undefined ? [] : [`  trace: ${traceId}`]),
    ...(code === "unauthenticated"
      ? ["The key comes from --profile, CLOAKROOM_API_KEY or cloakroom login, which saves another."]
      : []),
  ];
  for (const [index, line] of lines.entries()) {
    const text = cellText(line);
    terminal().stderr.write(`${index === 0 && color ? styleText("red", text, { stream: terminal().stderr }) : text}\n`);
  }
  return exitCode;
}

function failureReport(error: unknown): Report {
  if (error instanceof UsageError || error instanceof UnreadableFile)
    return { exitCode: EXIT_CODES.wrongCall, code: "usage", message: error.message };
  if (error instanceof NotSignedIn) {
    return { exitCode: EXIT_CODES.notSignedIn, code: "not_signed_in", message: error.message };
  }
  if (error instanceof Interrupted) {
    return { exitCode: EXIT_CODES.interrupted, code: "interrupted", message: "Interrupted." };
  }
  if (error instanceof CloakroomError) {
    const { code, fields, traceId } = error;
    return { exitCode: exitCodeFor(code), code, message: messageForCommands(error), fields, traceId };
  }
  const system = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
  // Messages of libraries may hold what must not be printed.
  return { exitCode: EXIT_CODES.failed, code: "internal", message: `The command failed${system}.` };
}
