import { type KeyboardEvent, type ReactNode, useId, useLayoutEffect, useRef } from "react";

interface OverlayProps {
  readonly title: string;
  /** Whether Escape closes it. Default: true. */
  readonly isDismissable?: boolean;
  /** Whether it hides the page, so that nobody else reads it. Default: false. */
  readonly isCovering?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog over the page. It is open while it is rendered, and gives the focus back. */
export function Overlay({ title, isDismissable = true, isCovering = false, onClose, children }: OverlayProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // Removed without this, it would not give the focus back.
    return () => shown?.close();
  }, []);
  // The browser must not close it: what is rendered decides. A second Escape would close it whatever `cancel` says.
  const dismiss = (event: { preventDefault: () => void; stopPropagation: () => void }) => {
    event.preventDefault();
    event.stopPropagation();
    if (isDismissable) onClose();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.nativeEvent.isComposing) dismiss(event);
  };
  return (
    <dialog
      ref={dialog}
      className={isCovering ? "dialog covering" : "dialog"}
      aria-labelledby={titleId}
      closedby={isDismissable ? "closerequest" : "none"}
      onKeyDown={onKeyDown}
      onCancel={dismiss}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}
