import "./styles/console.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { consoleHistory } from "./console-history.js";
import { applyTheme, chosenTheme } from "./theme.js";

// React Aria adds a style element unless the page has one with this id. The content security policy would refuse it;
// styles/base.css has its only rule.
const styleMarker = document.createElement("meta");
styleMarker.id = "react-aria-pressable-style";
document.head.append(styleMarker);

applyTheme(chosenTheme());
consoleHistory.watch();
const root = document.createElement("div");
document.body.append(root);
createRoot(root).render(<App />);
