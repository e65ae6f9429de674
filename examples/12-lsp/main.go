// Lsp asks a language server where a name is defined. It also shows the answer if no server is
// installed.
//
// Run it with: go run ./examples/12-lsp
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

var files = map[string]string{
	"go.mod":    "module example.com/shapes\n\ngo 1.21\n",
	"square.go": "package shapes\n\n// Square has equal sides.\ntype Square struct{ Side float64 }\n\n// Area is the side squared.\nfunc (s Square) Area() float64 { return s.Side * s.Side }\n",
	"circle.go": "package shapes\n\n// Circle is round.\ntype Circle struct{ Radius float64 }\n\n// Area is about three radii squared.\nfunc (c Circle) Area() float64 { return 3.14 * c.Radius * c.Radius }\n",
	"sum.go":    "package shapes\n\nfunc both(s Square, c Circle) float64 { return s.Area() + c.Area() }\n",
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "lsp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	languages := tools.NewLanguages(ws, nil) // those that are known; each is started when it is first asked
	defer func() { err = errors.Join(err, languages.Close()) }()

	a := &agent.Agent{
		Model:       model(),
		Tools:       []tool.Tool{tools.LSP(languages)},
		Dir:         dir,
		Permissions: permission.Policy{Allow: []permission.Rule{"LSP(gopls *)"}}, // a server is a program that is started
		Hooks: []hook.Hook{{On: hook.PostToolUse, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			fmt.Fprintln(out, strings.TrimSpace(in.Result.Text()))
			return hook.Output{}, nil
		}}},
	}
	res, err := a.Prompt(ctx, "Where is Circle declared, and who uses Square?")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text)
	return nil
}
