import { passesLuhn } from "../../base/luhn.js";
import { UsageError } from "../usage-error.js";

/** Keys of applications, sessions and proxies. */
const KEY = /key_[a-z0-9]+_[a-z]{3}_\w{8}/i;
/** Runs of digits that may be a card number, with the separators that people write. */
const DIGITS = /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w.-])/g;

/**
 * Refuses secrets among the arguments of a command, which every user of the machine can see in the list of processes.
 * @throws {UsageError} that does not repeat the secret.
 */
export function refuseSecretArguments(args: readonly string[]): void {
  for (const argument of args) {
    if (KEY.test(argument)) {
      throw new UsageError(
        "A key must not be an argument: other users of this machine can read it, and the shell keeps it. Set CLOAKROOM_API_KEY, or run: cloakroom login --with-key < FILE",
      );
    }
    if ([...argument.matchAll(DIGITS)].some(([digits]) => passesLuhn(digits.replace(/\D/g, "")))) {
      throw new UsageError(
        "A card number must not be an argument: other users of this machine can read it, and the shell keeps it. Give it by standard input: --number - or --data - or --data @FILE",
      );
    }
  }
}
