package firstrun

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

// stranger returns the IO of a user without settings, keys, keyring and variables, in an empty folder.
func stranger(t *testing.T) (h *cli.IO, home string) {
	t.Helper()
	home = filepath.Join(t.TempDir(), "home")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Chdir(t.TempDir())
	variables := map[string]string{"OPENAGENT_HOME": home}
	return &cli.IO{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer), Getenv: func(name string) string { return variables[name] }}, home
}

// open returns the provider of a run that begins now.
func open(t *testing.T, h *cli.IO) provider.Provider {
	t.Helper()
	dir, err := settings.WorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	o, err := settings.Configure(t.Context(), h, new(settings.Options), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := provider.Open(h, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSaveKey(t *testing.T) {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("the key would go into the keyring of this machine")
	}
	h, home := stranger(t)
	if name, ok := provider.Keyless(open(t, h).MissingKey()); !ok || name != "anthropic" {
		t.Error(name, ok)
	}
	said, err := SaveKey(t.Context(), h, "openai", "  sk-test-1\n", "")
	if err != nil || !strings.Contains(said, filepath.Join(home, "keys.json")+", which only you can read") || strings.Contains(said, "sk-test") {
		t.Fatal(said, err)
	}
	if p := open(t, h); p.Name.Value != "openai" || p.Key.Value != "sk-test-1" || p.Model.Value == "" {
		t.Errorf("%s, %s, %s", p.Name.Value, p.Key.Value, p.Model.Value)
	}
	if info, err := os.Stat(filepath.Join(home, "keys.json")); err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
		t.Error(info.Mode(), err)
	}
	if data, err := os.ReadFile(filepath.Join(home, "settings.json")); err != nil || strings.Contains(string(data), "sk-test") {
		t.Errorf("%s %v", data, err)
	}
	if _, err := SaveKey(t.Context(), h, "deepseek", "sk-test-2", "deepseek-chat"); err != nil {
		t.Fatal(err)
	}
	if p := open(t, h); p.Name.Value != "deepseek" || p.Key.Value != "sk-test-2" || p.Model.Value != "deepseek-chat" {
		t.Errorf("%s, %s, %s", p.Name.Value, p.Key.Value, p.Model.Value)
	}
	if !strings.Contains(strings.Join(h.Secrets, " "), "sk-test-2") {
		t.Error("the key could be shown")
	}
}

func TestRefused(t *testing.T) {
	h, home := stranger(t)
	s := Server{Provider: "ollama", Title: "Ollama", BaseURL: "http://localhost:11434/v1", Models: []string{"qwen3:8b"}}
	for want, do := range map[string]func() (string, error){
		"no default model":        func() (string, error) { return SaveKey(t.Context(), h, "deepseek", "sk-test-1", "") },
		"the key is empty":        func() (string, error) { return SaveKey(t.Context(), h, "openai", " ", "") },
		"contains a blank":        func() (string, error) { return SaveKey(t.Context(), h, "openai", "two words", "") },
		"did you mean anthropic?": func() (string, error) { return SaveKey(t.Context(), h, "antropic", "sk-test-1", "") },
		"the command is empty":    func() (string, error) { return SaveKeyCommand(t.Context(), h, " ") },
		"the key command: ":       func() (string, error) { return SaveKeyCommand(t.Context(), h, "exit 3") },
		"did you mean qwen3:8b?":  func() (string, error) { return UseServer(t.Context(), h, s, "qwen3:9b") },
	} {
		said, err := do()
		if err == nil || !strings.Contains(err.Error(), want) || said != "" {
			t.Errorf("%s: %q, %v", want, said, err)
		}
	}
	if entries, err := os.ReadDir(home); err == nil && len(entries) > 0 {
		t.Errorf("something was kept: %v", entries)
	}
}

func TestSaveKeyCommand(t *testing.T) {
	h, home := stranger(t)
	said, err := SaveKeyCommand(t.Context(), h, "echo sk-test-3")
	if err != nil || !strings.Contains(said, filepath.Join(home, "settings.json")) || strings.Contains(said, "sk-test") {
		t.Fatal(said, err)
	}
	p := open(t, h)
	if key, err := p.Helper(t.Context()); err != nil || key != "sk-test-3" {
		t.Error(key, err)
	}
}

func TestUseServer(t *testing.T) {
	h, _ := stranger(t)
	for base, want := range map[string]string{"http://localhost:11434/v1": "http://localhost:11434/v1", "http://localhost:9999/v1": "http://localhost:9999/v1"} {
		s := Server{Provider: "ollama", Title: "Ollama", BaseURL: base, Models: []string{"llama3.3:70b", "qwen3:8b"}}
		if said, err := UseServer(t.Context(), h, s, "qwen3:8b"); err != nil || !strings.Contains(said, "Ollama with qwen3:8b") {
			t.Fatal(said, err)
		}
		if p := open(t, h); p.Name.Value != "ollama" || p.Model.Value != "qwen3:8b" || p.BaseURL.Value != want {
			t.Errorf("%s, %s, %s", p.Name.Value, p.Model.Value, p.BaseURL.Value)
		}
	}
}

func TestProviders(t *testing.T) {
	all := Providers()
	if all[0] != (Provider{"anthropic", "Anthropic", "ANTHROPIC_API_KEY", all[0].Model}) || all[0].Model == "" || all[1].Variable != "OPENAI_API_KEY" {
		t.Errorf("%+v", all[:2])
	}
	for _, p := range all {
		if p.Title == "" || p.Variable == "" || p.Name == "ollama" || p.Name == "azure" {
			t.Errorf("%+v", p)
		}
	}
	for _, s := range KnownServers() {
		if s.Title == "" {
			t.Errorf("%+v has no title", s)
		}
	}
}
