import { addCopyButtons } from "./copy-buttons.js";
import { addLanguageChoice } from "./language-choice.js";
import { openSearchBy } from "./search-dialog.js";

// Every page is complete without this script: it adds what needs one.
addLanguageChoice();
addCopyButtons();
const button = document.querySelector<HTMLButtonElement>("button.find");
const index = document.querySelector<HTMLScriptElement>("script[data-search-index]")?.dataset.searchIndex;
if (button && index !== undefined) openSearchBy(button, index);
