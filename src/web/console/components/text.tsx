import { useState } from "react";

/** A name or id that somebody chose: any length, any script. Long ones are cut in the middle. */
export function Name({ children }: { children: string }) {
  return (
    <bdi className="name" dir="auto" title={children}>
      {shortened(children)}
    </bdi>
  );
}

const MAX_SHOWN_LENGTH = 48;

function shortened(text: string): string {
  const characters = [...text];
  if (characters.length <= MAX_SHOWN_LENGTH) return text;
  return `${characters.slice(0, MAX_SHOWN_LENGTH / 2).join("")}…${characters.slice(-MAX_SHOWN_LENGTH / 2 + 1).join("")}`;
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <>
      <button
        type="button"
        onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
        onBlur={() => setCopied(false)}
      >
        {label}
      </button>
      <span role="status" className="quiet">
        {isCopied ? "Copied" : ""}
      </span>
    </>
  );
}

/** Code to read and copy. It scrolls in its own region. */
export function CodeSample({ label, code }: { label: string; code: string }) {
  return (
    <div className="sample">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard (WCAG 2.1.1) */}
      <section className="scroll" aria-label={label} tabIndex={0}>
        <pre>{code}</pre>
      </section>
      <CopyButton text={code} />
    </div>
  );
}
