import { useEffect, useState } from "react";
import { type MaskedRow, shownMasked } from "../../../../token-files/masked-row.js";
import { Skeleton } from "../../components/loaded.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { type ChosenFile, fileProblem, rowsIn } from "./token-file.js";

const SHOWN_ROWS = 10;

interface FirstRowsProps {
  readonly chosen: ChosenFile;
  readonly onImport: () => void;
}

/** The first rows as they would be stored, masked, before anything is sent. */
export function FirstRows({ chosen, onImport }: FirstRowsProps) {
  const [found, setFound] = useState<readonly MaskedRow[] | string | undefined>();
  useEffect(() => {
    let isGone = false;
    firstRows(chosen).then(
      (rows) => isGone || setFound(rows),
      (error: unknown) => isGone || setFound(fileProblem(error)?.message ?? "This page cannot read the file."),
    );
    return () => {
      isGone = true;
    };
  }, [chosen]);
  if (found === undefined) return <Skeleton lines={6} />;
  if (typeof found === "string") {
    return (
      <p className="note problem" role="alert">
        {found}
      </p>
    );
  }
  if (found.length === 0) return <p className="note">The file has no rows.</p>;
  return (
    <section aria-labelledby="first">
      <div className="screen-head">
        <h2 id="first">The first {found.length} rows</h2>
        <div className="actions">
          <button type="button" className="primary" onClick={onImport}>
            Import the file
          </button>
        </div>
      </div>
      {found.some(({ also }) => also !== undefined) && (
        <p className="note">
          The file says itself how values are masked, found, named or ended: look at the last column. Later rows may say
          other things.
        </p>
      )}
      <Table
        label="First rows"
        rows={found}
        keyOf={({ line }) => String(line)}
        columns={[
          { head: "Line", isNumber: true, cell: ({ line }) => line },
          { head: "Type", cell: ({ type }) => <Name>{cellText(type)}</Name> },
          { head: "Problem", cell: ({ problem }) => problem && <span className="wrong">{problem}</span> },
          { head: "Data", cell: ({ data }) => data && <code className="wraps">{data}</code> },
          { head: "Containers", cell: ({ containers }) => <Name>{cellText(containers)}</Name> },
          { head: "Metadata", cell: ({ metadata }) => metadata && <code className="wraps">{metadata}</code> },
          { head: "Also sets", cell: ({ also }) => also && <code className="wraps">{also}</code> },
        ]}
      />
    </section>
  );
}

function cellText(value: MaskedRow["type"]): string {
  if (Array.isArray(value)) return value.map(String).join(" ");
  return value === undefined || value === null ? "" : String(value);
}

async function firstRows(chosen: ChosenFile): Promise<readonly MaskedRow[]> {
  const shown: MaskedRow[] = [];
  for await (const { line, row, problem } of rowsIn(chosen, () => {})) {
    shown.push(row ? shownMasked(line, row) : { line, problem: `The row ${problem}.` });
    if (shown.length === SHOWN_ROWS) break;
  }
  return shown;
}
