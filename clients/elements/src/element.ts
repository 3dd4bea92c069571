import { ElementsError } from "./error.js";
import { readEvent } from "./field-event.js";
import { type OpenFrame, openFrame, openNotice } from "./frame.js";
import { LABELS } from "./labels.js";
import type {
  ElementOptions,
  FieldCommand,
  FieldState,
  FieldType,
  InitMessage,
  Locale,
  Placeholder,
} from "./protocol.js";

/** Options of an element: those of its frame, and how the page shows it. */
export interface CreateOptions extends ElementOptions {
  /** CSS height of the frame. By default it has place for the inputs, and for errors with `showError`. */
  readonly height?: string;
}

export interface ChangeEvent extends FieldState {
  readonly type: "change";
  readonly elementType: FieldType;
}

export interface ElementEvents {
  /** The field can be used. */
  ready: { readonly type: "ready" };
  focus: { readonly type: "focus" };
  blur: { readonly type: "blur" };
  change: ChangeEvent;
  /** Enter was pressed in the field. */
  submit: { readonly type: "submit" };
  escape: { readonly type: "escape" };
  /** A `reveal` element shows its value, hides it, or has copied it, as a `copy` element has. */
  revealed: { readonly type: "revealed" };
  hidden: { readonly type: "hidden" };
  copied: { readonly type: "copied" };
  error: { readonly type: "error"; readonly error: ElementsError };
}

/** Ends a subscription; can be called directly or as `unsubscribe()`. */
export interface Unsubscribe {
  (): void;
  unsubscribe(): void;
}

type Listener = (event: ElementEvents[keyof ElementEvents]) => void;

/** What an element needs of its group. */
export interface ElementGroup {
  readonly baseUrl: string;
  readonly nonce: string;
  readonly locale: Locale;
  keyName(): Promise<string>;
  controller(): Promise<MessagePort>;
  remove(element: SecureElement): void;
}

/** A field whose content stays in a frame of the vault. */
export class SecureElement {
  readonly type: FieldType;
  /** Names the element in request bodies. */
  readonly $element: string;
  readonly #group: ElementGroup;
  #options: CreateOptions;
  /** By the type of event, then by the page's function. */
  readonly #listeners = new Map<string, Map<unknown, Listener>>();
  #frame: OpenFrame | undefined;
  #port: MessagePort | undefined;
  #place: Element | undefined;
  #isDestroyed = false;
  #mounts = 0;
  #rejectMount: ((error: ElementsError) => void) | undefined;
  readonly #onLabelClick = (event: Event) => this.#focusByLabel(event);

  constructor(group: ElementGroup, id: string, type: FieldType, options: CreateOptions) {
    this.#group = group;
    this.$element = id;
    this.type = type;
    this.#options = options;
  }

  /**
   * Puts the field into a node, by selector or itself. Resolves when the field can be used.
   * @throws {ElementsError} if the page may not show it, or it was unmounted meanwhile.
   */
  async mount(target: string | Element): Promise<void> {
    if (this.#isDestroyed) throw new ElementsError({ code: "destroyed", message: "The element was destroyed." });
    const place = typeof target === "string" ? document.querySelector(target) : target;
    if (!place) throw new ElementsError({ code: "no_target", message: `There is no node ${target} to mount at.` });
    this.unmount();
    this.#place = place;
    document.addEventListener("click", this.#onLabelClick);
    this.#mounts += 1;
    const mount = this.#mounts;
    await new Promise<void>((resolve, reject) => {
      this.#rejectMount = reject;
      this.#open(place, mount, resolve).catch(reject);
    }).catch((error: unknown) => {
      this.#rejectMount = undefined;
      if (error instanceof ElementsError && error.code !== "unmounted") this.#emit({ type: "error", error });
      throw error;
    });
    this.#rejectMount = undefined;
    this.#emit({ type: "ready" });
  }

  /** Changes options, but those that decide what may be typed: `mask` and `check` need a new element. */
  update(options: CreateOptions): void {
    this.#options = { ...this.#options, ...options };
    this.#send({ type: "update", options: frameOptions(this.#options) });
    if (this.#frame) this.#frame.iframe.style.height = this.#height;
  }

  clear(): void {
    this.#send({ type: "clear" });
  }

  /** Call it in response to a person's action; browsers may refuse it otherwise. */
  focus(): void {
    this.#frame?.iframe.focus();
    this.#send({ type: "focus" });
  }

  blur(): void {
    this.#send({ type: "blur" });
  }

  /** `reveal` only: shows the value, as its button does. */
  show(): void {
    this.#send({ type: "show" });
  }

  /** `reveal` only. */
  hide(): void {
    this.#send({ type: "hide" });
  }

  /** `cardExpirationDate`: the month, for a request body. */
  month(): Placeholder {
    return { $element: this.$element, part: "month" };
  }

  /** `cardExpirationDate`: the year with four digits, for a request body. */
  year(): Placeholder {
    return { $element: this.$element, part: "year" };
  }

  /** Takes the field out of the page. What was typed is lost; the element can be mounted again. */
  unmount(): void {
    this.#rejectMount?.(new ElementsError({ code: "unmounted", message: "The element was unmounted." }));
    this.#rejectMount = undefined;
    document.removeEventListener("click", this.#onLabelClick);
    this.#frame?.close();
    this.#frame = undefined;
    this.#port?.close();
    this.#port = undefined;
    this.#place = undefined;
  }

  /** Removes the element for good. Never throws. */
  destroy(): void {
    if (this.#isDestroyed) return;
    this.unmount();
    this.#isDestroyed = true;
    this.#listeners.clear();
    this.#group.remove(this);
  }

  /** A listener that is added again is called once. */
  on<K extends keyof ElementEvents>(type: K, listener: (event: ElementEvents[K]) => void): Unsubscribe {
    return this.#listen(type, listener, listener);
  }

  /** As `on`, for the next event alone. */
  once<K extends keyof ElementEvents>(type: K, listener: (event: ElementEvents[K]) => void): Unsubscribe {
    return this.#listen(type, listener, (event) => {
      this.off(type, listener);
      listener(event);
    });
  }

  off<K extends keyof ElementEvents>(type: K, listener: (event: ElementEvents[K]) => void): void {
    this.#listeners.get(type)?.delete(listener);
  }

  #listen<K extends keyof ElementEvents>(
    type: K,
    listener: (event: ElementEvents[K]) => void,
    call: (event: ElementEvents[K]) => void,
  ): Unsubscribe {
    const listeners = this.#listeners.get(type) ?? new Map<unknown, Listener>();
    listeners.set(listener, (event) => {
      if (isOfType(event, type)) call(event);
    });
    this.#listeners.set(type, listeners);
    const unsubscribe = () => this.off(type, listener);
    return Object.assign(unsubscribe, { unsubscribe });
  }

  async #open(place: Element, mount: number, onPaired: () => void): Promise<void> {
    const { baseUrl, locale, nonce } = this.#group;
    const title = this.#options.label ?? LABELS[locale][this.type];
    // Unmounted or mounted again meanwhile?
    const isCurrent = () => this.#place === place && this.#mounts === mount;
    const [keyName] = await Promise.all([this.#group.keyName(), this.#group.controller()]).catch((error: unknown) => {
      // The browser refused the hidden frame already.
      if (isCurrent()) this.#show(openNotice(place, { baseUrl, locale, title }));
      throw error;
    });
    if (!isCurrent()) return;
    const frame = openFrame(place, {
      ...{ baseUrl, keyName, type: this.type, nonce, id: this.$element, title, locale, isHidden: false },
      init: () => this.#init(place),
      onPort: (port) => {
        this.#port = port;
        port.onmessage = ({ data }) => this.#onMessage(data, onPaired);
      },
      onFailure: (error) => {
        if (this.#rejectMount) this.#rejectMount(error);
        else this.#emit({ type: "error", error });
      },
    });
    this.#show(frame);
  }

  #show(frame: OpenFrame): void {
    this.#frame = frame;
    frame.iframe.style.height = this.#height;
  }

  #init(place: Element): Omit<InitMessage, "cloakroom" | "nonce" | "id"> {
    const { direction, colorScheme } = getComputedStyle(place);
    if (this.#frame) this.#frame.iframe.style.colorScheme = colorScheme;
    const label = this.#options.label ?? labelOf(place);
    return {
      locale: this.#group.locale,
      dir: direction === "rtl" ? "rtl" : "ltr",
      colorScheme,
      options: { ...frameOptions(this.#options), ...(label === undefined ? {} : { label }) },
    };
  }

  #onMessage(data: unknown, onPaired: () => void): void {
    const event = readEvent(data);
    if (!event) return;
    switch (event.type) {
      case "paired":
        onPaired();
        break;
      case "change":
        this.#mark(event.state);
        this.#emit({ type: "change", elementType: this.type, ...event.state });
        break;
      case "failed":
        this.#emit({ type: "error", error: new ElementsError(event.error) });
        break;
      case "warning":
        // biome-ignore lint/suspicious/noConsole: the developer of the page has no other way to learn of it
        console.warn(`Cloakroom: ${event.message}`);
        break;
      case "focus":
      case "blur":
        this.#place?.classList.toggle("CloakroomElement--focus", event.type === "focus");
        this.#emit({ type: event.type });
        break;
      default:
        this.#emit({ type: event.type });
    }
  }

  #mark({ complete, empty, error }: FieldState): void {
    const states = { complete, empty, invalid: error !== undefined };
    for (const [name, holds] of Object.entries(states)) {
      this.#place?.classList.toggle(`CloakroomElement--${name}`, holds);
    }
  }

  #emit(event: ElementEvents[keyof ElementEvents]): void {
    // A listener may end itself or another.
    for (const listener of [...(this.#listeners.get(event.type)?.values() ?? [])]) listener(event);
  }

  #send(command: FieldCommand): void {
    this.#port?.postMessage(command);
  }

  /** Labels cannot reach into a frame: the page's label for the node does so here. */
  #focusByLabel({ target }: Event): void {
    const label = target instanceof Element ? target.closest("label") : null;
    if (label && this.#place && label.htmlFor !== "" && label.htmlFor === this.#place.id) this.focus();
  }

  get #height(): string {
    const { height, showError } = this.#options;
    if (height !== undefined) return height;
    if (this.type !== "card") return showError ? "4rem" : "2.5rem";
    // In a narrow place a card has two lines, and an error may have two.
    const isNarrow = (this.#place?.clientWidth ?? NARROW) < NARROW;
    if (showError) return isNarrow ? "9.5rem" : "5.5rem";
    return isNarrow ? "5rem" : "2.5rem";
  }
}

/** Below this width, in CSS pixels, the frame of a card breaks its line. */
const NARROW = 352;

/** The options of an element that its frame gets. */
function frameOptions({ height: _, ...options }: CreateOptions): ElementOptions {
  return options;
}

function labelOf({ id }: Element): string | undefined {
  const label = id === "" ? null : document.querySelector(`label[for="${CSS.escape(id)}"]`);
  return label?.textContent?.trim() || undefined;
}

function isOfType<K extends keyof ElementEvents>(
  event: ElementEvents[keyof ElementEvents],
  type: K,
): event is ElementEvents[K] {
  return event.type === type;
}
