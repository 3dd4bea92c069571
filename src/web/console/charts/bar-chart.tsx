import { type PointerEvent, useEffect, useRef, useState } from "react";
import { Table } from "../components/table.js";
import { axisTicks, shortNumber, wholeNumber } from "./scale.js";

/** What one colour of the bars counts. */
export interface Series {
  /** The name of its colour in the style sheet. */
  readonly colour: "mask" | "reveal" | "redact" | "other" | "denied" | "failed";
  readonly words: string;
}

export interface Bar {
  readonly key: string;
  /** Below the bar, such as 14:00. */
  readonly label: string;
  /** In full, such as a date with its time. */
  readonly title: string;
  readonly values: readonly number[];
}

interface BarChartProps {
  readonly label: string;
  /** What one bar stands for, such as Hour. */
  readonly step: string;
  readonly series: readonly Series[];
  readonly bars: readonly Bar[];
  /** What the legend shows without a choice. Numbers that count the same thing again in each bar have no sum. Default: the sum. */
  readonly unchosen?: "sum" | "last";
}

const HEIGHT = 200;
const BOTTOM = 22;
const LEFT = 40;
const LABEL_WIDTH = 72;
/** A few bars do not fill the chart: one that does looks like a background. */
const MAX_SLOT = 96;

/**
 * Stacked bars over time. The arrow keys and the pointer choose a bar, whose numbers stand in the legend. A table has
 * the same numbers.
 */
export function BarChart({ label, step, series, bars, unchosen = "sum" }: BarChartProps) {
  const [chosen, setChosen] = useState<number | undefined>();
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const bar = chosen === undefined && unchosen === "sum" ? undefined : bars[chosen ?? bars.length - 1];
  const totals = series.map((_, index) => bars.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const shown = bar?.values ?? totals;
  const slot = slotWidth(width, bars);
  const point = ({ clientX, currentTarget }: PointerEvent) => {
    const at = Math.floor((clientX - currentTarget.getBoundingClientRect().left) / slot);
    setChosen(Math.min(Math.max(at, 0), bars.length - 1));
  };
  return (
    <figure className="chart">
      <figcaption>
        <span className="quiet">{bar?.title ?? "In all"}</span>
        <Legend series={series} values={shown} />
      </figcaption>
      <div className="plot" ref={frame}>
        <Plot series={series} bars={bars} width={width} chosen={chosen} />
        {bars.length > 0 && (
          <input
            type="range"
            aria-label={`${label}, by ${step.toLowerCase()}`}
            min={0}
            max={bars.length - 1}
            value={chosen ?? bars.length - 1}
            aria-valuetext={barText(series, bars[chosen ?? bars.length - 1])}
            onChange={(event) => setChosen(Number(event.target.value))}
            onFocus={() => setChosen(chosen ?? bars.length - 1)}
            onBlur={() => setChosen(undefined)}
            onPointerMove={point}
            onPointerLeave={() => setChosen(undefined)}
          />
        )}
      </div>
      <details>
        <summary>As a table</summary>
        <Table
          label={label}
          rows={bars}
          keyOf={({ key }) => key}
          columns={[
            { head: step, cell: ({ title }) => title },
            ...series.map(({ words }, index) => ({
              head: words,
              isNumber: true,
              cell: ({ values }: Bar) => wholeNumber(values[index] ?? 0),
            })),
          ]}
        />
      </details>
    </figure>
  );
}

function Legend({ series, values }: Pick<BarChartProps, "series"> & Pick<Bar, "values">) {
  return (
    <ul className="legend">
      {series.map(({ colour, words }, index) => (
        <li key={words}>
          <span className="swatch" data-series={colour} />
          {words} <strong>{wholeNumber(values[index] ?? 0)}</strong>
        </li>
      ))}
    </ul>
  );
}

function barText(series: readonly Series[], bar: Bar | undefined): string {
  if (!bar) return "";
  return `${bar.title}: ${series.map(({ words }, index) => `${wholeNumber(bar.values[index] ?? 0)} ${words}`).join(", ")}`;
}

interface PlotProps extends Pick<BarChartProps, "series" | "bars"> {
  readonly width: number;
  readonly chosen: number | undefined;
}

function Plot({ series, bars, width, chosen }: PlotProps) {
  const ticks = axisTicks(Math.max(...bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0)), 0));
  const top = ticks.at(-1) ?? 1;
  const barHeight = (value: number) => (value / top) * (HEIGHT - BOTTOM - 10);
  const slot = slotWidth(width, bars);
  const every = Math.ceil(LABEL_WIDTH / slot);
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      {ticks.map((tick) => (
        <g key={tick}>
          <line
            className="grid"
            x1={LEFT}
            x2={width}
            y1={HEIGHT - BOTTOM - barHeight(tick)}
            y2={HEIGHT - BOTTOM - barHeight(tick)}
          />
          <text x={LEFT - 8} y={HEIGHT - BOTTOM - barHeight(tick) + 4} textAnchor="end">
            {shortNumber(tick)}
          </text>
        </g>
      ))}
      {bars.map(({ key, label, values }, index) => {
        const left = LEFT + index * slot;
        let y = HEIGHT - BOTTOM;
        return (
          <g key={key}>
            {chosen === index && <rect className="chosen" x={left} y={0} width={slot} height={HEIGHT - BOTTOM} />}
            {series.map(({ colour, words }, at) => {
              const height = barHeight(values[at] ?? 0);
              y -= height;
              return height === 0 ? null : (
                <rect
                  key={words}
                  data-series={colour}
                  x={left + slot * 0.15}
                  y={y}
                  width={slot * 0.7}
                  height={Math.max(height - (height > 2 ? 1 : 0), 1)}
                />
              );
            })}
            {index % every === 0 && left + LABEL_WIDTH * 0.7 <= width && (
              <text x={left + slot * 0.15} y={HEIGHT - 6}>
                {label}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

function slotWidth(width: number, bars: readonly Bar[]): number {
  return Math.min((width - LEFT) / Math.max(bars.length, 1), MAX_SLOT);
}

function useWidth(element: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const shown = element.current;
    if (!shown) return;
    const observer = new ResizeObserver(() => setWidth(shown.clientWidth));
    observer.observe(shown);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
