-- The roles of a database of sessions. Run it as an administrator, in the database:
--
--   psql -f deploy/roles.sql postgres://postgres@database.example.com/openagent
--
-- openagent_owner makes and changes the tables, once for each version that changes them:
--
--   openagent sessions list --store postgres://openagent_owner@database.example.com/openagent
--
-- openagent_worker is for workers, fronts and clients. It reads and writes rows, and nothing else.
-- Give both a password: \password openagent_owner and \password openagent_worker.

CREATE ROLE openagent_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
CREATE ROLE openagent_worker LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;

CREATE SCHEMA openagent AUTHORIZATION openagent_owner;
GRANT USAGE ON SCHEMA openagent TO openagent_worker;
ALTER DEFAULT PRIVILEGES FOR ROLE openagent_owner IN SCHEMA openagent GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO openagent_worker;

-- Only the owner says which version the tables have.
CREATE TABLE openagent.version (version int NOT NULL);
ALTER TABLE openagent.version OWNER TO openagent_owner;
GRANT SELECT ON openagent.version TO openagent_worker;
