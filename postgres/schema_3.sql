-- Version 3: what model calls cost, for package quota.

CREATE TABLE openagent.quotas (
	book     text COLLATE "C" PRIMARY KEY, -- key of the account, @ and the period
	spent    double precision NOT NULL DEFAULT 0, -- USD
	changed  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);                -- each call changes the row in place

CREATE TABLE openagent.reservations (
	book     text COLLATE "C" NOT NULL REFERENCES openagent.quotas ON DELETE CASCADE,
	id       text COLLATE "C" NOT NULL,  -- of the call
	usd      double precision NOT NULL,
	expected double precision NOT NULL,  -- its cost if it is not settled
	expires  timestamptz NOT NULL,       -- then it counts as broken
	PRIMARY KEY (book, id)
);

-- What was spent and is reserved, for people and for Balance.
CREATE VIEW openagent.balances AS
	SELECT q.book, q.spent + coalesce(sum(r.expected) FILTER (WHERE r.expires <= now()), 0) AS spent,
		coalesce(sum(r.usd) FILTER (WHERE r.expires > now()), 0) AS reserved, q.changed
	FROM openagent.quotas q LEFT JOIN openagent.reservations r ON r.book = q.book GROUP BY q.book;

-- reserve holds the row of the book until the end of its transaction, so that one call after
-- the other is granted what is left.
CREATE FUNCTION openagent.reserve(of_book text, of_id text, at_least double precision, at_most double precision, the_limit double precision,
	hold_for interval, expected_usd double precision, OUT spent double precision, OUT reserved double precision, OUT granted double precision, OUT at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
	expired double precision;
BEGIN
	LOOP
		SELECT q.spent INTO spent FROM openagent.quotas q WHERE q.book = of_book FOR UPDATE;
		EXIT WHEN FOUND;
		INSERT INTO openagent.quotas (book) VALUES (of_book) ON CONFLICT DO NOTHING;
	END LOOP;
	at := clock_timestamp();
	WITH gone AS (DELETE FROM openagent.reservations r WHERE r.book = of_book AND r.expires <= at RETURNING r.expected)
		SELECT sum(g.expected) INTO expired FROM gone g;
	IF expired IS NOT NULL THEN
		UPDATE openagent.quotas q SET spent = q.spent + expired, changed = at WHERE q.book = of_book RETURNING q.spent INTO spent;
	END IF;
	SELECT coalesce(sum(r.usd), 0), max(r.usd) FILTER (WHERE r.id = of_id) INTO reserved, granted FROM openagent.reservations r WHERE r.book = of_book;
	IF granted IS NULL THEN
		granted := least(at_most, the_limit - spent - reserved);
		IF granted < at_least OR granted <= 0 THEN
			granted := 0;
		ELSE
			INSERT INTO openagent.reservations VALUES (of_book, of_id, granted, least(expected_usd, granted), at + hold_for);
			reserved := reserved + granted;
		END IF;
	END IF;
END $$;
