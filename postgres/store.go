package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/eventtable"
	_ "github.com/openagent-go/agent/internal/fact" // the facts that only agents read
	"github.com/openagent-go/agent/session"
)

// Store implements [durable.Backend]. The store also implements [session.Stater],
// [session.LastReader], [session.Nester], [session.Deleter], [session.Creator] and
// [session.Waiter], and selects sessions for a [session.Query].
//
// Each append is on the disk of the database when it returns, also without sync.
func (d *DB) Store(worker string, lost func()) session.Store {
	return &store{db: d, worker: worker, lost: lost}
}

// A store is a view of a DB.
type store struct {
	db     *DB
	worker string
	lost   func() // nil: nobody is told
	space  string // of sub-agents: the ids above, each with a slash
}

var (
	_ session.Stater     = (*store)(nil)
	_ session.LastReader = (*store)(nil)
	_ session.Nester     = (*store)(nil)
	_ session.Deleter    = (*store)(nil)
	_ session.Creator    = (*store)(nil)
	_ session.Waiter     = (*store)(nil)
)

// Under implements [session.Nester].
func (s *store) Under(id string) session.Store {
	under := *s
	under.space += id + "/"
	return &under
}

// Open implements [session.Store].
func (s *store) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	l, err := s.open(ctx, id, h)
	if err != nil {
		return nil, fmt.Errorf("opening session: %w", err)
	}
	return l, nil
}

func (s *store) open(ctx context.Context, id string, h session.Header) (*log, error) {
	if err := cmp.Or(session.CheckID(id), ctx.Err()); err != nil {
		return nil, err
	}
	h.Session = id
	if h.Created.IsZero() {
		h.Created = time.Now()
	}
	h.Created = h.Created.UTC().Round(0)
	header, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	l := &log{store: s, id: id}
	var summary []byte
	var lent bool // by a worker, which finds out now and not with its next renewal
	// The epoch grows by a random step. A database that has lost its last commits, for example
	// when a replica took over, must not give a number out again that a worker still has.
	err = s.db.pool.QueryRow(ctx, `
		INSERT INTO openagent.sessions AS s (space, id, header, updated, epoch, worker, opened, lease) VALUES ($1, $2, $3, $4, $7, $5, now(), now() + $6)
		ON CONFLICT (space, id) DO UPDATE SET epoch = s.epoch + $7, worker = $5, opened = now(), lease = now() + $6 WHERE s.lease IS NULL OR s.lease < now()
		RETURNING n, epoch, last, header, summary, EXISTS (SELECT FROM openagent.sessions b WHERE b.space = $1 AND b.id = $2 AND b.lease IS NULL AND b.worker <> '')`,
		s.space, id, header, h.Created.UnixNano(), s.worker, s.db.lease, 1+rand.Int64N(1<<32)).Scan(&l.n, &l.epoch, &l.last, &header, &summary, &lent)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("%s: %w", id, s.busy(ctx, id))
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(header, &l.summary.Header), json.Unmarshal(summary, &l.summary))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, cmp.Or(ctx.Err(), err))
	}
	s.db.hold(l)
	if lent {
		s.db.hub.tell(mailOf + s.space + id)
	}
	return l, nil
}

// Read implements [session.Store]. It holds no connection while it yields facts.
func (s *store) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if err := s.read(ctx, id, after, func(e event.Event) bool { return yield(e, nil) }); err != nil {
			yield(event.Event{}, fmt.Errorf("reading session: %w", err))
		}
	}
}

// Facts of a page: the first one is small, because many readers want few facts. A page ends with the
// fact that makes it larger than pageBytes.
const (
	firstPage = 16
	lastPage  = 256
	pageBytes = 4 << 20
)

const pageQuery = `SELECT seq, prev, time, type, data FROM (
	SELECT p.*, sum(octet_length(data)) OVER (ORDER BY seq) - octet_length(data) AS before FROM (
		SELECT seq, prev, time, type, data FROM openagent.facts WHERE session = $1 AND seq > $2 ORDER BY seq LIMIT $3) p) q
	WHERE before <= $4 ORDER BY seq`

func (s *store) read(ctx context.Context, id string, after int64, yield func(event.Event) bool) error {
	n, err := s.number(ctx, id)
	if err != nil {
		return err
	}
	for limit := firstPage; ; limit = min(4*limit, lastPage) {
		facts, bytes, err := s.facts(ctx, id, pageQuery, n, after, limit, pageBytes)
		if err != nil {
			return err
		}
		for _, e := range facts {
			if err := ctx.Err(); err != nil {
				return err
			}
			after = e.Seq
			if !yield(e) {
				return nil
			}
		}
		if len(facts) < limit && bytes <= pageBytes {
			return nil
		}
	}
}

// number returns the number of a session in the tables.
func (s *store) number(ctx context.Context, id string) (n int64, err error) {
	if err := cmp.Or(session.CheckID(id), ctx.Err()); err != nil {
		return 0, err
	}
	err = s.db.pool.QueryRow(ctx, `SELECT n FROM openagent.sessions WHERE space = $1 AND id = $2`, s.space, id).Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("%w: %s", session.ErrNotFound, id)
	}
	return n, cmp.Or(ctx.Err(), err)
}

// facts returns the facts of a session that a query yields, and the size of their data.
func (s *store) facts(ctx context.Context, id, query string, args ...any) (out []event.Event, bytes int, err error) {
	rows, err := s.db.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, 0, cmp.Or(ctx.Err(), err)
	}
	defer rows.Close()
	for rows.Next() {
		var at int64
		var typ string
		var data []byte
		e := event.Event{Session: id}
		if err := rows.Scan(&e.Seq, &e.Prev, &at, &typ, &data); err != nil {
			return nil, 0, err
		}
		e.Time = time.Unix(0, at).UTC()
		if e.Data, err = decode(typ, data); err != nil {
			return nil, 0, fmt.Errorf("fact %d of session %s: %w: %w", e.Seq, id, session.ErrCorrupt, err)
		}
		bytes += len(data)
		out = append(out, e)
	}
	return out, bytes, cmp.Or(ctx.Err(), rows.Err())
}

// decode reads the data of a fact.
func decode(typ string, data []byte) (event.Data, error) {
	if eventtable.Zero[typ] == nil {
		return nil, fmt.Errorf("%w: unknown type %q", session.ErrVersion, typ)
	}
	d, err := eventtable.Decode(typ, data)
	if err != nil {
		return nil, err
	}
	return d.(event.Data), nil
}

// Last implements [session.LastReader].
func (s *store) Last(ctx context.Context, id string, n int, keep func(typ string) bool) ([]event.Event, error) {
	number, err := s.number(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading session: %w", err)
	}
	types := event.Types() // the database cannot call keep
	if keep != nil {
		types = slices.DeleteFunc(types, func(typ string) bool { return !keep(typ) })
	}
	last, _, err := s.facts(ctx, id, `SELECT seq, prev, time, type, data FROM openagent.facts WHERE session = $1 AND type = ANY($3) ORDER BY seq DESC LIMIT $2`, number, max(n, 0), types)
	if err != nil {
		return nil, fmt.Errorf("reading session: %w", err)
	}
	slices.Reverse(last)
	return last, nil
}

const infoColumns = `id, header, summary, lease IS NOT NULL AND lease >= now()`

// List implements [session.Store].
func (s *store) List(ctx context.Context) ([]session.Info, error) {
	list, err := s.infos(ctx, `space = $1 ORDER BY updated DESC, id DESC`, s.space)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	return list, nil
}

// Query returns the sessions that q selects, see [session.Query]. The database offers those
// that may be in the state; this program decides.
func (s *store) Query(ctx context.Context, q session.Query) ([]session.Info, error) {
	list, err := s.query(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	return list, nil
}

// mayBe are the conditions of the rows whose sessions may be in a state. In the JSON of a
// summary, each of these texts can only be a member and its value.
var mayBe = map[session.State]string{
	session.StateWaiting:    ` AND waits IS NOT NULL`,
	session.StateRunning:    ` AND lease >= now()`,
	session.StateUnfinished: ` AND (strpos(summary, '"open":true') > 0 OR strpos(summary, '"suspended":true') > 0)`,
	session.StateIdle:       ` AND strpos(summary, '"open":true') = 0 AND strpos(summary, '"suspended":true') = 0`,
}

func (s *store) query(ctx context.Context, q session.Query) ([]session.Info, error) {
	list := []session.Info{}
	where, args, changed := `space = $1`, []any{s.space}, "updated"
	if q.State != "" {
		may, ok := mayBe[q.State]
		if !ok {
			return list, nil
		}
		where += may
	}
	if q.State == session.StateWaiting {
		changed = "waits" // the same time, in an index
	}
	if q.Dir != "" {
		dir, err := json.Marshal(q.Dir)
		if err != nil {
			return nil, err
		}
		args = append(args, `"cwd":`+string(dir))
		where += ` AND strpos(header, $2) > 0`
	}
	var limit *int // nil: none
	if q.Limit > 0 {
		limit = new(max(q.Limit, firstPage))
	}
	for after := q.After; ; {
		where, args := where, slices.Clone(args)
		if after.Session != "" || !after.Updated.IsZero() {
			where += fmt.Sprintf(` AND (%s, id) < ($%d, $%d)`, changed, len(args)+1, len(args)+2)
			args = append(args, nanos(after.Updated), after.Session)
		}
		page, err := s.infos(ctx, fmt.Sprintf(`%s ORDER BY %s DESC, id DESC LIMIT $%d`, where, changed, len(args)+1), append(args, limit)...)
		if err != nil {
			return nil, err
		}
		for _, info := range page {
			if (q.State == "" || info.State == q.State) && (q.Dir == "" || info.Dir == q.Dir) {
				if list = append(list, info); len(list) == q.Limit {
					return list, nil
				}
			}
		}
		if limit == nil || len(page) < *limit {
			return list, nil
		}
		after = page[len(page)-1]
	}
}

// Find returns the sessions in whose facts a word may be, for [session.Search].
func (s *store) Find(ctx context.Context, word string) ([]string, error) {
	rows, err := s.db.pool.Query(ctx, `SELECT DISTINCT s.id FROM openagent.sessions s JOIN openagent.facts f ON f.session = s.n
		WHERE s.space = $1 AND f.type IN ('user_message', 'assistant_message', 'tool_result', 'session_named')
		AND (f.data COLLATE "C" ILIKE $2 OR strpos(f.data, '"media_type":"text/') > 0)`, s.space, "%"+word+"%")
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, cmp.Or(ctx.Err(), err)
}

// nanos returns a time as the tables have it, which know the years 1678 to 2261.
func nanos(t time.Time) int64 {
	switch year := t.UTC().Year(); {
	case year < 1678:
		return math.MinInt64
	case year > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// Stat implements [session.Stater].
func (s *store) Stat(ctx context.Context, id string) (session.Info, error) {
	if err := cmp.Or(session.CheckID(id), ctx.Err()); err != nil {
		return session.Info{}, err
	}
	list, err := s.infos(ctx, `space = $1 AND id = $2`, s.space, id)
	if err != nil {
		return session.Info{}, err
	}
	if len(list) == 0 {
		return session.Info{}, fmt.Errorf("%w: %s", session.ErrNotFound, id)
	}
	return list[0], nil
}

func (s *store) infos(ctx context.Context, where string, args ...any) ([]session.Info, error) {
	rows, err := s.db.pool.Query(ctx, `SELECT `+infoColumns+` FROM openagent.sessions WHERE `+where, args...)
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	type row struct {
		ID              string
		Header, Summary []byte
		Locked          bool
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	list := make([]session.Info, 0, len(all))
	for _, r := range all {
		sum := session.Summary{Locked: r.Locked, Waits: func(agent string) bool {
			info, err := s.Under(r.ID).(*store).Stat(ctx, agent)
			return err == nil && info.State == session.StateWaiting
		}}
		if err := errors.Join(json.Unmarshal(r.Header, &sum.Header), json.Unmarshal(r.Summary, &sum)); err != nil {
			return nil, fmt.Errorf("session %s: %w: %w", r.ID, session.ErrCorrupt, err)
		}
		list = append(list, sum.Info())
	}
	return list, nil
}

// Create implements [session.Creator]: in one transaction, with a statement for many facts.
func (s *store) Create(ctx context.Context, h session.Header, facts []event.Event) error {
	id := h.Session
	if err := cmp.Or(session.CheckID(id), session.CheckAppend(ctx, id, 0, 0, facts)); err != nil {
		return err
	}
	if h.Created.IsZero() {
		h.Created = time.Now()
	}
	h.Created = h.Created.UTC().Round(0)
	header, err := json.Marshal(h)
	if err != nil {
		return err
	}
	sum := session.Summary{Header: h}
	for _, e := range facts {
		sum.Add(e)
	}
	summary, err := json.Marshal(&sum)
	if err != nil {
		return err
	}
	updated := h.Created
	if len(facts) > 0 {
		updated = facts[len(facts)-1].Time
	}
	err = pgx.BeginFunc(ctx, s.db.pool, func(tx pgx.Tx) error {
		var n int64
		err := tx.QueryRow(ctx, `
			INSERT INTO openagent.sessions (space, id, header, summary, last, updated) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (space, id) DO NOTHING RETURNING n`, s.space, id, header, summary, len(facts), updated.UnixNano()).Scan(&n)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%w: %s", session.ErrExists, id)
		}
		if err != nil {
			return err
		}
		for part := range slices.Chunk(facts, lastPage) {
			r, err := rowsOf(part)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `
				INSERT INTO openagent.facts (session, seq, prev, time, type, data)
				SELECT $1, u.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) u`,
				n, r.seqs, r.prevs, r.times, r.types, r.data); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	s.db.hub.appended(s.space + id) // somebody may wait for it
	return nil
}

// Delete implements [session.Deleter].
func (s *store) Delete(ctx context.Context, id string) error {
	if err := cmp.Or(session.CheckID(id), ctx.Err()); err != nil {
		return fmt.Errorf("deleting session: %w", err)
	}
	err := pgx.BeginFunc(ctx, s.db.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM openagent.sessions WHERE space = $1 AND id = $2 AND (lease IS NULL OR lease < now())`, s.space, id)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNotDeleted
		}
		if _, err = tx.Exec(ctx, `DELETE FROM openagent.sessions WHERE starts_with(space, $1)`, s.space+id+"/"); err != nil || s.space != "" {
			return err
		}
		for _, table := range []string{"inbox", "settings", "places", "wakes"} {
			if _, err = tx.Exec(ctx, `DELETE FROM openagent.`+table+` WHERE session = $1`, id); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `DELETE FROM openagent.spaces WHERE space = $1`, id)
		return err
	})
	if errors.Is(err, errNotDeleted) {
		if _, err = s.number(ctx, id); err == nil {
			err = s.busy(ctx, id)
		}
	}
	if err != nil {
		return fmt.Errorf("deleting session %s: %w", id, cmp.Or(ctx.Err(), err))
	}
	s.db.hub.appended(s.space + id)      // those who wait for it find out
	s.db.hub.tell(mailOf + s.space + id) // and a worker that has lent it
	return nil
}

var errNotDeleted = errors.New("not deleted")

// Wait implements [session.Waiter].
func (s *store) Wait(ctx context.Context, id string, after int64) error {
	told, stop := s.db.hub.listen(factsOf + s.space + id)
	defer stop()
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		there, err := s.has(ctx, id, after)
		if err != nil || there {
			return err
		}
		select {
		case <-told:
		case <-ticks.C: // a notification may have been lost
		case <-ctx.Done():
			return fmt.Errorf("waiting for facts: %w", ctx.Err())
		}
	}
}

// lookEvery is how often a waiting reader looks without a notification.
const lookEvery = time.Second

// has reports whether a session has a fact after the given one.
func (s *store) has(ctx context.Context, id string, after int64) (bool, error) {
	if err := cmp.Or(session.CheckID(id), ctx.Err()); err != nil {
		return false, fmt.Errorf("waiting for facts: %w", err)
	}
	after = max(after, 0)
	var last int64
	err := s.db.pool.QueryRow(ctx, `SELECT last FROM openagent.sessions WHERE space = $1 AND id = $2`, s.space, id).Scan(&last)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && after == 0:
		return false, nil
	case errors.Is(err, pgx.ErrNoRows), err == nil && last < after:
		return false, fmt.Errorf("waiting for facts: fact %d of %s: %w", after, id, session.ErrNotFound)
	case err != nil:
		return false, fmt.Errorf("waiting for facts: %w", cmp.Or(ctx.Err(), err))
	}
	return last > after, nil
}

// trimmed returns JSON without the newline of an encoder.
func trimmed(b []byte) string { return strings.TrimSuffix(string(b), "\n") }
