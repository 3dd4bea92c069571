import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { useState } from "react";

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
}

/** Reads an entity again before it is saved: the API has no precondition, so two people could overwrite each other. */
export function useConflictCheck(opened: Versioned | undefined, readAgain: () => Promise<Versioned>): ConflictCheck {
  const [known, setKnown] = useState(timeOf(opened));
  const [newest, setNewest] = useState<number | undefined>();
  return {
    hasConflict: newest !== undefined,
    guard(save) {
      if (!opened) return save();
      void readAgain()
        .then((found) => {
          const time = timeOf(found);
          if (time === known) save();
          else setNewest(time);
        })
        // The save itself shows what is wrong.
        .catch(save);
    },
    override(save) {
      if (newest !== undefined) setKnown(newest);
      setNewest(undefined);
      save();
    },
  };
}

function timeOf(entity: Versioned | undefined): number {
  return entity?.modifiedAt ? timestampMs(entity.modifiedAt) : 0;
}
