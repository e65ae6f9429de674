-- Version 4: sessions that may wait for a person are found without the others. The database
-- computes the column, also for programs of earlier versions. It is null while no question and
-- no sub-agent is open, so that appends still change the row in place.

ALTER TABLE openagent.sessions ADD COLUMN waits bigint GENERATED ALWAYS AS
	(CASE WHEN strpos(summary, '"asking":[') > 0 OR strpos(summary, '"agents":[') > 0 THEN updated END) STORED;
CREATE INDEX sessions_waits ON openagent.sessions (space, waits, id) WHERE waits IS NOT NULL;
