interface SparkProps {
  readonly values: readonly number[];
  readonly colour: "other" | "reveal" | "denied" | "good";
}

/** The course of a number beside it, for the eye alone: the chart and its table say the same. */
export function Spark({ values, colour }: SparkProps) {
  if (values.length < 2) return null;
  const top = Math.max(...values, 1);
  const points = values.map((value, index) => {
    const x = (index / (values.length - 1)) * 100;
    return `${x.toFixed(2)},${(23 - (value / top) * 21).toFixed(2)}`;
  });
  return (
    <svg className="spark" viewBox="0 0 100 24" preserveAspectRatio="none" data-series={colour} aria-hidden="true">
      <polyline points={points.join(" ")} />
    </svg>
  );
}
