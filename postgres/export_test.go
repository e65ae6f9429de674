package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/team"
)

// OpenTraced is Open, with a tracer that sees the statements of the pool.
func OpenTraced(ctx context.Context, url string, o Options, t pgx.QueryTracer) (*DB, error) {
	config, err := configOf(url)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.Tracer = t
	return openWith(ctx, config, o)
}

// MaxConns returns the largest number of connections for a URL.
func MaxConns(url string) (int32, error) {
	config, err := configOf(url)
	if err != nil {
		return 0, err
	}
	return config.MaxConns, nil
}

// LedgerOf returns the ledger of a database's teams.
func LedgerOf(d *DB) team.Ledger { return &ledger{d} }
