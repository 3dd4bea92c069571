import type { EditorView } from "@codemirror/view";
import { useEffect, useRef, useState } from "react";
import { Skeleton } from "../../components/loaded.js";
import type { EditorLanguage } from "./editor-setup.js";

interface CodeEditorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly language?: EditorLanguage;
  readonly isReadOnly?: boolean;
}

/** An editor for code. Its program, two thirds of the console's, loads when it is first shown. */
export function CodeEditor({ label, value, onChange, language = "javascript", isReadOnly = false }: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const [isReady, setReady] = useState(false);
  const latest = useRef({ value, onChange });
  latest.current = { value, onChange };
  useEffect(() => {
    let view: EditorView | undefined;
    let isGone = false;
    void import("./editor-setup.js").then(({ createEditor }) => {
      if (isGone || !host.current) return;
      view = createEditor({
        host: host.current,
        text: latest.current.value,
        label,
        language,
        isReadOnly,
        onChange: (text) => latest.current.onChange(text),
      });
      setReady(true);
    });
    return () => {
      isGone = true;
      view?.destroy();
    };
  }, [label, language, isReadOnly]);
  return (
    <div className="field">
      <span className="label">{label}</span>
      {!isReady && <Skeleton lines={5} />}
      <div ref={host} className="editor" />
      {!isReadOnly && <p className="help">Tab indents while you type. Escape lets Tab leave the editor.</p>}
    </div>
  );
}
