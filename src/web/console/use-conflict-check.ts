import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { useRef, useState } from "react";

interface Versioned {
  readonly modifiedAt?: Timestamp | undefined;
}

/** Whether somebody else has saved since an editor was opened, and how to save all the same. */
export interface ConflictCheck {
  readonly hasConflict: boolean;
  /** Saves, unless there is a newer version. */
  guard(save: () => void): void;
  /** Saves over the newer version. */
  override(save: () => void): void;
  /** The person's own save is the version that is known from now on. */
  noteSaved(): void;
}

/** Reads an entity again before it is saved: the API has no precondition, so two people could overwrite each other. */
export function useConflictCheck(opened: Versioned | undefined, readAgain: () => Promise<Versioned>): ConflictCheck {
  const known = useRef(Promise.resolve(timeOf(opened)));
  const [newest, setNewest] = useState<number | undefined>();
  return {
    hasConflict: newest !== undefined,
    guard(save) {
      if (!opened) return save();
      void Promise.all([readAgain(), known.current])
        .then(([found, time]) => {
          if (timeOf(found) === time) save();
          else setNewest(timeOf(found));
        })
        // The save itself shows what is wrong.
        .catch(save);
    },
    override(save) {
      if (newest !== undefined) known.current = Promise.resolve(newest);
      setNewest(undefined);
      save();
    },
    noteSaved() {
      // Changes answer without the entity. The next save waits for this read.
      const before = known.current;
      known.current = readAgain().then(timeOf, () => before);
    },
  };
}

function timeOf(entity: Versioned | undefined): number {
  return entity?.modifiedAt ? timestampMs(entity.modifiedAt) : 0;
}
