// A separate process that owns or shares a database. Reads its task from its argument and "stop" or "crash" from stdin;
// writes one JSON object per line.
import { createInterface } from "node:readline";
import { shareEmbeddedDatabase, startEmbeddedDatabase } from "../../../../src/store/embedded/embedded-database.js";

const { mode, uid, gid, ...options } = JSON.parse(process.argv[2] ?? "{}");
if (uid !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}
const say = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);

try {
  const use = mode === "share" ? shareEmbeddedDatabase : startEmbeddedDatabase;
  const database = await use({ ...options, mayCreate: true, announce: (line: string) => say({ announced: line }) });
  const { connection, isNew, dataDir } = database;
  say({ ready: { connection, isNew, dataDir } });
  void database.exited.then((exit) => say({ exited: exit }));
  for await (const line of createInterface(process.stdin)) {
    if (line === "crash") throw new Error("a defect");
    if (line === "stop") break;
  }
  await database.stop();
  process.exit(0);
} catch (error) {
  say({ failed: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
  process.exit(1);
}
