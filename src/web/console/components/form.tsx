import type { ComponentProps } from "react";

interface FormProps extends Omit<ComponentProps<"form">, "onSubmit"> {
  readonly onSubmit: () => void;
}

/** A form that the page sends itself: the browser loads nothing. */
export function Form({ onSubmit, ...others }: FormProps) {
  return (
    <form
      {...others}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    />
  );
}
