import { useSyncExternalStore } from "react";
import type { Connection } from "../api/connection.js";

/** Says, wherever a person is, that the vault does not answer. */
export function ConnectionNotice({ connection }: { connection: Connection }) {
  const isLost = useSyncExternalStore(connection.subscribe, () => connection.isLost);
  return (
    <div className="connection" role="status">
      {isLost && (
        <p>
          <strong>No connection to the vault.</strong> Changes fail until it is back. This page notices by itself, and
          keeps what you typed.
        </p>
      )}
    </div>
  );
}
