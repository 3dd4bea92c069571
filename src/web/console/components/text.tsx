import { useState } from "react";

/** A name or id that somebody chose: any length, any script. Long ones are cut in the middle. */
export function Name({ children }: { children: string }) {
  return (
    <bdi className="name" dir="auto" title={children}>
      {shortened(children)}
    </bdi>
  );
}

/** An id as people compare it: the beginning and the end, with the whole in its title. */
export function Id({ children }: { children: string }) {
  return (
    <bdi className="id" dir="auto" title={children}>
      {cut(children, ID_HEAD, ID_TAIL)}
    </bdi>
  );
}

const ID_HEAD = 8;
const ID_TAIL = 4;
const MAX_SHOWN_LENGTH = 48;
/** Characters that turn the order of those after them: "gpj.exe" would be shown for "exe.jpg". */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;
/** Letters with their accents, and emoji with all their parts, count as one and are never cut. */
const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A name in which no character turns the order of others. */
export function withoutTurns(text: string): string {
  return text.replaceAll(DIRECTIONS, "\u{fffd}");
}

/** A name without a visible character would be a link that cannot be seen. */
function shortened(text: string): string {
  if (/^[\s\p{Cf}\p{Cc}]*$/u.test(text)) return "(blank)";
  return cut(text, MAX_SHOWN_LENGTH / 2, MAX_SHOWN_LENGTH / 2 - 1);
}

function cut(text: string, head: number, tail: number): string {
  const shown = [...GRAPHEMES.segment(withoutTurns(text))].map(({ segment }) => segment);
  if (shown.length <= head + tail + 1) return shown.join("");
  return `${shown.slice(0, head).join("")}…${shown.slice(-tail).join("")}`;
}

/** A whole id, for programs and for support. */
export function WholeId({ children }: { children: string }) {
  return (
    <span className="whole-id">
      <code>{children}</code> <CopyButton text={children} />
    </span>
  );
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
