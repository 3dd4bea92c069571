import type { Sql } from "../../src/store/postgres/connect.js";

/**
 * Gives a database a movable clock: new connections find `now()` and `clock_timestamp()` in its own schema before those
 * of PostgreSQL. Call it before opening the connections that need it.
 */
export async function movableClock(owner: Sql): Promise<{ setAhead(milliseconds: number): Promise<void> }> {
  const login = owner.unsafe<{ name: string }[]>("select quote_ident(session_user) as name");
  const [row] = await login;
  if (!row) throw new Error("the database told no login");
  await owner.unsafe(`
    create table test_clock (milliseconds double precision not null);
    insert into test_clock values (0);
    grant select on test_clock to public;
    create function now() returns timestamptz language sql stable as
      'select pg_catalog.now() + (select milliseconds from test_clock) * interval ''1 millisecond''';
    create function clock_timestamp() returns timestamptz language sql volatile as
      'select pg_catalog.clock_timestamp() + (select milliseconds from test_clock) * interval ''1 millisecond''';
    alter role ${row.name} set search_path = public, pg_catalog;`);
  return {
    async setAhead(milliseconds) {
      await owner`update test_clock set milliseconds = ${milliseconds}`;
    },
  };
}
