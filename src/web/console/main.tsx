import "./styles/console.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { consoleHistory } from "./console-history.js";
import { applyTheme, chosenTheme } from "./theme.js";

applyTheme(chosenTheme());
consoleHistory.watch();
const root = document.createElement("div");
document.body.append(root);
createRoot(root).render(<App />);
