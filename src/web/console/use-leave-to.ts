import { useLocation } from "wouter";
import { leaveGuard } from "./leave-guard.js";

/** Opens another place without a question about changes: they were saved, or what they were made to is deleted. */
export function useLeaveTo(): (place: string) => void {
  const [, navigate] = useLocation();
  return (place) => {
    leaveGuard.release();
    navigate(place);
  };
}
