import { useLocation } from "wouter";
import { leaveGuard } from "./leave-guard.js";

/** Opens another screen without a question about changes: they were saved, or what they were made to is deleted. */
export function useLeaveTo(): (address: string) => void {
  const [, navigate] = useLocation();
  return (address) => {
    leaveGuard.release();
    navigate(address);
  };
}
