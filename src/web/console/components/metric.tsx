import type { ReactNode } from "react";
import { Link } from "wouter";

interface MetricProps {
  readonly label: string;
  /** Undefined until it is read. */
  readonly value: ReactNode | undefined;
  /** The page with the rows behind the number. */
  readonly href: string;
}

/** A number of the tenant, which leads to what it counts. */
export function Metric({ label, value, href }: MetricProps) {
  return (
    <Link href={href} className="metric">
      <span className="quiet">{label}</span>
      <strong>{value ?? "…"}</strong>
    </Link>
  );
}

/** Numbers side by side. */
export function Metrics({ children }: { children: ReactNode }) {
  return <div className="metrics">{children}</div>;
}
