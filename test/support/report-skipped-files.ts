import { missingPrograms, skippedLine } from "./requirements.js";

/**
 * Reports before and after the tests which files are skipped, because the output between is long.
 * @throws if REQUIRE_ALL_TESTS is set, as in CI: a file that is skipped there would never run.
 */
export default function setup(): () => void {
  const line = skippedLine(missingPrograms("."));
  if (line === undefined) return () => {};
  if (process.env.REQUIRE_ALL_TESTS) throw new Error(line);
  const report = () => void process.stderr.write(`${line}\n`);
  report();
  return report;
}
