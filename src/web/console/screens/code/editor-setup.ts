import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript, localCompletionSource } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import { type Diagnostic, linter, lintKeymap } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { sandboxCompletions } from "./sandbox-completions.js";

export type EditorLanguage = "javascript" | "json";

interface EditorParts {
  readonly host: HTMLElement;
  readonly text: string;
  readonly label: string;
  readonly language: EditorLanguage;
  readonly isReadOnly: boolean;
  readonly onChange: (text: string) => void;
}

/** Colours of the page's own palette: its custom properties reach into the shadow root. */
const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: "var(--accent)" },
  { tag: [tags.string, tags.regexp], color: "var(--good)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--danger)" },
]);

const THEME = EditorView.theme({
  "&": { backgroundColor: "var(--back)", color: "var(--text)", maxHeight: "420px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "ui-monospace, Menlo, Consolas, monospace", fontSize: "12.5px", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--code-back)", color: "var(--quiet)", border: "none" },
  ".cm-content": { caretColor: "var(--text)", minHeight: "120px" },
  ".cm-gutter": { minHeight: "120px" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--line) !important" },
  ".cm-tooltip": { backgroundColor: "var(--back)", border: "1px solid var(--line)" },
});

/**
 * Puts an editor into a shadow root: there it adopts its styles, which the content security policy would refuse as a
 * style element. Tab indents only after Enter or a click has made the editor active; Escape gives Tab back to the page.
 */
export function createEditor({ host, text, label, language, isReadOnly, onChange }: EditorParts): EditorView {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const tab = new Compartment();
  const setTab = (view: EditorView, isOn: boolean) => {
    view.dispatch({ effects: tab.reconfigure(isOn ? keymap.of([indentWithTab]) : []) });
    return false;
  };
  return new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorState.readOnly.of(isReadOnly),
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
        keymap.of([
          { key: "Escape", run: (view) => setTab(view, false) },
          { any: (view, { key }) => (key.length === 1 || key === "Enter" ? setTab(view, true) : false) },
        ]),
        tab.of([]),
        ...BASE,
        ...(language === "json" ? [json()] : JAVASCRIPT),
      ],
    }),
  });
}

const BASE: readonly Extension[] = [
  ...[lineNumbers(), highlightSpecialChars(), history(), drawSelection(), highlightActiveLine()],
  ...[indentOnInput(), bracketMatching(), closeBrackets(), EditorView.lineWrapping, THEME],
  syntaxHighlighting(COLOURS),
  keymap.of([...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
];

const JAVASCRIPT: readonly Extension[] = [
  javascript(),
  autocompletion({ override: [sandboxCompletions, localCompletionSource] }),
  linter(({ state }) => syntaxErrors(state)),
];

/** The places that the parser could not read. The server's compiler has the last word, in a test run. */
function syntaxErrors(state: EditorState): readonly Diagnostic[] {
  const found: Diagnostic[] = [];
  syntaxTree(state).iterate({
    enter({ type, from, to }) {
      if (type.isError && found.length < 20) found.push({ from, to, severity: "error", message: "Syntax error" });
    },
  });
  return found;
}
