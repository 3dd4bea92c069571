import { useEffect, useState } from "react";

/** What a person has begun is looked at for this long. Further looks are the person's: each is a call. */
const LOOKS = 5;
const LOOK_MS = 1_000;

/** Reads a few times again, from the moment at which a person has begun something that ends a moment later. */
export function useLooks(refetch: () => void): () => void {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    if (left === 0) return undefined;
    const timer = setTimeout(() => {
      setLeft(left - 1);
      refetch();
    }, LOOK_MS);
    return () => clearTimeout(timer);
  }, [left, refetch]);
  return () => setLeft(LOOKS);
}
