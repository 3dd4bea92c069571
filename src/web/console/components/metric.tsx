import type { ReactNode } from "react";
import { Link } from "wouter";

interface MetricProps {
  readonly label: string;
  /** Undefined until it is read. */
  readonly value: ReactNode | undefined;
  /** The page with the rows behind the number. */
  readonly href: string;
  /** The course of the number. */
  readonly spark?: ReactNode;
}

/** A number of the tenant, which leads to what it counts. */
export function Metric({ label, value, href, spark }: MetricProps) {
  return (
    <Link href={href} className="metric">
      <span className="quiet">{label}</span>
      <strong>{value ?? "…"}</strong>
      {spark}
    </Link>
  );
}

export function Metrics({ children }: { children: ReactNode }) {
  return <div className="metrics">{children}</div>;
}
