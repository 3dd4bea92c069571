import MiniSearch from "minisearch";
import { SEARCH_OPTIONS, type SearchEntry } from "./search-entry.js";

const MAX_SHOWN = 12;

/** Opens the search by the button, Ctrl K and /. The index is loaded at the first opening. */
export function openSearchBy(button: HTMLButtonElement, indexPath: string): void {
  let search: SearchDialog | undefined;
  const open = () => {
    search ??= new SearchDialog(indexPath);
    search.open();
  };
  button.hidden = false;
  button.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    const isShortcut = (event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !isTyping);
    if (!isShortcut) return;
    event.preventDefault();
    open();
  });
}

/** A list of results below a field; the arrow keys move through it. */
class SearchDialog {
  readonly #dialog = document.createElement("dialog");
  readonly #field = document.createElement("input");
  readonly #results = document.createElement("ul");
  readonly #status = document.createElement("p");
  readonly #index: Promise<MiniSearch<SearchEntry>>;

  constructor(indexPath: string) {
    this.#index = load(indexPath);
    this.#dialog.className = "search";
    this.#dialog.setAttribute("aria-label", "Search the documentation");
    // A field of the type search would take the first Escape for itself.
    this.#field.type = "text";
    this.#field.setAttribute("role", "searchbox");
    this.#field.placeholder = "Search guides and API";
    this.#field.setAttribute("aria-label", "Search guides and API");
    this.#status.setAttribute("role", "status");
    this.#dialog.append(this.#field, this.#status, this.#results);
    this.#field.addEventListener("input", () => this.#show());
    this.#dialog.addEventListener("keydown", (event) => this.#move(event));
    this.#dialog.addEventListener("click", ({ target }) => {
      if (target === this.#dialog || target instanceof HTMLAnchorElement) this.#dialog.close();
    });
    document.body.append(this.#dialog);
  }

  open(): void {
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#field.select();
    this.#show();
  }

  async #show(): Promise<void> {
    const query = this.#field.value;
    const found = await this.#index.then(
      (index) => index.search(query).slice(0, MAX_SHOWN),
      () => undefined,
    );
    if (query !== this.#field.value) return;
    this.#results.replaceChildren(
      ...(found ?? []).map(({ id, title, page }) => resultItem(String(id), String(title), String(page))),
    );
    this.#status.textContent = statusText(query, found?.length);
  }

  /** The arrows move between the field and the results; Enter in the field opens the first one. */
  #move(event: KeyboardEvent): void {
    const links = [...this.#results.querySelectorAll("a")];
    if (event.key === "Enter" && event.target === this.#field) links[0]?.click();
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const stops: readonly HTMLElement[] = [this.#field, ...links];
    const at = stops.findIndex((stop) => stop.matches(":focus"));
    stops[(at + (event.key === "ArrowDown" ? 1 : stops.length - 1)) % stops.length]?.focus();
  }
}

async function load(path: string): Promise<MiniSearch<SearchEntry>> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`the index was refused: ${response.status}`);
  return MiniSearch.loadJSON<SearchEntry>(await response.text(), SEARCH_OPTIONS);
}

function resultItem(path: string, title: string, page: string): HTMLLIElement {
  const link = document.createElement("a");
  link.href = path;
  link.textContent = title;
  const item = document.createElement("li");
  item.append(link);
  if (page !== "") {
    const owner = document.createElement("span");
    owner.textContent = page;
    link.append(owner);
  }
  return item;
}

function statusText(query: string, found: number | undefined): string {
  if (found === undefined) return "The search index could not be loaded. Reload the page to try again.";
  if (query.trim() === "") return "";
  return found === 0 ? `Nothing is found for “${query}”.` : "";
}
