package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// explain returns an error of opening a database in words for people, without the password.
func explain(err error, c *pgconn.Config) error {
	var e *pgconn.PgError
	server := fmt.Sprintf("%s:%d", c.Host, c.Port)
	if !errors.As(err, &e) {
		if unreachable := new(pgconn.ConnectError); errors.As(err, &unreachable) {
			return fmt.Errorf("postgres: connecting to the database: %w; check its address, that the server runs, and the password in PGPASSWORD or ~/.pgpass", err)
		}
		return fmt.Errorf("postgres: preparing the tables: %w", err)
	}
	switch e.Code {
	case "28P01", "28000": // invalid_password, invalid_authorization_specification
		return fmt.Errorf("postgres: the server %s refuses the role %s or its password: %w; check the name in the address, and the password in PGPASSWORD or ~/.pgpass", server, c.User, err)
	case "3D000": // invalid_catalog_name
		return fmt.Errorf("postgres: the server %s has no database %s: %w; make it, or correct the address", server, c.Database, err)
	case "53300": // too_many_connections
		return fmt.Errorf("postgres: the server %s has no connection left: %w; raise max_connections there, or set pool_max_conns in the addresses", server, err)
	case "42501": // insufficient_privilege
		return fmt.Errorf("postgres: preparing the tables: %w; the role %s may not do that: open the database once with the role that owns its tables, and grant what deploy/roles.sql grants", err, c.User)
	case "25006": // read_only_sql_transaction
		return fmt.Errorf("postgres: preparing the tables: %w; %s", err, readsOnly(server, c.User))
	}
	return fmt.Errorf("postgres: preparing the tables: %w", err)
}

func readsOnly(server, role string) string {
	return fmt.Sprintf("the server %s or the role %s only reads: use the address of the primary server, and a role that may write", server, role)
}

// CheckRights returns an error if the role of the connections may not do what workers and clients do. While
// the database does not answer, it returns nil: that may change.
func (e engine) CheckRights(ctx context.Context) error {
	var writes, reading bool
	err := e.db.pool.QueryRow(ctx, `SELECT bool_and(has_table_privilege('openagent.' || name, need)), current_setting('transaction_read_only')::bool
		FROM unnest(array['sessions', 'facts', 'inbox', 'wakes', 'settings', 'places']) name, unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) need`).Scan(&writes, &reading)
	c := e.db.pool.Config().ConnConfig
	switch {
	case err != nil:
		return nil
	case reading:
		return errors.New("postgres: " + readsOnly(fmt.Sprintf("%s:%d", c.Host, c.Port), c.User))
	case !writes:
		return fmt.Errorf("postgres: the role %s may not write the tables of the sessions; grant what deploy/roles.sql grants, or use another role", c.User)
	}
	return nil
}
