package postgres

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
)

// Post implements [durable.Backend].
func (d *DB) Post(ctx context.Context, session string, m durable.Mail) error {
	var kept bool
	err := d.pool.QueryRow(ctx, `
		WITH room AS (SELECT count(*) < $6 AND coalesce(sum(octet_length(body)), 0) + octet_length($3::text) <= $7 AS space FROM openagent.inbox WHERE session = $1 AND reason IS NULL),
		put AS (INSERT INTO openagent.inbox (session, id, body) SELECT $1, $2, $3 FROM room WHERE space ON CONFLICT DO NOTHING)
		SELECT space OR EXISTS (SELECT FROM openagent.inbox WHERE session = $1 AND id = $2) FROM room, pg_notify($4, $5)`,
		session, m.ID, string(m.Body), channel, mailOf+session, maxCommands, maxBytes).Scan(&kept)
	if err == nil && !kept {
		return durable.ErrFull
	}
	return err
}

// What an inbox holds at most.
const (
	maxCommands = 1000
	maxBytes    = 64 << 20
)

// Inbox implements [durable.Backend].
func (d *DB) Inbox(ctx context.Context, session string) ([]durable.Mail, error) {
	rows, err := d.pool.Query(ctx, `SELECT id, body::bytea FROM (SELECT id, convert_to(body, 'UTF8') AS body, n FROM openagent.inbox WHERE session = $1 AND reason IS NULL) m ORDER BY n`, session)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[durable.Mail])
}

// Settle implements [durable.Backend]. The IDs are kept for a week.
func (d *DB) Settle(ctx context.Context, session string, ids ...string) error {
	_, err := d.pool.Exec(ctx, `UPDATE openagent.inbox SET reason = '', body = '', at = now() WHERE session = $1 AND id = ANY($2) AND reason IS NULL`, session, ids)
	return err
}

// keepSettled is how long the IDs of settled commands are kept, and the reasons of rejected ones.
const keepSettled = 7 * 24 * time.Hour

// Reject implements [durable.Backend]. The reason is kept for a week.
func (d *DB) Reject(ctx context.Context, session, id, reason string) error {
	_, err := d.pool.Exec(ctx, `UPDATE openagent.inbox SET reason = $3, body = '', at = now() WHERE session = $1 AND id = $2 AND reason IS NULL`, session, id, cmp.Or(safeText(reason), "unknown reason"))
	return err
}

// Rejected implements [durable.Backend].
func (d *DB) Rejected(ctx context.Context, session, id string) (reason string, ok bool, err error) {
	err = d.pool.QueryRow(ctx, `SELECT reason FROM openagent.inbox WHERE session = $1 AND id = $2 AND reason <> ''`, session, id).Scan(&reason)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return reason, err == nil, err
}

// Keep implements [durable.Backend].
func (d *DB) Keep(ctx context.Context, session, name string, m durable.Mail) error {
	if m.Body == nil {
		_, err := d.pool.Exec(ctx, `DELETE FROM openagent.settings WHERE session = $1 AND name = $2`, session, name)
		return err
	}
	_, err := d.pool.Exec(ctx, `WITH settled AS (UPDATE openagent.inbox SET reason = '', body = '', at = now() WHERE session = $1 AND id = $4)
		INSERT INTO openagent.settings VALUES ($1, $2, $3) ON CONFLICT (session, name) DO UPDATE SET body = $3`, session, name, string(m.Body), m.ID)
	return err
}

// Kept implements [durable.Backend].
func (d *DB) Kept(ctx context.Context, session string) (map[string][]byte, error) {
	rows, err := d.pool.Query(ctx, `SELECT name, body FROM openagent.settings WHERE session = $1`, session)
	if err != nil {
		return nil, err
	}
	kept := map[string][]byte{}
	var name, body string
	_, err = pgx.ForEachRow(rows, []any{&name, &body}, func() error {
		kept[name] = []byte(body)
		return nil
	})
	return kept, err
}

// Unattended implements [durable.Backend]. It also forgets commands that were settled long ago.
func (d *DB) Unattended(ctx context.Context, age time.Duration) ([]string, error) {
	if _, err := d.pool.Exec(ctx, `DELETE FROM openagent.inbox WHERE reason IS NOT NULL AND at < now() - $1::interval`, keepSettled); err != nil {
		return nil, err
	}
	rows, err := d.pool.Query(ctx, `SELECT DISTINCT i.session FROM openagent.inbox i LEFT JOIN openagent.sessions s ON s.space = '' AND s.id = i.session
		WHERE i.reason IS NULL AND i.at <= now() - $1::interval AND (s.lease IS NULL OR s.lease < now())`, age)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Notify implements [durable.Backend].
func (d *DB) Notify(session string) (<-chan struct{}, func()) { return d.hub.listen(mailOf + session) }

// Place implements [durable.Backend].
func (d *DB) Place(ctx context.Context, session string) (place string, err error) {
	err = d.pool.QueryRow(ctx, `SELECT coalesce((SELECT place FROM openagent.places WHERE session = $1), '')`, session).Scan(&place)
	return place, err
}

// SetPlace implements [durable.Backend].
func (d *DB) SetPlace(ctx context.Context, session, place string) error {
	_, err := d.pool.Exec(ctx, `INSERT INTO openagent.places VALUES ($1, $2) ON CONFLICT (session) DO UPDATE SET place = $2`, session, place)
	return err
}

// Publish implements [durable.Backend]. A signal of more than 1 MB is not shown.
func (d *DB) Publish(ctx context.Context, session string, signals []event.Event) error {
	all := payloads(session, signals)
	if len(all) == 0 {
		return nil
	}
	return d.hub.notify(ctx, all...)
}

// Signals implements [durable.Backend].
func (d *DB) Signals(ctx context.Context, session string) iter.Seq[event.Event] {
	return func(yield func(event.Event) bool) {
		signals, stop := d.hub.view(session)
		defer stop()
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-signals:
				if !yield(e) {
					return
				}
			}
		}
	}
}
