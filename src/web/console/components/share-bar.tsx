interface ShareBarProps {
  readonly part: bigint;
  readonly whole: bigint;
  /** Default: that of totals. */
  readonly colour?: "reveal";
}

/** A part of a whole as a bar, beside the number that says the same. */
export function ShareBar({ part, whole, colour }: ShareBarProps) {
  const percent = whole === 0n ? 0 : Number((part * 1_000n) / whole) / 10;
  return (
    <svg className="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect className="whole" width="100" height="8" rx="1" />
      <rect className="share" data-series={colour} width={percent} height="8" rx="1" />
    </svg>
  );
}
