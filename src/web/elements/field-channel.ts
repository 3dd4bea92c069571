import type { TextForm } from "../../../clients/elements/src/text-form.js";
import type { EntryValue } from "./entry-kind.js";
import type { FilledType } from "./hidden-inputs.js";

/** Between a field and the controller, over a port that the controller made. */
export type ToField =
  | { readonly type: "value"; readonly call: number }
  | { readonly type: "codeLengths"; readonly lengths: readonly number[] }
  | { readonly type: "focus" }
  /** The person clicked into another field. */
  | { readonly type: "used" }
  /** A browser filled this in for the field, in the number's frame. */
  | { readonly type: "fill"; readonly text: string }
  | {
      readonly type: "read";
      readonly call: number;
      readonly value?: string;
      readonly code?: string;
      readonly message?: string;
    };

export type ToController =
  | { readonly type: "value"; readonly call: number; readonly values: Readonly<Record<string, EntryValue>> | undefined }
  | { readonly type: "codeLengths"; readonly lengths: readonly number[] }
  /** What a text field takes. */
  | ({ readonly type: "form" } & TextForm)
  /** The person types or clicks here. */
  | { readonly type: "used" }
  /** Complete: the next field may have the focus. */
  | { readonly type: "full" }
  | { readonly type: "filled"; readonly field: FilledType; readonly text: string }
  | { readonly type: "read"; readonly call: number; readonly token: string; readonly path: string };
