package parts

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/sandbox"
)

// Each setting of the sandbox is a field of its settings, and each field a setting.
func TestSandboxKeys(t *testing.T) {
	var known, fields []string
	for _, k := range config.Keys() {
		if name, ok := strings.CutPrefix(k.Name, SandboxPrefix); ok {
			known = append(known, name)
		}
	}
	var list func(t reflect.Type, prefix string)
	list = func(t reflect.Type, prefix string) {
		for f := range t.Fields() {
			if !f.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "allowUnconfined" {
				name = "failIfUnavailable" // its reverse in settings files
			}
			if f.Type.Kind() == reflect.Struct {
				list(f.Type, prefix+name+".")
				continue
			}
			fields = append(fields, prefix+name)
		}
	}
	list(reflect.TypeFor[sandbox.Settings](), "")
	slices.Sort(known)
	slices.Sort(fields)
	if !slices.Equal(known, fields) {
		t.Errorf("settings %q\nfields %q", known, fields)
	}
}

func TestSandboxSettings(t *testing.T) {
	s, err := config.Load(config.Options{Extra: `{"sandbox":{"enabled":true,"allowedCommands":[],"deniedPaths":["a"],"network":{"allowedDomains":["example.com"]},"filesystem":{"denyRead":["b"]}}}`})
	if err != nil {
		t.Fatal(err)
	}
	got, some, err := SandboxSettings(s)
	want := sandbox.Settings{Enabled: true, AllowUnconfined: true, AllowedCommands: []string{}, DeniedPaths: []string{"a"},
		Network: sandbox.Network{AllowedDomains: []string{"example.com"}}, Filesystem: sandbox.Filesystem{DenyRead: []string{"b"}}}
	if err != nil || !some || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v %v", got, some, err)
	}
	if s, err = config.Load(config.Options{}); err != nil {
		t.Fatal(err)
	}
	if got, some, err = SandboxSettings(s); err != nil || some || got.AllowedCommands != nil {
		t.Errorf("%+v %v %v", got, some, err)
	}
}

// Nothing but managed settings gives the commands of a managed sandbox more memory.
func TestManagedSandboxMemory(t *testing.T) {
	most := sandbox.DefaultMemory() >> 20
	for _, c := range []struct {
		managed, user string
		want          int
	}{
		{`{"sandbox":{"enabled":true}}`, `{"sandbox":{"memoryMB":1000000}}`, most},
		{`{"sandbox":{"enabled":true}}`, `{"sandbox":{"memoryMB":64}}`, 64},
		{`{"sandbox":{"enabled":true}}`, `{}`, 0},
		{`{"sandbox":{"enabled":true,"memoryMB":1000000}}`, `{}`, 1000000},
		{`{}`, `{"sandbox":{"enabled":true,"memoryMB":1000000}}`, 1000000},
	} {
		managed := filepath.Join(t.TempDir(), "managed.json")
		if err := os.WriteFile(managed, []byte(c.managed), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := config.Load(config.Options{Managed: managed, Extra: c.user})
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := SandboxSettings(s); err != nil || got.MemoryMB != c.want {
			t.Errorf("%s, %s: %d MB, want %d (%v)", c.managed, c.user, got.MemoryMB, c.want, err)
		}
	}
}
