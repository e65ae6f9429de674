package teamtest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

// A Ledger keeps lines in memory, for programs of a test.
type Ledger struct {
	mu     sync.Mutex
	spaces map[string]*lines
	watch  map[string][]chan struct{}
	locks  map[string]chan struct{} // closed when the lock is free
}

// lines are those of a space. first is the number of the first one.
type lines struct {
	mu    sync.Mutex // held while somebody writes
	all   []string
	first int
}

func (l *Ledger) at(space string) *lines {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spaces == nil {
		l.spaces = map[string]*lines{}
	}
	if l.spaces[space] == nil {
		l.spaces[space] = &lines{first: 1}
	}
	return l.spaces[space]
}

// after returns the lines after a position.
func (s *lines) after(at string) ([]string, string, error) {
	n := s.first - 1
	if at != "" {
		if n, _ = strconv.Atoi(at); n < s.first || n >= s.first+len(s.all) {
			return nil, "", teamstore.ErrMoved
		}
	}
	return slices.Clone(s.all[n-s.first+1:]), s.end(), nil
}

func (s *lines) end() string {
	if n := s.first - 1 + len(s.all); n > 0 {
		return strconv.Itoa(n)
	}
	return ""
}

// Read implements [teamstore.Ledger].
func (l *Ledger) Read(ctx context.Context, space, after string) ([]string, string, time.Time, error) {
	s := l.at(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, at, err := s.after(after)
	if err == nil {
		err = ctx.Err()
	}
	return lines, at, time.Now(), err
}

// Write implements [teamstore.Ledger].
func (l *Ledger) Write(ctx context.Context, space, after string, fn func([]string, time.Time) ([]string, bool, error)) (string, error) {
	s := l.at(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, _, err := s.after(after)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", err
	}
	more, replace, err := fn(lines, time.Now())
	if err != nil {
		return "", err
	}
	if replace {
		s.first, s.all = s.first+len(s.all), nil
	}
	s.all = append(s.all, more...)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.watch[space] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return s.end(), nil
}

// Watch implements [teamstore.Ledger].
func (l *Ledger) Watch(_ context.Context, space string) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch == nil {
		l.watch = map[string][]chan struct{}{}
	}
	c := make(chan struct{}, 1)
	l.watch[space] = append(l.watch[space], c)
	return c, nil
}

// Lock implements [teamstore.Ledger].
func (l *Ledger) Lock(ctx context.Context, name string) (func(), error) {
	for {
		l.mu.Lock()
		free := l.locks[name]
		if free == nil {
			if l.locks == nil {
				l.locks = map[string]chan struct{}{}
			}
			free = make(chan struct{})
			l.locks[name] = free
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.locks, name)
				close(free)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Locked implements [teamstore.Ledger].
func (l *Ledger) Locked(_ context.Context, name string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locks[name] != nil, nil
}

// ByClock returns a ledger whose time is that of a clock.
func ByClock(l teamstore.Ledger, clock *Clock) teamstore.Ledger { return &clocked{l, clock} }

type clocked struct {
	teamstore.Ledger
	clock *Clock
}

func (c *clocked) Read(ctx context.Context, space, after string) ([]string, string, time.Time, error) {
	lines, at, _, err := c.Ledger.Read(ctx, space, after)
	return lines, at, c.clock.Now(), err
}

func (c *clocked) Write(ctx context.Context, space, after string, fn func([]string, time.Time) ([]string, bool, error)) (string, error) {
	return c.Ledger.Write(ctx, space, after, func(lines []string, _ time.Time) ([]string, bool, error) { return fn(lines, c.clock.Now()) })
}

// RunLedger tests a ledger. connect returns a ledger of another program on the same, empty
// storage, and what ends that program without a farewell.
func RunLedger(t *testing.T, connect func(t *testing.T) (l teamstore.Ledger, kill func())) {
	one, _ := connect(t)
	two, kill := connect(t)
	write := func(l teamstore.Ledger, space, after string, replace bool, more ...string) (string, []string) {
		t.Helper()
		var seen []string
		at, err := l.Write(t.Context(), space, after, func(lines []string, now time.Time) ([]string, bool, error) {
			seen = lines
			if now.IsZero() {
				t.Error("no time")
			}
			return more, replace, nil
		})
		if err != nil {
			t.Fatalf("writing after %q: %v", after, err)
		}
		return at, seen
	}
	read := func(l teamstore.Ledger, space, after string, want ...string) string {
		t.Helper()
		lines, at, now, err := l.Read(t.Context(), space, after)
		if err != nil || !slices.Equal(lines, want) || now.IsZero() {
			t.Fatalf("read %q at %v after %q, %v; want %q", lines, now, after, err, want)
		}
		return at
	}
	t.Run("order", func(t *testing.T) {
		if at := read(one, "a", ""); at != "" {
			t.Errorf("an empty space ends at %q", at)
		}
		first, _ := write(one, "a", "", false, "1", `2 "\u0000"`)
		if at, seen := write(two, "a", first, false); at != first || len(seen) != 0 {
			t.Errorf("writing nothing: at %q, %q", at, seen)
		}
		second, seen := write(two, "a", "", false, "3")
		if !slices.Equal(seen, []string{"1", `2 "\u0000"`}) {
			t.Errorf("a writer saw %q", seen)
		}
		if at := read(one, "a", first, "3"); at != second {
			t.Errorf("read at %q, written at %q", at, second)
		}
		read(one, "b", "") // another space
		refused := errors.New("refused")
		if _, err := one.Write(t.Context(), "a", second, func([]string, time.Time) ([]string, bool, error) { return []string{"4"}, true, refused }); !errors.Is(err, refused) {
			t.Errorf("a writer that fails: %v", err)
		}
		read(two, "a", "", "1", `2 "\u0000"`, "3")
	})
	t.Run("replace", func(t *testing.T) {
		old, _ := write(one, "r", "", false, "1", "2", "3")
		at, seen := write(two, "r", old, true, "all")
		if len(seen) != 0 {
			t.Errorf("saw %q", seen)
		}
		read(two, "r", at)
		read(one, "r", "", "all")
		if _, _, _, err := one.Read(t.Context(), "r", old); !errors.Is(err, teamstore.ErrMoved) {
			t.Errorf("reading after all that was replaced: %v", err)
		}
		between, _ := write(one, "q", "", false, "1")
		write(one, "q", between, false, "2")
		write(two, "q", "", true, "all")
		if _, _, _, err := one.Read(t.Context(), "q", between); !errors.Is(err, teamstore.ErrMoved) {
			t.Errorf("reading what was replaced: %v", err)
		}
		_, err := one.Write(t.Context(), "q", between, func([]string, time.Time) ([]string, bool, error) {
			t.Error("fn was called")
			return nil, false, nil
		})
		if !errors.Is(err, teamstore.ErrMoved) {
			t.Errorf("writing after what was replaced: %v", err)
		}
		read(one, "q", "", "all")
	})
	t.Run("writers", func(t *testing.T) {
		var all sync.WaitGroup
		for _, l := range []teamstore.Ledger{one, two, one, two} {
			all.Go(func() {
				for range 25 {
					_, err := l.Write(t.Context(), "w", "", func(lines []string, _ time.Time) ([]string, bool, error) {
						return []string{strconv.Itoa(len(lines))}, false, nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		lines, _, _, err := one.Read(t.Context(), "w", "")
		for i, line := range lines {
			if line != strconv.Itoa(i) {
				t.Fatalf("line %d is %s", i, line)
			}
		}
		if err != nil || len(lines) != 100 {
			t.Errorf("%d lines, %v", len(lines), err)
		}
	})
	t.Run("watch", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		c, err := one.Watch(ctx, "n")
		if err != nil {
			t.Fatal(err)
		}
		write(two, "n", "", false, "1")
		told(t, "the other program", c)
	})
	t.Run("lock", func(t *testing.T) {
		unlock, err := one.Lock(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		if held, err := two.Locked(t.Context(), "x"); !held || err != nil {
			t.Errorf("held: %v, %v", held, err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := two.Lock(ctx, "x"); err == nil {
			t.Error("two programs have the lock")
		}
		stop()
		has := make(chan func(), 1)
		go func() {
			unlock, err := two.Lock(t.Context(), "x")
			if err != nil {
				t.Error(err)
			}
			has <- unlock
		}()
		unlock()
		select {
		case unlock := <-has:
			unlock()
		case <-time.After(patience):
			t.Fatal("the lock is not free")
		}
		if held, err := one.Locked(t.Context(), "x"); held || err != nil {
			t.Errorf("held: %v, %v", held, err)
		}
		if _, err := two.Lock(t.Context(), "dead"); err != nil {
			t.Fatal(err)
		}
		if kill == nil {
			return
		}
		kill()
		ctx, stop = context.WithTimeout(t.Context(), patience)
		defer stop()
		if unlock, err := one.Lock(ctx, "dead"); err != nil {
			t.Errorf("the lock of a program that has died: %v", err)
		} else {
			unlock()
		}
	})
}
