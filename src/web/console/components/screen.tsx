import { type ReactNode, useEffect, useRef } from "react";
import { withoutTurns } from "./text.js";

interface ScreenProps {
  readonly title: string;
  /** Beside the title. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** Whether a screen was shown already. The first one leaves the focus where the browser put it. */
let hasNavigated = false;

/** A screen with its heading, which gets the focus after navigation, for screen readers. */
export function Screen({ title, actions, children }: ScreenProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${withoutTurns(title)} · Cloakroom`;
    if (hasNavigated) heading.current?.focus();
    hasNavigated = true;
  }, [title]);
  return (
    <>
      <header className="screen-head">
        <h1 ref={heading} tabIndex={-1}>
          <bdi dir="auto">{withoutTurns(title)}</bdi>
        </h1>
        <div className="actions">{actions}</div>
      </header>
      {children}
    </>
  );
}
