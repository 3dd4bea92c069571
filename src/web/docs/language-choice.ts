const STORED = "cloakroom-docs-language";

/** Shows the calls of the reference in one language at a time, the same on all pages. */
export function addLanguageChoice(): void {
  const groups = [...document.querySelectorAll<HTMLElement>(".calls")];
  for (const group of groups) {
    const figures = [...group.querySelectorAll<HTMLElement>("figure[data-language]")];
    if (figures.length < 2) continue;
    const choice = document.createElement("div");
    choice.className = "languages";
    choice.setAttribute("role", "group");
    choice.setAttribute("aria-label", "Language");
    for (const { dataset } of figures) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = dataset.language ?? "";
      button.addEventListener("click", () => choose(groups, button.textContent));
      choice.append(button);
    }
    group.prepend(choice);
  }
  choose(groups, read() ?? "curl");
}

function choose(groups: readonly HTMLElement[], language: string): void {
  for (const group of groups) {
    const figures = [...group.querySelectorAll<HTMLElement>("figure[data-language]")];
    const shown = figures.find(({ dataset }) => dataset.language === language) ?? figures[0];
    for (const figure of figures) figure.hidden = figure !== shown;
    for (const button of group.querySelectorAll<HTMLButtonElement>(".languages button")) {
      button.setAttribute("aria-pressed", String(button.textContent === shown?.dataset.language));
    }
  }
  write(language);
}

/** Browsers may refuse to store anything: the choice then holds for the page. */
function read(): string | undefined {
  try {
    return localStorage.getItem(STORED) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(language: string): void {
  try {
    localStorage.setItem(STORED, language);
  } catch {
    // See read().
  }
}
