package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/openagent-go/agent/internal/authserver"
	"github.com/openagent-go/agent/mcp/oauth"
)

// browse opens a page as a browser does, following it to the program.
func browse(ctx context.Context, page string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return "", err
}

// table is a Store of a program's own.
type table struct {
	mu   sync.Mutex
	rows map[string][]byte
}

func (s *table) Load(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[key], nil
}

func (s *table) Update(_ context.Context, key string, change func([]byte) ([]byte, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, err := change(s.rows[key])
	if err != nil {
		return err
	}
	if s.rows[key] = row; row == nil {
		delete(s.rows, key)
	}
	return nil
}

// A login is kept in any store, and is gone after Logout.
func TestStores(t *testing.T) {
	mine := &table{rows: map[string][]byte{}}
	for name, store := range map[string]oauth.Store{"none": nil, "folder": oauth.Dir(t.TempDir()), "own": mine} {
		t.Run(name, func(t *testing.T) {
			s := &authserver.Server{}
			authserver.New(s)
			defer s.Close()
			c := oauth.New(s.ResourceURL(), oauth.Config{}, store)
			if err := c.Login(t.Context(), browse); err != nil {
				t.Fatal(err)
			}
			token, err := c.Token(t.Context())
			if err != nil || token == "" {
				t.Fatalf("%q, %v", token, err)
			}
			again, err := oauth.New(s.ResourceURL(), oauth.Config{}, store).Token(t.Context())
			if err != nil || (again == token) != (store != nil) {
				t.Errorf("another client has %q, %v", again, err)
			}
			if had, err := c.Logout(t.Context()); err != nil || !had {
				t.Errorf("%v, %v", had, err)
			}
			if token, err := oauth.New(s.ResourceURL(), oauth.Config{}, store).Token(t.Context()); err != nil || token != "" {
				t.Errorf("%q is left, %v", token, err)
			}
		})
	}
	if len(mine.rows) != 0 {
		t.Errorf("%d rows are left", len(mine.rows))
	}
}

// Programs see the logins of a folder as JSON.
func TestDir(t *testing.T) {
	store, failed := oauth.Dir(t.TempDir()), errors.New("failed")
	if data, err := store.Load(t.Context(), "k"); data != nil || err != nil {
		t.Fatalf("%s, %v", data, err)
	}
	set := func(to string, err error) error {
		return store.Update(t.Context(), "k", func([]byte) ([]byte, error) {
			if to == "" {
				return nil, err
			}
			return []byte(to), err
		})
	}
	if err := set(`{"accessToken":"a"}`, nil); err != nil {
		t.Fatal(err)
	}
	if err := set(`{"accessToken":"b"}`, failed); !errors.Is(err, failed) {
		t.Error(err)
	}
	if err := set(`{`, nil); err == nil {
		t.Error("a damaged login is stored")
	}
	data, err := store.Load(t.Context(), "k")
	var l struct{ AccessToken string }
	if err != nil || json.Unmarshal(data, &l) != nil || l.AccessToken != "a" {
		t.Errorf("%s, %v", data, err)
	}
	if err := set("", nil); err != nil {
		t.Fatal(err)
	}
	if data, err := store.Load(t.Context(), "k"); data != nil || err != nil {
		t.Errorf("%s, %v", data, err)
	}
}
