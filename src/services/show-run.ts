import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CodeErrorSchema, ConsoleLineSchema } from "../../gen/cloakroom/v1/functions_pb.js";
import { type Json, setOwnProperty } from "../base/json.js";
import type { FunctionFailed } from "../functions/function-failed.js";
import type { ConsoleLine, RunUsage } from "../sandbox/run.js";

/** Texts from tenant code may contain lone surrogates, which no message can carry. */
export function showError({
  status,
  detail,
  errors,
  position,
}: FunctionFailed): MessageInitShape<typeof CodeErrorSchema> {
  const shown: Record<string, Json & string[]> = {};
  for (const [name, texts] of Object.entries(errors)) {
    setOwnProperty(
      shown,
      name.toWellFormed(),
      texts.map((text) => text.toWellFormed()),
    );
  }
  return { status, detail: detail.toWellFormed(), errors: shown, ...(position ? { position: { ...position } } : {}) };
}

export function showConsole(lines: readonly ConsoleLine[]): MessageInitShape<typeof ConsoleLineSchema>[] {
  return lines.map(({ level, text }) => ({ level, text: text.toWellFormed() }));
}

export function showUsage(usage: RunUsage | undefined) {
  return usage ? { durationMs: usage.ms, memoryBytes: usage.memoryBytes } : {};
}
