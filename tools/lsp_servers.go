package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/toolapi"
)

// A LanguageServer says which files a language server is for and how it is started.
type LanguageServer struct {
	Name    string   `json:"name"`           // for messages
	Command string   `json:"command"`        // a name that is looked up in PATH, or an absolute path
	Args    []string `json:"args,omitempty"` // of the command
	// Extensions are the ends of the names of its files (".go"), each with the
	// language id that the protocol has for it ("go").
	Extensions map[string]string `json:"extensions"`
	// RootMarkers are files that mark the folder which the server works in: the
	// nearest above a file that holds one. Where none does it is the root of the workspace.
	RootMarkers []string        `json:"rootMarkers,omitempty"`
	InitOptions json.RawMessage `json:"initOptions,omitempty"` // the protocol's initializationOptions
	// Env are variables besides the environment of this process, which it gets
	// without secrets (see [workspace.Command]).
	Env     map[string]string `json:"env,omitempty"`
	Install string            `json:"install,omitempty"` // how to install it, for people

	// options, unless nil, makes the InitOptions for the program that was found.
	options func(program string) (json.RawMessage, error)
}

// DefaultLanguageServers returns the language servers that are looked for in PATH. They are
// told to run nothing from a repository: no build scripts, no macros, no TypeScript of its
// own.
func DefaultLanguageServers() []LanguageServer {
	return []LanguageServer{
		{
			Name: "gopls", Command: "gopls",
			Extensions:  map[string]string{".go": "go"},
			RootMarkers: []string{"go.work", "go.mod"},
			InitOptions: json.RawMessage(`{"pullDiagnostics":true}`),
			Install:     "go install golang.org/x/tools/gopls@latest",
		},
		{
			Name: "typescript-language-server", Command: "typescript-language-server", Args: []string{"--stdio"},
			Extensions: map[string]string{
				".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
				".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
			},
			RootMarkers: []string{"tsconfig.json", "jsconfig.json", "package.json"},
			Install:     "npm install -g typescript-language-server typescript@5",
			options:     ownTypeScript,
		},
		{
			Name: "pyright", Command: "pyright-langserver", Args: []string{"--stdio"},
			Extensions:  map[string]string{".py": "python", ".pyi": "python"},
			RootMarkers: []string{"pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"},
			Install:     "npm install -g pyright",
		},
		{
			Name: "rust-analyzer", Command: "rust-analyzer",
			Extensions:  map[string]string{".rs": "rust"},
			RootMarkers: []string{"Cargo.toml", "rust-project.json"},
			InitOptions: json.RawMessage(`{"cargo":{"buildScripts":{"enable":false}},"procMacro":{"enable":false},"checkOnSave":false}`),
			Install:     "rustup component add rust-analyzer",
		},
		{
			Name: "clangd", Command: "clangd", Args: []string{"--background-index=false"}, // its index would be files in the workspace
			Extensions: map[string]string{
				".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
			},
			RootMarkers: []string{"compile_commands.json", "compile_flags.txt", ".clangd"},
			Install:     "apt-get install clangd, or from https://clangd.llvm.org",
		},
	}
}

// ownTypeScript makes the server use the TypeScript that is installed beside it,
// and not that of the workspace, which would be code of the repository's.
func ownTypeScript(program string) (json.RawMessage, error) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, fmt.Errorf("finding TypeScript: %w", err)
	}
	for dir := filepath.Dir(real); filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "typescript", "lib", "tsserver.js")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && filepath.Base(dir) == "node_modules" {
			// The syntax server would answer while the types are not known yet.
			return toolapi.Details(map[string]any{
				"tsserver":                          map[string]string{"path": path, "useSyntaxServer": "never"},
				"disableAutomaticTypingAcquisition": true,
			}), nil
		}
	}
	return nil, errors.New("finding TypeScript: none with a tsserver.js is installed beside typescript-language-server")
}

// language returns the id that the protocol has for the language of a file, ""
// if the server is not for it.
func (s *LanguageServer) language(path string) string {
	return s.Extensions[strings.ToLower(filepath.Ext(path))]
}

// A noServerError tells the model why there is no language server for a file.
type noServerError struct{ text string }

func (e *noServerError) Error() string { return e.text }

// program finds the program of the server. It is not looked for in the workspace, where a
// repository could have put its own.
func (s *LanguageServer) program(place toolapi.Workplace) (string, error) {
	if filepath.IsAbs(s.Command) {
		return s.Command, nil
	}
	install := ""
	if s.Install != "" {
		install = " To install it: " + s.Install
	}
	path, err := exec.LookPath(s.Command)
	if err != nil {
		return "", &noServerError{fmt.Sprintf("%s is not installed.%s", s.Name, install)}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", &noServerError{fmt.Sprintf("%s is not installed.%s", s.Name, install)}
	}
	for _, p := range []string{path, real} {
		if _, err := place.Resolve("", p); err == nil {
			return "", &noServerError{fmt.Sprintf("%s is found in the workspace only (%s), from where no server is started.%s", s.Name, p, install)}
		}
	}
	return path, nil
}

// environment returns the whole environment of the server, nil for the usual one.
func (s *LanguageServer) environment() []string {
	if len(s.Env) == 0 {
		return nil
	}
	return environ.Child(nil, s.Env)
}
