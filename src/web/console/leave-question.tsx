import { useSyncExternalStore } from "react";
import { Overlay } from "./components/overlay.js";
import { type Loss, leaveGuard } from "./leave-guard.js";

const QUESTIONS: Readonly<Record<Loss, { readonly title: string; readonly text: string; readonly leave: string }>> = {
  changes: { title: "Leave without saving?", text: "What you changed here is not saved.", leave: "Leave" },
  import: {
    title: "Stop the import?",
    text: "An import runs only while this page is open. Rows that are stored stay stored, and the same file goes on where it stopped.",
    leave: "Stop and leave",
  },
};

export function LeaveQuestion() {
  const loss = useSyncExternalStore(leaveGuard.subscribe, () => leaveGuard.asksAbout);
  if (!loss) return null;
  const { title, text, leave } = QUESTIONS[loss];
  return (
    <Overlay title={title} onClose={() => leaveGuard.decide(false)}>
      <p>{text}</p>
      <div className="actions">
        <button type="button" className="primary" onClick={() => leaveGuard.decide(false)}>
          Stay
        </button>
        <button type="button" className="danger" onClick={() => leaveGuard.decide(true)}>
          {leave}
        </button>
      </div>
    </Overlay>
  );
}
