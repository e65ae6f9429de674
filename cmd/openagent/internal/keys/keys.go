// Package keys stores the API keys of providers, as "openagent auth login" does. A key is in the
// keyring of the system, or in a file that only its owner can read:
//
//	store, err := keys.Open(h)
//	place, err := store.Set(ctx, "anthropic", key, keys.Anywhere)
//	key, place, err := store.Get("anthropic")
//
// The file also lists which keys are in the keyring. Without an entry, the keyring is not asked.
package keys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/providers"
)

// A Place says where a key is.
type Place string

// The places of keys.
const (
	Anywhere Place = ""             // for Set: the keyring if there is one, else the file
	Keyring  Place = "keyring"      // the keyring of the system
	File     Place = parts.KeysName // the file in the user's folder
)

const (
	maxFile = 1 << 20 // bytes
	maxKey  = 8 << 10 // bytes of a key
)

// A Store holds keys by the names of providers. Several programs may use it at once.
type Store struct {
	path string
	ring ring
}

// Open returns the keys of the user. It reads nothing.
func Open(h *cli.IO) (*Store, error) {
	home, err := h.Home()
	if err != nil {
		return nil, err
	}
	return &Store{filepath.Join(home, parts.KeysName), systemRing{"openagent " + home}}, nil
}

// An entry is a provider's in the file.
type entry struct {
	Key     string `json:"key,omitempty"`
	Keyring bool   `json:"keyring,omitempty"` // the keyring has the key
}

// NameOf returns the name under which the key of a provider is stored: APIs of one vendor share it.
// It is "" for providers without API keys.
func NameOf(provider string) string {
	switch {
	case provider == providers.ResponsesName:
		return providers.OpenAIName
	case providers.IsPlatform(provider), provider == providers.DemoName:
		return ""
	}
	return provider
}

// Providers lists the providers whose keys can be stored.
func Providers() []string {
	var names []string
	for _, name := range providers.Names {
		if NameOf(name) == name {
			names = append(names, name)
		}
	}
	return names
}

// Check returns an error unless a text can be a key. The error does not quote it.
func Check(key string) error {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case key == "":
		return errors.New("the key is empty")
	case len(key) > maxKey:
		return fmt.Errorf("the key is longer than %d bytes; paste only the key", maxKey)
	case strings.ContainsFunc(key, odd):
		return errors.New("the key contains a blank, a line break or a character that is not ASCII; paste only the key")
	}
	return nil
}

// Get returns the key of a provider and its place. Without one, key is "".
func (s *Store) Get(provider string) (key string, place Place, err error) {
	all, err := s.read()
	if err != nil {
		return "", "", err
	}
	name := NameOf(provider)
	e, ok := all[name]
	switch {
	case !ok:
		return "", "", nil
	case e.Keyring:
		key, err := s.ring.get(name)
		if err != nil {
			return "", "", fmt.Errorf("reading the key of %s from the keyring: %w; unlock the keyring, or store the key again with openagent auth login %[1]s", name, err)
		}
		return key, Keyring, nil
	}
	return e.Key, File, nil
}

// List returns the providers that have a key.
func (s *Store) List() ([]string, error) {
	all, err := s.read()
	return slices.Sorted(maps.Keys(all)), err
}

// Set stores the key of a provider and returns its place. It leaves no copy in another place.
func (s *Store) Set(ctx context.Context, provider, key string, in Place) (Place, error) {
	if err := Check(key); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return "", fmt.Errorf("storing the key: %w", err)
	}
	name := NameOf(provider)
	before, err := s.read()
	if err != nil {
		return "", err
	}
	stored := entry{Key: key}
	if in != File && s.ring.available() && s.ring.set(name, key) == nil {
		stored = entry{Keyring: true}
	} else if before[name].Keyring {
		if err := s.ring.remove(name); err != nil {
			return "", fmt.Errorf("removing the old key of %s from the keyring: %w; unlock the keyring", name, err)
		}
	}
	err = s.update(ctx, func(all map[string]entry) { all[name] = stored })
	if stored.Keyring {
		return Keyring, err
	}
	return File, err
}

// Remove removes the key of a provider. It reports whether there was one.
func (s *Store) Remove(ctx context.Context, provider string) (bool, error) {
	before, err := s.read()
	name := NameOf(provider)
	e, had := before[name]
	if err != nil || !had {
		return false, err
	}
	if e.Keyring {
		if err := s.ring.remove(name); err != nil {
			return false, fmt.Errorf("removing the key of %s from the keyring: %w; unlock the keyring", name, err)
		}
	}
	return true, s.update(ctx, func(all map[string]entry) { delete(all, name) })
}

// read reads the file. It refuses one that other users may read.
func (s *Store) read() (map[string]entry, error) {
	info, err := os.Lstat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; remove it and log in again", s.path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("other users may read or change %s; run chmod 600 on it, and replace the keys if others use this machine", s.path)
	}
	data, err := plainfile.ReadFile(s.path, maxFile)
	if err != nil {
		return nil, err
	}
	return s.decode(data)
}

func (s *Store) decode(data []byte) (map[string]entry, error) {
	all := map[string]entry{}
	if len(data) == 0 {
		return all, nil
	}
	if json.Unmarshal(data, &all) != nil || all == nil { // the error might quote a key
		return nil, fmt.Errorf("%s is damaged; remove it and log in again", s.path)
	}
	return all, nil
}

// update changes the file under its lock.
func (s *Store) update(ctx context.Context, change func(map[string]entry)) error {
	return config.Update(ctx, s.path, 0o600, func(old []byte) ([]byte, error) {
		all, err := s.decode(old)
		if err != nil {
			return nil, err
		}
		change(all)
		data, err := json.MarshalIndent(all, "", "  ")
		return append(data, '\n'), err
	})
}
