import type { ReactNode } from "react";
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";

interface OverlayProps {
  readonly title: string;
  /** Whether Escape closes it. Default: true. */
  readonly isDismissable?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog over the page. It is open while it is rendered, and gives the focus back. */
export function Overlay({ title, isDismissable = true, onClose, children }: OverlayProps) {
  return (
    <ModalOverlay
      className="overlay"
      isOpen
      isKeyboardDismissDisabled={!isDismissable}
      onOpenChange={(isOpen) => isOpen || onClose()}
    >
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">{title}</Heading>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
