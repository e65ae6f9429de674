package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/postgres"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/team"
)

// connectLimit is the time for connecting to a database and preparing its tables.
const connectLimit = 15 * time.Second

// lease is how long a session belongs to a process that has died. It is the same in all processes.
const lease = 10 * time.Second

// Open returns the store of a project's sessions. All of this process share the connections to a
// database, see [Close].
func Open(ctx context.Context, h *cli.IO, at settings.Place, project string) (session.Store, error) {
	address, source, err := at.Database(h, project)
	if err != nil {
		return nil, err
	}
	if address == "" {
		path, err := SessionsDir(h, at.Dir, project)
		return session.Dir(path), err
	}
	db, err := Database(ctx, h, address, source)
	if err != nil {
		return nil, err
	}
	home, err := h.Home()
	if err != nil {
		return nil, err
	}
	return &database{db.Store(name(), nil).(stored), db, filepath.Join(home, "stores", projectName(address))}, nil
}

// name names this process for people who look at the database.
func name() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// stored is what a store in a database can do.
type stored interface {
	session.Store
	session.Stater
	session.LastReader
	session.Nester
	session.Deleter
	session.Waiter
	Query(ctx context.Context, q session.Query) ([]session.Info, error)
	Find(ctx context.Context, word string) ([]string, error)
	Worker(ctx context.Context, id string) (string, error)
}

// A database is a store in a database. Checkpoints of its sessions are in files of this machine.
type database struct {
	stored
	db     *Connected
	folder string
}

// Team returns the tasks and teams of the sessions in a database, nil for another store.
func Team(store session.Store) *team.Store {
	if d, ok := store.(*database); ok {
		return d.db.team
	}
	return nil
}

// WakeWorker lets a worker continue a session whose runs workers carry out. It reports whether the session is such a one.
func WakeWorker(ctx context.Context, store session.Store, id string) (woken bool, err error) {
	d, ok := store.(*database)
	if !ok {
		return false, nil
	}
	place, err := d.db.Place(ctx, id) // every openagent worker binds its sessions
	if err != nil || place == "" {
		return false, err
	}
	return true, d.db.Engine().Wake(ctx, id)
}

// Quotas returns what is spent in a database, nil for another store.
func Quotas(store session.Store) quota.Store {
	if d, ok := store.(*database); ok {
		return d.db.Quota()
	}
	return nil
}

// PasswordFiles returns the files with the password of a store in a database, which no tool may read: it
// opens the sessions of everybody.
func PasswordFiles(h *cli.IO, store session.Store) []string {
	if _, ok := store.(*database); !ok {
		return nil
	}
	path := passwordFile(h)
	if path == "" {
		return nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	return []string{path}
}

// passwordFile returns the file in which the driver looks for the password, "" for none.
func passwordFile(h *cli.IO) string {
	if path := h.Getenv("PGPASSFILE"); path != "" {
		return path
	}
	if runtime.GOOS == "windows" {
		if data := h.Getenv("APPDATA"); data != "" {
			return filepath.Join(data, "postgresql", "pgpass.conf")
		}
		return ""
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".pgpass")
}

// checkPasswordFile refuses a file with passwords that others of this machine can read, as psql does. On
// Windows the rights of a file are lists that are not looked at.
func checkPasswordFile(h *cli.IO) error {
	path := passwordFile(h)
	if path == "" || h.Getenv("PGPASSWORD") != "" || runtime.GOOS == "windows" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return nil // the driver says what is wrong with it
	}
	return fmt.Errorf("others on this machine can read the passwords in %s; run chmod 600 on it", h.OneLine(path))
}

// Folder returns the folder of the files of the sessions.
func (d *database) Folder() string { return d.folder }

// Open implements [session.Store]. The session gets a folder: it says that its checkpoints are needed.
func (d *database) Open(ctx context.Context, id string, h session.Header) (session.Log, error) {
	l, err := d.stored.Open(ctx, id, h)
	if errors.Is(err, session.ErrBusy) {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("%w, or continue in a copy with --fork-session; if that process has died, the session is free %v later", err, lease)}
	}
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(d.folder, id), 0o700); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Delete implements [session.Deleter].
func (d *database) Delete(ctx context.Context, id string) error {
	if err := d.stored.Delete(ctx, id); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(d.folder, id))
}

// IDs returns the ids of all sessions.
func (d *database) IDs(ctx context.Context) ([]string, error) {
	list, err := d.List(ctx)
	ids := make([]string, len(list))
	for i, info := range list {
		ids[i] = info.Session
	}
	return ids, err
}

// databases are the open databases of a process, by URL.
type databases struct {
	mu   sync.Mutex
	open map[string]*Connected
}

// Connected is an open database.
type Connected struct {
	*postgres.DB
	team *team.Store
}

// Database opens a database, or returns the one that is open. source says what names it.
func Database(ctx context.Context, h *cli.IO, address, source string) (*Connected, error) {
	if err := checkAddress(address); err != nil {
		return nil, cli.Usagef("%s: %w", source, err)
	}
	if err := checkPasswordFile(h); err != nil {
		return nil, cli.Usagef("%s: %w", source, err)
	}
	all, _ := h.Databases.LoadOrStore(shared, &databases{open: map[string]*Connected{}})
	d := all.(*databases)
	d.mu.Lock()
	defer d.mu.Unlock()
	if db := d.open[address]; db != nil {
		return db, nil
	}
	limited, stop := context.WithTimeout(ctx, connectLimit)
	defer stop()
	db, err := postgres.Open(limited, address, postgres.Options{Lease: lease})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, cli.Usagef("%s: %s", source, strings.TrimPrefix(err.Error(), "postgres: "))
	}
	c := &Connected{db, db.Team()}
	d.open[address] = c
	return c, nil
}

// CheckRights returns an error if the role of a database may not do what workers and their clients do.
func CheckRights(ctx context.Context, db *Connected, source string) error {
	checked, ok := db.Engine().(interface{ CheckRights(context.Context) error })
	if !ok {
		return nil
	}
	if err := checked.CheckRights(ctx); err != nil {
		return cli.Usagef("%s: %s", source, strings.TrimPrefix(err.Error(), "postgres: "))
	}
	return nil
}

// shared is the key of the databases of a process.
const shared = "databases"

// Close ends the connections to databases.
func Close(h *cli.IO) {
	if h.Databases == nil {
		return
	}
	all, ok := h.Databases.Load(shared)
	if !ok {
		return
	}
	d := all.(*databases)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, db := range d.open {
		_ = db.team.Close() // its programs are gone with the lease at the latest
		db.Close()
	}
	clear(d.open)
}

// checkAddress refuses what is no address of a database, and passwords: command lines, settings and
// variables are seen by others. Its errors never have the address.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("the address of the database cannot be read; expected one such as postgres://host/database")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return errors.New("sessions can be stored in PostgreSQL only; expected an address such as postgres://host/database, or --session-dir for a folder")
	}
	_, password := u.User.Password()
	for key := range u.Query() {
		password = password || strings.Contains(strings.ToLower(key), "password")
	}
	if password {
		return errors.New("the address has a password, which others could read; set PGPASSWORD, or write it into ~/.pgpass, and leave it out here")
	}
	return nil
}
