package toolapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
)

// A Setting describes a setting that [Config] offers.
type Setting struct {
	Key string
	// Type is the JSON type of values: "string", "boolean", "integer", "number",
	// "array" or "object"; "" is any.
	Type        string
	Default     json.RawMessage // the value if none is set; nil: null
	Description string          // a line for the model
	// Check, if not nil, returns the mistake in a value of the right type.
	Check func(value json.RawMessage) error
}

// A SettingValue is the value of a setting, with its origin.
type SettingValue struct {
	Value  json.RawMessage `json:"value"`
	Source string          `json:"source"` // FromDefault, FromUserFile, FromProjectFile, or a flag and the like
}

// Sources of values.
const (
	FromDefault     = "default"
	FromUserFile    = "user file"
	FromProjectFile = "project file"
)

// Settings are the settings that [Config] works on. They are safe for concurrent use.
type Settings interface {
	// Known lists the settings in a fixed order.
	Known() []Setting
	// Get returns the value that counts. The key is that of a known setting.
	Get(key string) (SettingValue, error)
	// Set keeps a value that the setting accepts; nil forgets it.
	Set(key string, value json.RawMessage) error
}

// Accepts returns the mistake in a value, nil if there is none.
func (s Setting) Accepts(value json.RawMessage) error {
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("it is more than one JSON value")
	}
	if is := jsonType(v); s.Type != "" && is != s.Type && (is != "integer" || s.Type != "number") {
		return fmt.Errorf("it must be of type %s, not %s", s.Type, is)
	}
	if s.Check != nil {
		return s.Check(value)
	}
	return nil
}

// Repaired returns the value that is in a text, where the setting has a type: models
// write "true" for true, and "\"opus\"" for "opus".
func (s Setting) Repaired(value json.RawMessage) json.RawMessage {
	var text string
	if s.Type == "" || json.Unmarshal(value, &text) != nil {
		return value
	}
	inside := json.RawMessage(strings.TrimSpace(text))
	quoted := s.Type == "string" && bytes.HasPrefix(inside, []byte(`"`)) && json.Valid(inside)
	if quoted || s.Accepts(inside) == nil {
		return inside
	}
	return value
}

// CompactJSON returns v, which is valid, in one line.
func CompactJSON(v json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return v
	}
	return b.Bytes()
}

func jsonType(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// MaxSettingsFile is how many bytes a file of settings may have.
const MaxSettingsFile = 1 << 20

// A SettingsFile keeps settings in a file of the user: a JSON object with a
// member for each. It keeps members that it does not know. Processes that change
// it at the very same moment may lose one of the changes, never the file. Its
// fields must not change after the first use.
type SettingsFile struct {
	Path     string // where Set writes; made with its folder if need be, with mode 0600
	Settings []Setting
	// Project, unless empty, is a file whose values count before those of Path.
	// It is only read; one that is not there is empty.
	Project string
	// Fixed are values that count before those of both files, by key, such as
	// those of flags.
	Fixed map[string]SettingValue

	mu sync.Mutex
}

// Known implements [Settings].
func (f *SettingsFile) Known() []Setting { return f.Settings }

// Get implements [Settings]. A value that the setting does not accept is an
// error that names its file.
func (f *SettingsFile) Get(key string) (SettingValue, error) {
	s, err := f.find(key)
	if err != nil {
		return SettingValue{}, err
	}
	if v, ok := f.Fixed[key]; ok {
		return v, nil
	}
	for _, file := range []struct{ path, source string }{{f.Project, FromProjectFile}, {f.Path, FromUserFile}} {
		if file.path == "" {
			continue
		}
		members, err := ReadSettings(file.path)
		if err != nil {
			return SettingValue{}, err
		}
		v, ok := members[key]
		if !ok || IsNull(v) {
			continue
		}
		if err := s.Accepts(v); err != nil {
			return SettingValue{}, fmt.Errorf("reading the setting %s in %s: %w", key, file.path, err)
		}
		return SettingValue{CompactJSON(v), file.source}, nil
	}
	if s.Default == nil {
		return SettingValue{json.RawMessage("null"), FromDefault}, nil
	}
	return SettingValue{s.Default, FromDefault}, nil
}

// Set implements [Settings].
func (f *SettingsFile) Set(key string, value json.RawMessage) error {
	s, err := f.find(key)
	if err != nil {
		return err
	}
	if value != nil {
		if err := s.Accepts(value); err != nil {
			return fmt.Errorf("setting %s: %w", key, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	members, err := ReadSettings(f.Path)
	if err != nil {
		return err
	}
	if value == nil {
		delete(members, key)
	} else {
		members[key] = value
	}
	return writeSettings(f.Path, members)
}

func (f *SettingsFile) find(key string) (Setting, error) {
	for _, s := range f.Settings {
		if s.Key == key {
			return s, nil
		}
	}
	return Setting{}, fmt.Errorf("there is no setting %q", key)
}

// ReadSettings returns the members of a file, none if there is no file.
func ReadSettings(path string) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	data, err := readBounded(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return members, nil
	case err == nil:
		err = json.Unmarshal(data, &members)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the settings in %s: %w", path, err)
	}
	if members == nil { // the file holds null
		members = map[string]json.RawMessage{}
	}
	return members, nil
}

func readBounded(path string) ([]byte, error) {
	return plainfile.ReadFile(path, MaxSettingsFile)
}

// writeSettings replaces the file; it is never seen half-written.
func writeSettings(path string, members map[string]json.RawMessage) error {
	data, err := json.MarshalIndent(members, "", "  ")
	if err == nil && len(data) >= MaxSettingsFile {
		err = fmt.Errorf("they would have more than %d bytes", MaxSettingsFile)
	}
	if err != nil {
		return fmt.Errorf("writing the settings in %s: %w", path, err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	err = os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = safefile.Replacement{}.Bytes(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing the settings in %s: %w", path, err)
	}
	return nil
}

func IsNull(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) == "null" }
