import { useEffect, useState } from "react";
import { leaveGuard } from "./leave-guard.js";

/** Asks before a draft is left that differs from what was opened or saved. Returns a function to call once it is saved. */
export function useUnsaved(draft: object): () => void {
  const text = JSON.stringify(draft);
  const [saved, setSaved] = useState(text);
  const isUnsaved = text !== saved;
  useEffect(() => {
    if (!isUnsaved) return undefined;
    leaveGuard.hold("changes");
    return () => leaveGuard.release();
  }, [isUnsaved]);
  return () => setSaved(text);
}
