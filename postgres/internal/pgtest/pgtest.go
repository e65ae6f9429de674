// Package pgtest starts a PostgreSQL server for tests.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/internal/plainfile"
)

// A Server is a PostgreSQL server in a folder of its own. It listens to a socket there, and
// to no network.
type Server struct {
	bin, dir string
	cmd      *exec.Cmd
	ended    chan struct{} // of cmd
	count    atomic.Int64  // databases
}

// ErrNone means that this machine has no PostgreSQL.
var ErrNone = errors.New("no PostgreSQL on this machine: neither initdb in PATH, nor in /usr/lib/postgresql, nor in .cache/postgres")

// Start starts a server. It fails with [ErrNone] if there is no PostgreSQL. Call Stop at the
// end.
func Start() (_ *Server, err error) {
	bin, err := Find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if err := own(dir); err != nil {
		return nil, err
	}
	init := s.command("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s, s.Begin()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command returns a program of the server, run by a user that is not root.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "LC_ALL=C")
	if root, _, cached := strings.Cut(s.bin, "/usr/lib/postgresql/"); cached && root != "" { // with its libraries beside it
		libraries, _ := filepath.Glob(root + "/usr/lib/*-linux-*")
		more, _ := filepath.Glob(root + "/lib/*-linux-*")
		c.Env = append(c.Env, "LD_LIBRARY_PATH="+strings.Join(append(libraries, more...), ":"))
	}
	dropRoot(c)
	return c
}

// Begin starts the server again after [Server.Kill]. It waits for processes of the killed server
// that have not found out yet: those of connections are in process groups of their own.
func (s *Server) Begin() error {
	for wait := time.Duration(0); ; wait += 50 * time.Millisecond {
		err := s.begin()
		if err == nil || wait > 15*time.Second || !strings.Contains(err.Error(), "is still in use\n") {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *Server) begin() error {
	s.cmd = s.command("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=800", "-c", "shared_buffers=64MB")
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err
	}
	begun := info.Size() // what it writes is after that
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func(c *exec.Cmd, ended chan struct{}) { _ = c.Wait(); close(ended) }(s.cmd, s.ended)
	for range 300 {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		stop()
		if err == nil {
			return conn.Close(context.Background())
		}
		select {
		case <-s.ended:
			text, err := plainfile.ReadFile(filepath.Join(s.dir, "log"), 64<<20)
			if err != nil {
				return err
			}
			return fmt.Errorf("postgres has ended:\n%s", text[begun:])
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("postgres does not answer after 15 s")
}

// Kill ends the server at once, as pg_ctl stop -m immediate does. What was committed is kept,
// unless its commits are asynchronous.
func (s *Server) Kill() {
	quit(s.cmd)
	select {
	case <-s.ended:
	case <-time.After(5 * time.Second):
		_ = s.cmd.Process.Signal(os.Kill)
		<-s.ended
		s.killWorkers()
	}
}

// Exec carries out a statement of an administrator.
func (s *Server) Exec(tb testing.TB, statement string) { tb.Helper(); s.exec(tb, statement) }

// Stop ends the server and removes its folder.
func (s *Server) Stop() error {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(os.Interrupt) // fast shutdown
		select {
		case <-s.ended:
		case <-time.After(20 * time.Second):
			s.Kill()
		}
	}
	return os.RemoveAll(s.dir)
}

func (s *Server) url(database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {s.dir}, "user": {"postgres"}}.Encode()
}

// URL returns the connection string of a database that is empty at first.
func (s *Server) URL() string { return s.url("postgres") }

// Database makes an empty database, which is removed at the end of the test, and returns its
// connection string.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := "t" + strconv.FormatInt(s.count.Add(1), 10)
	s.exec(tb, "CREATE DATABASE "+name)
	tb.Cleanup(func() { s.exec(tb, "DROP DATABASE "+name+" WITH (FORCE)") })
	return s.url(name)
}

func (s *Server) exec(tb testing.TB, statement string) {
	tb.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err == nil {
		_, err = conn.Exec(ctx, statement)
		_ = conn.Close(ctx)
	}
	if err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// Find returns the folder with the programs of PostgreSQL. It fails with [ErrNone] if there is none.
func Find() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for dir, err := os.Getwd(); err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		cached, _ := filepath.Glob(filepath.Join(dir, ".cache", "postgres", "usr", "lib", "postgresql", "*", "bin"))
		folders = append(folders, cached...)
	}
	for _, dir := range slices.Backward(folders) {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	return "", ErrNone
}
