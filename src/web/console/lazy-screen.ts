import { type ComponentType, createElement, lazy } from "react";

export interface LazyScreen {
  readonly Screen: ComponentType;
  /** Loads it again when it is shown next, after a load that failed. */
  retry(): void;
}

type Load = () => Promise<{ default: ComponentType }>;

/** @param load imports the screen's module. */
export function lazyScreen(load: Load): LazyScreen {
  let loaded = lazy(load);
  return {
    Screen: () => createElement(loaded),
    retry: () => {
      loaded = lazy(load);
    },
  };
}
