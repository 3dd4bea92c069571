#!/bin/sh
# Run once by the PostgreSQL image, on an empty volume. The vault's login owns its database, may make the two roles that
# statements run as, and is no superuser.
set -eu
psql --set=ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres \
  --set=password="$CLOAKROOM_DB_PASSWORD" <<'SQL'
create role cloakroom login createrole password :'password';
create database cloakroom owner cloakroom;
SQL
