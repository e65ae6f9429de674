#!/bin/sh
# Gives the roles of roles.sql their passwords, when the container of the database starts for the first time.
set -eu
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" -v owner="$OWNER_PASSWORD" -v worker="$WORKER_PASSWORD" <<'END'
ALTER ROLE openagent_owner PASSWORD :'owner';
ALTER ROLE openagent_worker PASSWORD :'worker';
END
