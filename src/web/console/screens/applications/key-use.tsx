import { useState } from "react";
import { Link } from "wouter";
import { LogService } from "#client/proto/cloakroom/v1/logs_pb.js";
import { useRead } from "../../api/queries.js";
import { Loaded } from "../../components/loaded.js";
import { Time } from "../../components/time.js";

interface KeyUseProps {
  readonly applicationId: string;
  readonly keyId: string;
}

/**
 * When a key was last used, by the log. Looked up when a person asks: one query for each key, and a row where the
 * tenant records reads of its log.
 */
export function KeyUse(props: KeyUseProps) {
  const [isAsked, setAsked] = useState(false);
  if (isAsked) return <LastRow {...props} />;
  return (
    <button type="button" onClick={() => setAsked(true)}>
      Look up
    </button>
  );
}

function LastRow({ applicationId, keyId }: KeyUseProps) {
  const rows = useRead(LogService.method.listLogs, { actorId: applicationId, keyId, size: 1 });
  return (
    <Loaded read={rows} lines={1}>
      {({ data: [last] }) =>
        last ? (
          <>
            <Time at={last.createdAt} />{" "}
            <Link href={`/log?${new URLSearchParams({ actor_id: applicationId, key_id: keyId })}`}>Its rows</Link>
          </>
        ) : (
          "never, as far as the log goes"
        )
      }
    </Loaded>
  );
}
