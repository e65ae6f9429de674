// Package postgres keeps sessions in PostgreSQL, for agents that run on several machines.
//
//	db, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"), postgres.Options{})
//	a := &agent.Agent{Model: m, Sessions: db.Store("", nil)}
//
// A [DB] is a session store and the backend of package durable, and has an engine for it that
// needs no other server. It was tested with PostgreSQL 15.
package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openagent-go/agent/durable"
)

// Options of a [DB].
type Options struct {
	// Lease is how long a session belongs to a worker after its last sign of life. A worker
	// gives one three times in this time. It must be the same in all processes. 0: 10 s.
	Lease time.Duration
}

// A DB is a database with sessions. Its methods are safe for concurrent use.
//
// It makes its tables in the schema openagent. Connections are those of a pgxpool, so the
// URL may have its parameters. pool_max_conns is 24 by default, enough for 64 busy sessions;
// connections are made when they are needed. One more connection listens to notifications.
// It must not go through a pooler that gives each transaction another one.
type DB struct {
	pool  *pgxpool.Pool
	lease time.Duration
	hub   *hub
	locks *locks

	renewing sync.Mutex // held by a statement that renews leases, and by one that lends or recalls a session

	mu      sync.Mutex
	held    map[*log]struct{} // sessions that are open
	renewed chan struct{}     // closed when the last renewal has ended; nil: none works
	stop    context.CancelFunc
}

var _ durable.Backend = (*DB)(nil)

// Open connects to a database, and makes or changes its tables if they are of an older
// version. url is a connection string as pgx takes it.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	config, err := configOf(url)
	if err != nil {
		return nil, err
	}
	return openWith(ctx, config, o)
}

// defaultConnections is the largest number of connections of a pool, unless the URL has one.
const defaultConnections = 24

// configOf returns the configuration of a pool.
func configOf(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errURL(err)
	}
	if one, err := pgx.ParseConfig(url); err == nil && one.RuntimeParams["pool_max_conns"] == "" {
		config.MaxConns = defaultConnections
	}
	return config, nil
}

func openWith(ctx context.Context, config *pgxpool.Config, o Options) (*DB, error) {
	if o.Lease < 0 {
		return nil, errors.New("postgres: Options.Lease must not be negative")
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: connecting: %w", err)
	}
	d := &DB{pool: pool, lease: cmp.Or(o.Lease, 10*time.Second), held: map[*log]struct{}{}}
	if err := d.migrate(ctx); err != nil {
		pool.Close()
		return nil, explain(err, &config.ConnConfig.Config)
	}
	d.hub, d.locks = newHub(d), newLocks(d)
	return d, nil
}

// errURL returns an error about a connection string without its password.
func errURL(err error) error {
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		return errors.New("postgres: the connection string cannot be read; expected postgres://user:password@host:port/database")
	}
	return fmt.Errorf("postgres: %w", err)
}

// Close ends all connections. Sessions that are open are free when their leases are over.
func (d *DB) Close() {
	d.mu.Lock()
	stop, renewed := d.stop, d.renewed
	d.stop = nil
	d.mu.Unlock()
	if stop != nil {
		stop()
		<-renewed
	}
	d.locks.close()
	d.hub.close()
	d.pool.Close()
}

// migrations are the steps from an empty database to the tables of this version. They are
// only appended to.
var migrations = []string{schema, schema2, schema3, schema4, schema5}

//go:embed schema.sql
var schema string

//go:embed schema_2.sql
var schema2 string

//go:embed schema_3.sql
var schema3 string

//go:embed schema_4.sql
var schema4 string

//go:embed schema_5.sql
var schema5 string

// checkVersion returns an error if a newer program has changed the tables.
func checkVersion(version int) error {
	if version <= len(migrations) {
		return nil
	}
	return fmt.Errorf("the tables have version %d, and this program knows versions up to %d; update the program", version, len(migrations))
}

const versionQuery = `SELECT coalesce(max(version), 0) FROM openagent.version`

// migrate makes the tables. Several processes may do it at once. It changes nothing, and waits
// for nobody, if they are of this version.
func (d *DB) migrate(ctx context.Context) error {
	var made bool
	if err := d.pool.QueryRow(ctx, `SELECT to_regclass('openagent.version') IS NOT NULL`).Scan(&made); err != nil {
		return err
	}
	if made {
		var version int
		if err := d.pool.QueryRow(ctx, versionQuery).Scan(&version); err != nil {
			return err
		}
		if version == len(migrations) {
			return nil
		}
		if err := checkVersion(version); err != nil {
			return err
		}
		if err := d.change(ctx); err != nil {
			return fmt.Errorf("changing the tables from version %d to %d, which this program needs: %w", version, len(migrations), err)
		}
		return nil
	}
	return d.change(ctx)
}

// change makes or changes the tables.
func (d *DB) change(ctx context.Context) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('openagent'))`); err != nil {
			return err
		}
		var there bool // making one that is there needs a right to the database
		if err := tx.QueryRow(ctx, `SELECT to_regnamespace('openagent') IS NOT NULL`).Scan(&there); err != nil {
			return err
		}
		if !there {
			if _, err := tx.Exec(ctx, `CREATE SCHEMA openagent`); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS openagent.version (version int NOT NULL)`); err != nil {
			return err
		}
		var version int
		if err := tx.QueryRow(ctx, versionQuery).Scan(&version); err != nil {
			return err
		}
		if err := checkVersion(version); err != nil {
			return err
		}
		for i, step := range migrations[version:] {
			if _, err := tx.Exec(ctx, step); err != nil {
				return fmt.Errorf("step %d: %w", version+i+1, err)
			}
		}
		if version == len(migrations) {
			return nil
		}
		_, err := tx.Exec(ctx, `INSERT INTO openagent.version VALUES ($1)`, len(migrations))
		return err
	})
}
