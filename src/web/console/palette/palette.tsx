import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { useLocation } from "wouter";
import { Icon } from "../components/icon.js";
import { Overlay } from "../components/overlay.js";
import { Name } from "../components/text.js";
import { usePaletteEntries } from "./palette-entries.js";
import type { PaletteEntry } from "./palette-match.js";

/** A button, and Ctrl K or Cmd K, for a search over the console. */
export function Palette() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      // A dialog that is open asks something first.
      if (!document.querySelector("dialog[open]")) setOpen(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <button type="button" className="find" title="Find" aria-keyshortcuts="Control+K" onClick={() => setOpen(true)}>
        <Icon name="search" />
        <span>Find</span>
        <kbd>Ctrl K</kbd>
      </button>
      {isOpen && <Search onClose={() => setOpen(false)} />}
    </>
  );
}

function Search({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const [, navigate] = useLocation();
  const listId = useId();
  const entries = usePaletteEntries(text);
  const current = Math.min(chosen, Math.max(entries.length - 1, 0));
  const open = (entry: PaletteEntry | undefined) => {
    if (!entry) return;
    onClose();
    navigate(entry.path);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && entries.length > 0) setChosen((current + step + entries.length) % entries.length);
    else if (event.key === "Enter") open(entries[current]);
    else return;
    event.preventDefault();
  };
  const optionId = (index: number) => `${listId}-${index}`;
  return (
    <Overlay title="Find" onClose={onClose}>
      <input
        role="combobox"
        aria-label="Page, action, name, id, trace or container"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={entries.length > 0 ? optionId(current) : undefined}
        placeholder="Page, action, name, id, trace or container"
        autoComplete="off"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={listId} role="listbox" aria-label="Found" className="found">
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and its keys choose (ARIA combobox)
          <div
            key={`${entry.kind} ${entry.path}`}
            id={optionId(index)}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            onClick={() => open(entry)}
          >
            <span className="quiet">{entry.kind}</span> <Name>{entry.name}</Name>
          </div>
        ))}
      </div>
    </Overlay>
  );
}
