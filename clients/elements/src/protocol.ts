/** The protocol between the loader in a page and the vault's frames. Frames refuse a loader of another number. */
export const PROTOCOL = 1;

/** What a frame shows. */
export const FIELD_TYPES = [
  "cardNumber",
  "cardExpirationDate",
  "cardVerificationCode",
  "card",
  "text",
  "reveal",
  "copy",
] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** The languages of labels, placeholders and errors. */
export const LOCALES = ["en", "de", "fr", "es", "ar"] as const;
export type Locale = (typeof LOCALES)[number];

/** Styles of one state: CSS properties in camelCase. Frames apply those of their list and warn about others. */
export type StyleRules = Readonly<Record<string, string>>;

export interface ElementStyle {
  readonly base?: StyleRules;
  readonly complete?: StyleRules;
  readonly empty?: StyleRules;
  readonly invalid?: StyleRules;
  readonly hover?: StyleRules;
  readonly focus?: StyleRules;
  readonly placeholder?: StyleRules;
}

/** How fields look without a line of CSS. */
export interface Appearance {
  /** Default: plain, without a border of its own. */
  readonly theme?: "plain" | "outlined" | "filled";
  /** CSS colours in the place of the theme's own. */
  readonly colors?: {
    readonly text?: string;
    readonly placeholder?: string;
    readonly background?: string;
    readonly border?: string;
    /** Of the focused field. */
    readonly accent?: string;
    readonly danger?: string;
  };
}

/** Options of an element, as its frame gets them. */
export interface ElementOptions {
  /** What screen readers call the field. Default: its name in the language of the group. */
  readonly label?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly disabled?: boolean;
  readonly style?: ElementStyle;
  readonly appearance?: Appearance;
  /** For `card` and `cardNumber`: whether the brand is drawn beside the number. Default: true. */
  readonly brandIcon?: boolean;
  /** Shows the error below the input, in the frame. Default: only to screen readers; the page shows the text. */
  readonly showError?: boolean;
  /**
   * For `text`: `#` takes a digit, `A` a letter, `*` either; punctuation and spaces appear by themselves. `###-##-####`
   * Cannot change: make a new element.
   */
  readonly mask?: string;
  /**
   * For `text`: the check digit of a value with a mask, a US bank routing number, or a bank account number (3 to 17 digits).
   * Cannot change.
   */
  readonly check?: "luhn" | "aba" | "account";
  /** For `text`: hides what is typed. */
  readonly secret?: boolean;
  /** For `reveal` and `copy`: the token, and what of its data to show or copy, as `number`. */
  readonly token?: string;
  readonly path?: string;
  /** For `reveal`: seconds until the value is hidden again, at most 300. Default: 30. */
  readonly hideAfter?: number;
}

/** What a page may know about a field. Sent when one of these changes, never for each key. */
export interface FieldState {
  readonly complete: boolean;
  readonly empty: boolean;
  readonly valid: boolean;
  /** The card's brand as soon as only one fits. */
  readonly brand?: string;
  /** The first six or eight digits of a complete card number, once the person has left the field. */
  readonly bin?: string;
  /** The last four digits of a complete card number, once the person has left the field. */
  readonly last4?: string;
  readonly error?: FieldError;
}

export interface FieldError {
  readonly code: string;
  readonly message: string;
}

/** The first message, from a frame to its page. */
export interface ReadyMessage {
  readonly cloakroom: "ready";
  readonly protocol: number;
  readonly nonce: string;
  readonly id: string;
}

/** A frame that must not work in this page says so, and does nothing else. */
export interface RefusedMessage {
  readonly cloakroom: "refused";
  readonly nonce: string;
  readonly id: string;
  readonly code: string;
  readonly message: string;
}

/** The response of the page, with a port for everything else. Accepted once. */
export interface InitMessage {
  readonly cloakroom: "init";
  readonly nonce: string;
  readonly id: string;
  readonly locale: Locale;
  readonly dir: "ltr" | "rtl";
  readonly colorScheme: string;
  readonly options: ElementOptions;
  /** For the controller alone: the public or session key. */
  readonly key?: string;
}

/** From the page to a field. */
export type FieldCommand =
  | { readonly type: "update"; readonly options: ElementOptions }
  | { readonly type: "clear" }
  | { readonly type: "focus" }
  | { readonly type: "blur" }
  | { readonly type: "show" }
  | { readonly type: "hide" }
  /** The controller has loaded, so it can be greeted. */
  | { readonly type: "controllerReady" };

/** From a field to the page. */
export type FieldEvent =
  | { readonly type: "paired" }
  | { readonly type: "focus" }
  | { readonly type: "blur" }
  | { readonly type: "change"; readonly state: FieldState }
  | { readonly type: "escape" }
  | { readonly type: "submit" }
  | { readonly type: "revealed" }
  | { readonly type: "hidden" }
  | { readonly type: "copied" }
  | { readonly type: "failed"; readonly error: FieldError }
  | { readonly type: "warning"; readonly message: string };

/** A part of a request body that a frame fills in. */
export interface Placeholder {
  readonly $element: string;
  readonly part?: "month" | "year";
}

/** From the page to the controller. */
export type ControllerCommand =
  | {
      readonly type: "tokenize";
      readonly call: number;
      readonly body: unknown;
      readonly idempotencyKey: string;
    }
  | { readonly type: "session"; readonly call: number }
  | { readonly type: "cancel"; readonly call: number };

/** From the controller to the page. */
export type ControllerEvent =
  | { readonly type: "result"; readonly call: number; readonly value: unknown }
  | { readonly type: "error"; readonly call: number; readonly error: CallError };

/** Why a call failed. Never contains a value of a field. */
export interface CallError {
  readonly code: string;
  readonly message: string;
  readonly status?: number;
  /** Problems by the place of the field in the body, as the API names them. */
  readonly errors?: Readonly<Record<string, readonly string[]>>;
  readonly traceId?: string;
}
