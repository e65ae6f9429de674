-- Version 1. Databases have these tables: a change is a step of its own, in a new file.

CREATE TABLE openagent.sessions (
	n        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	space    text COLLATE "C" NOT NULL,  -- '' for sessions; of a sub-agent's: the ids above it, each with a slash
	id       text COLLATE "C" NOT NULL,
	header   text NOT NULL,              -- JSON; texts, because jsonb cannot hold every string
	summary  text NOT NULL DEFAULT '{}', -- JSON of session.Summary
	last     bigint NOT NULL DEFAULT 0,  -- number of the last fact
	updated  bigint NOT NULL,            -- nanoseconds; a timestamptz has microseconds
	epoch    bigint NOT NULL DEFAULT 0,  -- greater each time that the session is opened
	worker   text NOT NULL DEFAULT '',   -- that opened it, for people
	lease    timestamptz,                -- until then it belongs to that worker; null: nobody has it open
	UNIQUE (space, id)
) WITH (fillfactor = 70);                -- appends change the row in place

CREATE TABLE openagent.facts (
	session  bigint NOT NULL REFERENCES openagent.sessions ON DELETE CASCADE,
	seq      bigint NOT NULL,
	prev     bigint NOT NULL,
	time     bigint NOT NULL,            -- nanoseconds
	type     text COLLATE "C" NOT NULL,
	data     text NOT NULL,              -- JSON
	PRIMARY KEY (session, seq)
);

CREATE TABLE openagent.inbox (
	n        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	session  text COLLATE "C" NOT NULL,  -- it need not exist yet
	id       text COLLATE "C" NOT NULL,
	body     text NOT NULL,
	at       timestamptz NOT NULL DEFAULT now(), -- when it came; or when it was settled
	reason   text,                       -- null: it is to be carried out; '': it was; else why it was rejected
	UNIQUE (session, id)                 -- a command that is sent again counts once
);

CREATE TABLE openagent.settings (
	session  text COLLATE "C" NOT NULL,
	name     text COLLATE "C" NOT NULL,
	body     text NOT NULL,
	PRIMARY KEY (session, name)
);

CREATE TABLE openagent.places (
	session  text COLLATE "C" PRIMARY KEY,
	place    text COLLATE "C" NOT NULL
);

CREATE TABLE openagent.wakes (
	session  text COLLATE "C" PRIMARY KEY,
	rings    bigint NOT NULL DEFAULT 1,  -- how often it was woken; a worker that is done compares
	due      timestamptz NOT NULL DEFAULT now(), -- when it may be taken; of one at work, when its worker counts as dead
	holder   text COLLATE "C" NOT NULL DEFAULT '', -- the process at work; '' for none
	failed   int NOT NULL DEFAULT 0,     -- times in a row
	place    text COLLATE "C",           -- only a worker there may take it, until moved; null: any worker
	moved    timestamptz                 -- from then on any worker may
);
CREATE INDEX wakes_due ON openagent.wakes (due);
