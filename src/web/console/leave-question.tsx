import { useSyncExternalStore } from "react";
import { Overlay } from "./components/overlay.js";
import { leaveGuard } from "./leave-guard.js";

export function LeaveQuestion() {
  const isAsking = useSyncExternalStore(leaveGuard.subscribe, () => leaveGuard.isAsking);
  if (!isAsking) return null;
  return (
    <Overlay title="Leave without saving?" onClose={() => leaveGuard.decide(false)}>
      <p>What you changed here is not saved.</p>
      <div className="actions">
        <button type="button" className="primary" onClick={() => leaveGuard.decide(false)}>
          Stay
        </button>
        <button type="button" className="danger" onClick={() => leaveGuard.decide(true)}>
          Leave
        </button>
      </div>
    </Overlay>
  );
}
