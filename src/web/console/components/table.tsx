import type { ReactNode } from "react";

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ReactNode;
  /** Numbers are set flush right. */
  readonly isNumber?: boolean;
}

export interface TableProps<T> {
  /** What the table lists, for screen readers. */
  readonly label: string;
  /** False: a column that is left out. */
  readonly columns: readonly (Column<T> | false)[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
}

/** A table that scrolls sideways in its own region. On a phone each row is a card with the columns' heads beside its cells. */
export function Table<T>({ label, columns, rows, keyOf }: TableProps<T>) {
  const shown = columns.filter((column) => column !== false);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard (WCAG 2.1.1)
    <section className="scroll" aria-label={`Table: ${label}`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {shown.map(({ head, isNumber }) => (
              <th key={head} scope="col" className={isNumber ? "number" : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {shown.map(({ head, cell, isNumber }) => (
                <td key={head} data-label={head} className={isNumber ? "number" : undefined}>
                  <div>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface PairsProps {
  readonly pairs: readonly (readonly [string, ReactNode])[];
}

/** Names and values of one entity. Values that are absent are left out. */
export function DetailList({ pairs }: PairsProps) {
  return (
    <dl className="pairs">
      {pairs
        .filter(([, value]) => value !== undefined && value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
