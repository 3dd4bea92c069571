import { type ReactNode, useState } from "react";
import type { FailedRun } from "#client/proto/cloakroom/v1/functions_pb.js";
import type { Read } from "../../api/queries.js";
import { Loaded } from "../../components/loaded.js";
import { Time } from "../../components/time.js";
import { RunOutput } from "./run-output.js";

/** The failed runs of the last day. They are read when asked for: OWNER and ADMIN need a second factor for it. */
export function FailedRuns({ children }: { readonly children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section aria-labelledby="failed">
      <h2 id="failed">Failed runs of the last day</h2>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Show failed runs</summary>
        {isOpen && children}
      </details>
    </section>
  );
}

export function RunList({ runs }: { readonly runs: Read<{ readonly data: readonly FailedRun[] }> }) {
  return (
    <Loaded read={runs} lines={2}>
      {({ data }) =>
        data.length === 0 ? (
          <p className="quiet">There were no failed runs.</p>
        ) : (
          data.map(({ id, kind, createdAt, ...run }) => (
            <details key={id}>
              <summary>
                <Time at={createdAt} /> {kind.replaceAll("_", " ")}: {run.error?.detail}
              </summary>
              <RunOutput {...run} />
            </details>
          ))
        )
      }
    </Loaded>
  );
}
