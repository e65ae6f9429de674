-- Version 5: since when a worker has a session open, for people.

ALTER TABLE openagent.sessions ADD COLUMN opened timestamptz;
