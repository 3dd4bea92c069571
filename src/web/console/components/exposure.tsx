import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.js";

/** How much of a value somebody sees, as the API names it, with its picture and its words. */
const EXPOSURES = {
  reveal: { icon: "eye", words: "in the clear" },
  mask: { icon: "lock", words: "masked" },
  redact: { icon: "none", words: "no value" },
} as const satisfies Record<string, { icon: IconName; words: string }>;

type Transform = keyof typeof EXPOSURES;

function isTransform(name: string | undefined): name is Transform {
  return name !== undefined && Object.hasOwn(EXPOSURES, name);
}

/** The console's one idea of colour: in the clear, masked or no value. The API's word is in the title. */
export function Exposure({ transform, children }: { transform: string | undefined; children?: ReactNode }) {
  if (!isTransform(transform)) return <span className="pill">{children ?? transform ?? "nothing"}</span>;
  const { icon, words } = EXPOSURES[transform];
  return (
    <span className="pill" data-exposure={transform} title={transform}>
      <Icon name={icon} />
      {children ?? words}
    </span>
  );
}
