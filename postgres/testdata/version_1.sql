-- A database as version 1 of the tables was, as pg_dump --inserts writes it.

CREATE SCHEMA openagent;

CREATE TABLE openagent.facts (
    session bigint NOT NULL,
    seq bigint NOT NULL,
    prev bigint NOT NULL,
    "time" bigint NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);

CREATE TABLE openagent.inbox (
    n bigint NOT NULL,
    session text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    reason text
);

ALTER TABLE openagent.inbox ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME openagent.inbox_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE openagent.places (
    session text NOT NULL COLLATE pg_catalog."C",
    place text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE openagent.sessions (
    n bigint NOT NULL,
    space text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    header text NOT NULL,
    summary text DEFAULT '{}'::text NOT NULL,
    last bigint DEFAULT 0 NOT NULL,
    updated bigint NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    worker text DEFAULT ''::text NOT NULL,
    lease timestamp with time zone
)
WITH (fillfactor='70');

ALTER TABLE openagent.sessions ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME openagent.sessions_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE openagent.settings (
    session text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL
);

CREATE TABLE openagent.version (
    version integer NOT NULL
);

CREATE TABLE openagent.wakes (
    session text NOT NULL COLLATE pg_catalog."C",
    rings bigint DEFAULT 1 NOT NULL,
    due timestamp with time zone DEFAULT now() NOT NULL,
    holder text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    failed integer DEFAULT 0 NOT NULL,
    place text COLLATE pg_catalog."C",
    moved timestamp with time zone
);

INSERT INTO openagent.facts VALUES (1, 1, 0, 1793534400000000000, 'assistant_message', '{"key":"k","model":"m","response":{"model":"","message":{"role":"assistant","content":[{"type":"text","text":"Hello."}]},"stop":"","usage":{}},"cost_usd":null}');
INSERT INTO openagent.facts VALUES (1, 2, 1, 1793534401000000000, 'assistant_message', '{"key":"k","model":"m","response":{"model":"","message":{"role":"assistant","content":[{"type":"text","text":"How are you?"}]},"stop":"","usage":{}},"cost_usd":null}');

INSERT INTO openagent.inbox OVERRIDING SYSTEM VALUE VALUES (1, 'chat-1', 'c1', '{"type":"interrupt"}', '2026-11-27 10:42:11.111937+00', NULL);

INSERT INTO openagent.sessions OVERRIDING SYSTEM VALUE VALUES (1, '', 'chat-1', '{"session":"chat-1","created":"2026-11-01T12:00:00Z"}', '{"openagent":1,"session":"","created":"0001-01-01T00:00:00Z","updated":"2026-11-01T12:00:01Z","messages":2,"facts":2,"size":0,"progress":{}}', 2, 1793534401000000000, 1, '', NULL);

INSERT INTO openagent.version VALUES (1);

SELECT pg_catalog.setval('openagent.inbox_n_seq', 1, true);

SELECT pg_catalog.setval('openagent.sessions_n_seq', 1, true);

ALTER TABLE ONLY openagent.facts
    ADD CONSTRAINT facts_pkey PRIMARY KEY (session, seq);

ALTER TABLE ONLY openagent.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (n);

ALTER TABLE ONLY openagent.inbox
    ADD CONSTRAINT inbox_session_id_key UNIQUE (session, id);

ALTER TABLE ONLY openagent.places
    ADD CONSTRAINT places_pkey PRIMARY KEY (session);

ALTER TABLE ONLY openagent.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (n);

ALTER TABLE ONLY openagent.sessions
    ADD CONSTRAINT sessions_space_id_key UNIQUE (space, id);

ALTER TABLE ONLY openagent.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (session, name);

ALTER TABLE ONLY openagent.wakes
    ADD CONSTRAINT wakes_pkey PRIMARY KEY (session);

CREATE INDEX wakes_due ON openagent.wakes USING btree (due);

ALTER TABLE ONLY openagent.facts
    ADD CONSTRAINT facts_session_fkey FOREIGN KEY (session) REFERENCES openagent.sessions(n) ON DELETE CASCADE;
