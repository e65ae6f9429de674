-- Version 2: the inbox is found faster; tasks, teams and mail of agents. Some databases of
-- version 1 have the indexes already.

CREATE INDEX IF NOT EXISTS inbox_open ON openagent.inbox (session, n) WHERE reason IS NULL;
CREATE INDEX IF NOT EXISTS inbox_settled ON openagent.inbox (at) WHERE reason IS NOT NULL;

CREATE TABLE openagent.spaces (
	n        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	space    text COLLATE "C" NOT NULL UNIQUE, -- of agents that share tasks, teams and mail: the session at their root
	last     bigint NOT NULL DEFAULT 0   -- number of the last line; numbers grow, with gaps
) WITH (fillfactor = 70);

CREATE TABLE openagent.lines (
	space    bigint NOT NULL REFERENCES openagent.spaces ON DELETE CASCADE,
	n        bigint NOT NULL,
	line     text NOT NULL,              -- JSON
	PRIMARY KEY (space, n)
);

CREATE TABLE openagent.locks (
	name     text COLLATE "C" PRIMARY KEY,
	holder   text COLLATE "C" NOT NULL,
	until    timestamptz NOT NULL        -- then the holder counts as dead
) WITH (fillfactor = 70);
