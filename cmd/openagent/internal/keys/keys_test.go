package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zalando/go-keyring"
)

func newStore(t *testing.T, r ring) *Store {
	t.Helper()
	return &Store{filepath.Join(t.TempDir(), "home", "keys.json"), r}
}

// noRing is a system without a keyring.
type noRing struct{}

func (noRing) available() bool            { return false }
func (noRing) get(string) (string, error) { return "", errors.New("no keyring") }
func (noRing) set(string, string) error   { return errors.New("no keyring") }
func (noRing) remove(string) error        { return errors.New("no keyring") }

// forced is a keyring that looks available although the system has none.
type forced struct{ systemRing }

func (forced) available() bool { return true }

func (r forced) get(name string) (string, error) { return keyring.Get(r.service, name) }
func (r forced) remove(name string) error        { return keyring.Delete(r.service, name) }

// Without a keyring a key is in a file of mode 0600.
func TestFile(t *testing.T) {
	s := newStore(t, noRing{})
	if key, place, err := s.Get("anthropic"); key != "" || place != "" || err != nil {
		t.Fatal(key, place, err)
	}
	if place, err := s.Set(t.Context(), "anthropic", "sk-1", Anywhere); place != File || err != nil {
		t.Fatal(place, err)
	}
	if _, err := s.Set(t.Context(), "openai-responses", "sk-2", Anywhere); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	for _, provider := range []string{"openai", "openai-responses"} { // one vendor, one key
		if key, place, err := s.Get(provider); key != "sk-2" || place != File || err != nil {
			t.Error(provider, key, place, err)
		}
	}
	if had, err := s.Remove(t.Context(), "openai"); !had || err != nil {
		t.Error(had, err)
	}
	if had, err := s.Remove(t.Context(), "openai"); had || err != nil {
		t.Error(had, err)
	}
	if names, err := s.List(); !slices.Equal(names, []string{"anthropic"}) || err != nil {
		t.Error(names, err)
	}
}

// With a keyring the file only names the provider. A key that moves leaves no copy.
func TestKeyring(t *testing.T) {
	keyring.MockInit()
	s := newStore(t, forced{systemRing{"openagent test"}})
	if place, err := s.Set(t.Context(), "anthropic", "sk-1", Anywhere); place != Keyring || err != nil {
		t.Fatal(place, err)
	}
	if data, err := os.ReadFile(s.path); err != nil || strings.Contains(string(data), "sk-1") {
		t.Errorf("%s, %v", data, err)
	}
	if key, place, err := s.Get("anthropic"); key != "sk-1" || place != Keyring || err != nil {
		t.Error(key, place, err)
	}
	if place, err := s.Set(t.Context(), "anthropic", "sk-2", File); place != File || err != nil {
		t.Fatal(place, err)
	}
	if key, err := keyring.Get("openagent test", "anthropic"); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the keyring still has %q, %v", key, err)
	}
	if _, err := s.Set(t.Context(), "anthropic", "sk-3", Anywhere); err != nil {
		t.Fatal(err)
	}
	if had, err := s.Remove(t.Context(), "anthropic"); !had || err != nil {
		t.Error(had, err)
	}
	if _, err := keyring.Get("openagent test", "anthropic"); !errors.Is(err, keyring.ErrNotFound) {
		t.Error(err)
	}
	keyring.MockInitWithError(errors.New("locked"))
	if place, err := s.Set(t.Context(), "anthropic", "sk-4", Anywhere); place != File || err != nil {
		t.Error("a keyring that fails:", place, err)
	}
}

// A file that others can read, that is damaged or no file at all gives no key.
func TestBadFiles(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"readable": func(path string) error { return os.Chmod(path, 0o644) },
		"damaged":  func(path string) error { return os.WriteFile(path, []byte(`{"anthropic": sk-1`), 0o600) },
		"null":     func(path string) error { return os.WriteFile(path, []byte(`null`), 0o600) },
		"folder":   func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"link": func(path string) error {
			return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path))
		},
	} {
		if runtime.GOOS == "windows" && (name == "readable" || name == "link") {
			continue
		}
		s := newStore(t, noRing{})
		if _, err := s.Set(t.Context(), "anthropic", "sk-1", Anywhere); err != nil {
			t.Fatal(err)
		}
		if err := spoil(s.path); err != nil {
			t.Fatal(err)
		}
		key, _, err := s.Get("anthropic")
		if key != "" || err == nil || strings.Contains(err.Error(), "sk-1") {
			t.Errorf("%s: %q, %v", name, key, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, key := range []string{"", "a b", "a\nb", "schlüssel", "a\x00", strings.Repeat("k", 9000)} {
		if err := Check(key); err == nil || len(key) > 3 && strings.Contains(err.Error(), key) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if err := Check("sk-ant-api03-AbC_123="); err != nil {
		t.Error(err)
	}
}

// Several programs may store keys at once.
func TestAtOnce(t *testing.T) {
	s := newStore(t, noRing{})
	var wg sync.WaitGroup
	for _, provider := range Providers() {
		wg.Go(func() {
			other := &Store{s.path, noRing{}}
			if _, err := other.Set(context.Background(), provider, "key-of-"+provider, Anywhere); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, provider := range Providers() {
		if key, _, err := s.Get(provider); err != nil || key != fmt.Sprintf("key-of-%s", provider) {
			t.Errorf("%s: %q, %v", provider, key, err)
		}
	}
}
