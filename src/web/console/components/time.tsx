import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";

const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A time in the person's zone, with UTC for those who point at it or read it aloud. */
export function Time({ at }: { at: Timestamp | undefined }) {
  if (!at) return <span className="quiet">never</span>;
  const date = timestampDate(at);
  const utc = date.toISOString();
  return (
    <time dateTime={utc} title={`${utc.replace("T", " ").replace("Z", " UTC")} (shown in ${ZONE})`}>
      {LOCAL.format(date)}
    </time>
  );
}
