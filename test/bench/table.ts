import { type Measurement, measure, type Plan, type Target } from "./measure.js";

/** One line of the table, with its throughput relative to the floor: the same machine without our work. */
export interface Row extends Measurement {
  readonly ofFloor: number | undefined;
}

const HEAD = ["req/s", "p50 ms", "p99 ms", "srv us", "db us", "/floor"].map((title) => title.padStart(8)).join("");

/** Results of this run, printed as they arrive. The first row is the floor of the others. */
export class Table {
  readonly rows: Row[] = [];

  constructor() {
    say(`${"operation".padEnd(52)}${HEAD}`);
  }

  async measure(target: Target, plan: Plan): Promise<Row> {
    return this.add(await measure(target, plan));
  }

  add(measurement: Measurement): Row {
    const floor = this.rows[0]?.requestsPerSecond;
    const row = { ...measurement, ofFloor: floor === undefined ? undefined : measurement.requestsPerSecond / floor };
    this.rows.push(row);
    say(line(row));
    return row;
  }
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function line({ operation, requestsPerSecond, p50, p99, serverUs, databaseUs, ofFloor, failures }: Row): string {
  const figures = [
    requestsPerSecond.toFixed(0),
    p50.toFixed(2),
    p99.toFixed(2),
    serverUs.toFixed(0),
    databaseUs.toFixed(0),
    ofFloor === undefined ? "" : ofFloor.toFixed(3),
  ];
  const cells = figures.map((figure) => figure.padStart(8)).join("");
  return `${operation.padEnd(52)}${cells}${failures === 0 ? "" : `  ${failures} not as expected`}`;
}
