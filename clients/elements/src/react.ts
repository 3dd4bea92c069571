import { createElement, type ReactElement, useEffect, useRef, useState } from "react";
import type { CreateOptions, ElementEvents, Elements, ElementsOptions, FieldType, SecureElement } from "./index.js";
import { elements as createElements } from "./index.js";

/** A group of fields for as long as the component is mounted; null before the first effect and on a server. */
export function useElements({ baseUrl, publicKey, session, locale, appearance }: ElementsOptions): Elements | null {
  const [group, setGroup] = useState<Elements | null>(null);
  // A new object with the same content changes nothing.
  const look = JSON.stringify(appearance ?? {});
  useEffect(() => {
    const made = createElements({
      baseUrl,
      ...(publicKey === undefined ? {} : { publicKey }),
      ...(session === undefined ? {} : { session }),
      ...(locale === undefined ? {} : { locale }),
      appearance: JSON.parse(look),
    });
    setGroup(made);
    return () => {
      made.destroy();
      setGroup(null);
    };
  }, [baseUrl, publicKey, session, locale, look]);
  return group;
}

export interface FieldProps {
  /** The group, as `useElements` returns it. */
  readonly elements: Elements | null;
  /** Options of the element. A new object with the same content changes nothing. */
  readonly options?: CreateOptions;
  readonly id?: string;
  readonly className?: string;
  /** Gets the element, to name it in `tokenize`, and null when it is gone. */
  readonly onElement?: (element: SecureElement | null) => void;
  readonly onReady?: (event: ElementEvents["ready"]) => void;
  readonly onFocus?: (event: ElementEvents["focus"]) => void;
  readonly onBlur?: (event: ElementEvents["blur"]) => void;
  readonly onChange?: (event: ElementEvents["change"]) => void;
  readonly onSubmit?: (event: ElementEvents["submit"]) => void;
  readonly onError?: (event: ElementEvents["error"]) => void;
}

function fieldOf(type: FieldType): (props: FieldProps) => ReactElement {
  return function Field(props) {
    const { elements: group, options = {}, id, className } = props;
    const place = useRef<HTMLDivElement>(null);
    const element = useRef<SecureElement>(null);
    // Listeners of the latest render, without mounting again for new functions.
    const latest = useRef(props);
    useEffect(() => {
      latest.current = props;
    });
    useEffect(() => {
      if (!group || !place.current) return;
      const made = group.create(type, latest.current.options);
      element.current = made;
      listen(made, () => latest.current);
      latest.current.onElement?.(made);
      // The error event reports every failure but an unmount.
      made.mount(place.current).catch(() => {});
      return () => {
        made.destroy();
        element.current = null;
        latest.current.onElement?.(null);
      };
    }, [group]);
    const content = JSON.stringify(options);
    useEffect(() => {
      element.current?.update(JSON.parse(content));
    }, [content]);
    return createElement("div", { ref: place, id, className });
  };
}

function listen(element: SecureElement, latest: () => FieldProps): void {
  element.on("ready", (event) => latest().onReady?.(event));
  element.on("focus", (event) => latest().onFocus?.(event));
  element.on("blur", (event) => latest().onBlur?.(event));
  element.on("change", (event) => latest().onChange?.(event));
  element.on("submit", (event) => latest().onSubmit?.(event));
  element.on("error", (event) => latest().onError?.(event));
}

export const CardNumberElement = fieldOf("cardNumber");
export const CardExpirationDateElement = fieldOf("cardExpirationDate");
export const CardVerificationCodeElement = fieldOf("cardVerificationCode");
export const CardElement = fieldOf("card");
export const TextElement = fieldOf("text");
export const RevealElement = fieldOf("reveal");
export const CopyElement = fieldOf("copy");
