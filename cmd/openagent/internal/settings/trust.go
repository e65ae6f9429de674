package settings

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/customtools"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/trusted"
)

// ReadTrust reads the list of what the user trusts. If it cannot be read, ReadTrust returns an error
// and an empty list.
func ReadTrust(h *cli.IO) (trusted.List, error) {
	home, err := h.Home()
	if err != nil {
		return trusted.List{}, err
	}
	l, err := trusted.Read(home)
	if err != nil {
		return l, cli.Usagef("%w", err)
	}
	return l, nil
}

// ChangeTrust changes the list of what the user trusts.
func ChangeTrust(ctx context.Context, h *cli.IO, change func(trusted.List)) error {
	home, err := h.Home()
	if err != nil {
		return err
	}
	if err := trusted.Change(ctx, home, change); err != nil {
		return cli.Usagef("%w", err)
	}
	return nil
}

// trustsFile reports whether a settings file is trusted in its current state.
func trustsFile(h *cli.IO, f config.File) bool {
	t, err := ReadTrust(h)
	if err != nil {
		h.Warn("%v", err)
		return false
	}
	known, ok := t.Files[f.Place()]
	return ok && known.Sum == f.Sum
}

// TrustFiles records settings files as trusted in their current state.
func TrustFiles(ctx context.Context, h *cli.IO, files []config.File) error {
	return ChangeTrust(ctx, h, func(t trusted.List) {
		for _, f := range files {
			t.Files[f.Place()] = trusted.File{Sum: f.Sum, Since: trusted.Now()}
		}
	})
}

// TrustChange keeps a project's settings file trusted after openagent config set, if the file is
// new or was trusted before.
func TrustChange(ctx context.Context, h *cli.IO, f config.File, c config.Change) error {
	was := f
	was.Sum = c.Before
	if c.Before != "" && !trustsFile(h, was) {
		return nil
	}
	f.Sum = c.After
	return TrustFiles(ctx, h, []config.File{f})
}

// offerSettings asks the user about project settings files that need trust. It reports whether the
// user trusted one.
func offerSettings(ctx context.Context, h *cli.IO, s *config.Settings) (changed bool, err error) {
	for _, f := range s.Files() {
		needs := s.Needs(f)
		if len(needs) == 0 {
			continue
		}
		yes, err := AskOnce(h, "settings", f.Path, f.Sum, func() (bool, error) {
			if _, err := fmt.Fprintf(h.Err, "The settings file %s of this project has settings that need your trust:\n%s", h.Visible(f.Path), NeedLines(h, needs)); err != nil {
				return false, err
			}
			return Confirm(ctx, h, "Do you trust them, as they are now? [y/N] ")
		})
		if err != nil {
			return changed, err
		}
		if !yes {
			continue
		}
		if err := TrustFiles(ctx, h, []config.File{f}); err != nil {
			return changed, err
		}
		changed = true
	}
	return changed, nil
}

// AskOnce asks the user about a source in the state that sum stands for. After a no, it does not ask
// again in this process. A source without a sum cannot be told from another state of it.
func AskOnce(h *cli.IO, kind, path, sum string, ask func() (bool, error)) (bool, error) {
	key := [...]string{kind, path, sum}
	if _, refused := h.Distrusted.Load(key); refused {
		return false, nil
	}
	yes, err := ask()
	if err == nil && !yes && sum != "" {
		h.Distrusted.Store(key, true)
	}
	return yes, err
}

// NeedLines lists the settings of a project's file that need trust. Settings that run programs come
// first.
func NeedLines(h *cli.IO, needs []config.Need) string {
	var b strings.Builder
	for _, runs := range []bool{true, false} {
		for _, n := range needs {
			if n.Runs() != runs {
				continue
			}
			for _, line := range n.Lines() {
				fmt.Fprintf(&b, "  %s\n", h.Visible(line))
			}
		}
	}
	return Lookalikes(h, b.String())
}

// Lookalikes returns a text of a question about trust, and below it a line for each of its words
// that look like others.
func Lookalikes(h *cli.IO, text string) string {
	var b strings.Builder
	b.WriteString(text)
	for _, word := range terminal.Lookalikes(text) {
		fmt.Fprintf(&b, "! it is not what it looks like: %s\n", h.Visible(word))
	}
	return b.String()
}

// TrustTools records a folder as trusted in its current state.
func TrustTools(ctx context.Context, h *cli.IO, l customtools.Listing) error {
	return ChangeTrust(ctx, h, func(t trusted.List) {
		t.Folders[l.Dir] = trusted.Folder{Sum: l.Sum, Files: l.Files, Since: trusted.Now()}
	})
}

// OfferTools asks the user about a folder of tools that is not trusted.
func OfferTools(ctx context.Context, h *cli.IO, l customtools.Listing) (bool, error) {
	if _, err := fmt.Fprintf(h.Err, "The folder %s holds tools that the agent could run as programs:\n%s", h.OneLine(l.Dir), FileList(h, l)); err != nil {
		return false, err
	}
	yes, err := Confirm(ctx, h, "Do you trust them, as they are now? [y/N] ")
	if err != nil || !yes {
		return false, err
	}
	return true, TrustTools(ctx, h, l)
}

// FileList lists the files of a tool folder.
func FileList(h *cli.IO, l customtools.Listing) string {
	var b strings.Builder
	for _, name := range l.Files {
		fmt.Fprintf(&b, "  %s\n", h.OneLine(name))
	}
	return b.String()
}

// Confirm asks a question on the terminal. Any answer but yes is no. It reads stdin up to the end
// of the line and no further.
func Confirm(ctx context.Context, h *cli.IO, question string) (bool, error) {
	h.DiscardInput()
	answer, err := h.AskLine(ctx, question)
	if ctx.Err() != nil {
		fmt.Fprintln(h.Err)
		return false, cli.ExitCode(cli.SignalCode(ctx))
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", err
}

// ToolFolders returns the tool folders of a project or a plugin. Any other folder counts as a tool
// folder itself.
func ToolFolders(h *cli.IO, dir string, known bool) ([]customtools.Listing, error) {
	var out []customtools.Listing
	for _, path := range []string{filepath.Join(dir, ".openagent", "tools"), filepath.Join(dir, "tools"), dir} {
		if path == dir && (known || len(out) > 0) {
			continue
		}
		l, err := customtools.List(path)
		if err != nil {
			return nil, cli.Usagef("trust add: %s: %w", path, err)
		}
		for _, err := range l.Refused {
			h.Warn("%v", err)
		}
		if len(l.Files) > 0 {
			out = append(out, l)
		}
	}
	return out, nil
}
