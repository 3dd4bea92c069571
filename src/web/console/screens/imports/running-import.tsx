import { useEffect, useSyncExternalStore } from "react";
import type { ResultLine } from "../../../../token-files/import-batch.js";
import { UnreadableFile } from "../../../../token-files/unreadable-file.js";
import { Confirm } from "../../components/confirm.js";
import { ProblemNote } from "../../components/problem-note.js";
import { DetailList, Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { leaveGuard } from "../../leave-guard.js";
import { saveFile } from "../../save-file.js";
import type { ImportProgress, ImportRun } from "./import-run.js";

const NUMBER = new Intl.NumberFormat();

interface RunningImportProps {
  readonly run: ImportRun;
  readonly file: File;
  readonly onLeave: () => void;
  readonly onRepeat: () => void;
}

/** An import with its progress, and what became of its rows. */
export function RunningImport({ run, file, onLeave, onRepeat }: RunningImportProps) {
  const progress = useSyncExternalStore(run.subscribe, () => run.progress);
  const { state, problem, bytes } = progress;
  useEffect(() => {
    void run.start();
    return () => run.stop();
  }, [run]);
  useEffect(() => {
    if (state !== "running") return undefined;
    leaveGuard.hold("import");
    return () => leaveGuard.release();
  }, [state]);
  const { name, size } = file;
  return (
    <section className="stack" aria-labelledby="import">
      <h2 id="import">
        {TITLES[state]} <Name>{name}</Name>
      </h2>
      <progress aria-label="Progress" value={state === "done" ? 1 : size === 0 ? 0 : bytes / size} />
      {state === "running" && <p className="quiet">{describePace(progress, size)}</p>}
      <p role="status" className="quiet">
        {END_WORDS[state]}
      </p>
      <ImportProblem problem={problem} />
      <DetailList
        pairs={[
          ["Stored", NUMBER.format(progress.stored)],
          ["Known before", progress.deduplicated > 0 && NUMBER.format(progress.deduplicated)],
          ["Not stored", NUMBER.format(progress.failed)],
        ].filter((pair): pair is [string, string] => pair[1] !== false)}
      />
      <div className="actions">
        {state === "running" && (
          <button type="button" onClick={() => run.stop()}>
            Stop
          </button>
        )}
        {state === "stopped" && (
          <button type="button" className="primary" onClick={() => void run.start()}>
            Go on
          </button>
        )}
        {state !== "running" && progress.stored + progress.failed > 0 && (
          <button type="button" onClick={() => saveFile(`${name}.results.ndjson`, run.results)}>
            Save the results
          </button>
        )}
        {state !== "running" && (
          <button type="button" onClick={onLeave}>
            Another file
          </button>
        )}
        {state === "done" && <ImportAgain onRepeat={onRepeat} />}
      </div>
      <Failures {...progress} />
    </section>
  );
}

function ImportProblem({ problem }: Pick<ImportProgress, "problem">) {
  if (!problem) return null;
  if (!(problem instanceof UnreadableFile)) return <ProblemNote key={problem.message} problem={problem} />;
  return (
    <p className="note problem" role="alert">
      {problem.message}
    </p>
  );
}

/** For tokens of an earlier import that were deleted, or rows that would be stored now. */
function ImportAgain({ onRepeat }: Pick<RunningImportProps, "onRepeat">) {
  return (
    <Confirm
      action="Import it again"
      title="Import the file from its beginning again?"
      isDangerous={false}
      problem={undefined}
      isPending={false}
      onConfirm={onRepeat}
      cancel={() => {}}
    >
      <p>Each row is stored again, also if its token is still there, unless the tenant deduplicates.</p>
    </Confirm>
  );
}

const TITLES: Readonly<Record<ImportProgress["state"], string>> = {
  ready: "Importing",
  running: "Importing",
  stopped: "Stopped:",
  done: "Imported",
};

const END_WORDS: Readonly<Record<ImportProgress["state"], string>> = {
  ready: "",
  running: "",
  stopped: "The same file goes on where it stopped, also after a reload, within 30 days. No row is stored twice.",
  done: "The results have a line for each row, with the id of its token. Rows that an earlier import of this file stored, within 30 days, count as stored and were not stored again.",
};

function describePace({ stored, failed, before, bytes, startedAt }: ImportProgress, size: number): string {
  const rows = stored + failed;
  const seconds = (Date.now() - startedAt) / 1_000;
  const isEarly = seconds < 2 || rows === before;
  if (isEarly) return `${NUMBER.format(rows)} rows`;
  const pace = `${NUMBER.format(rows)} rows, ${NUMBER.format(Math.round((rows - before) / seconds))} a second`;
  // What a repeat skips is read in no time.
  if (before > 0 || bytes === 0) return pace;
  const left = Math.round(((size - bytes) / bytes) * seconds);
  return left < 60 ? `${pace}, ${left} s left` : `${pace}, ${Math.round(left / 60)} min left`;
}

function Failures({ failed, failures }: { failed: number; failures: readonly ResultLine[] }) {
  if (failures.length === 0) return null;
  const isCut = failed > failures.length;
  return (
    <section aria-labelledby="failures">
      <h2 id="failures">
        {isCut
          ? `The first ${failures.length} of ${NUMBER.format(failed)} rows that are not stored`
          : "Rows that are not stored"}
      </h2>
      <Table
        label="Rows that are not stored"
        rows={failures}
        keyOf={({ position }) => String(position)}
        columns={[
          { head: "Line", isNumber: true, cell: ({ line }) => line },
          { head: "Field", cell: ({ error }) => error?.field && <code>{error.field}</code> },
          { head: "Why", cell: ({ error }) => error?.detail },
        ]}
      />
    </section>
  );
}
