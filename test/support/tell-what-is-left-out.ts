import { leftOutLine, missingPrograms } from "./requirements.js";

/**
 * Says before and after the tests which files are left out, since what comes between is long.
 * @throws where REQUIRE_ALL_TESTS is set, as in CI: a file that is left out there would never run.
 */
export default function setup(): () => void {
  const line = leftOutLine(missingPrograms("."));
  if (line === undefined) return () => {};
  if (process.env.REQUIRE_ALL_TESTS) throw new Error(line);
  const tell = () => void process.stderr.write(`${line}\n`);
  tell();
  return tell;
}
