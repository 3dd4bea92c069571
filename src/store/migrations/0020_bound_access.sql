-- Columns that decide access are sealed, because the owner of the database must not change them; so are names that tenants give.
-- Each column is null in tenants whose keys were made by an earlier release, until `cloakroom keys rotate` seals them.

-- Sealed JSON: name, permissions, rules; bound to the type. The plain columns are empty then.
alter table applications add column if not exists definition bytea;
-- Sealed, empty: bound to the application and the hash of the key.
alter table application_keys add column if not exists proof bytea;
-- Sealed JSON: permissions and rules; bound to the key, the application, the authorizer and the end of the session.
alter table sessions add column if not exists rights bytea;

-- Sealed text: the name. The plain column is empty then.
alter table proxies add column if not exists label bytea;
alter table reactor_formulas add column if not exists label bytea;
alter table reactors add column if not exists label bytea;
alter table connections add column if not exists label bytea;
