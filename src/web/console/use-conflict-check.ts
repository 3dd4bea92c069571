import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { useRef, useState } from "react";
import { useSession } from "./session.js";

/** What an editor shows, and may be saved by another person meanwhile. */
export interface Versioned {
  readonly modifiedAt?: Timestamp | undefined;
  /** The user or application that saved it last. */
  readonly modifiedBy?: string | undefined;
}

/** Whether somebody else has saved since an editor was opened, and how to save all the same. */
export interface ConflictCheck {
  readonly hasConflict: boolean;
  guard(save: () => void): void;
  override(save: () => void): void;
  /** The person's own save is the version that is known from now on. */
  noteSaved(): void;
}

/** Reads an entity again before it is saved: the API has no precondition, so two people could overwrite each other. */
export function useConflictCheck(opened: Versioned | undefined, readAgain: () => Promise<Versioned>): ConflictCheck {
  const { userId } = useSession().who;
  const known = useRef(Promise.resolve(changeTime(opened)));
  const [newest, setNewest] = useState<number | undefined>();
  return {
    hasConflict: newest !== undefined,
    guard(save) {
      if (!opened) return save();
      void Promise.all([readAgain(), known.current])
        .then(([found, time]) => {
          if (changeTime(found) === time) save();
          else setNewest(changeTime(found));
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
      // Changes return no entity. The next save waits for this read. It may find a version that another person saved since:
      // that one stays unknown, and is a conflict at the next save.
      const before = known.current;
      known.current = readAgain().then(
        (found) => (found.modifiedBy === userId ? changeTime(found) : before),
        () => before,
      );
    },
  };
}

function changeTime(entity: Versioned | undefined): number {
  return entity?.modifiedAt ? timestampMs(entity.modifiedAt) : 0;
}
