package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/tools/custom"
)

// Trusted is the content of trust.json: the folders, by real path, and settings files of projects
// and plugins that the user trusts.
type Trusted struct {
	Folders map[string]TrustedFolder `json:"folders"`
	Files   map[string]TrustedFile   `json:"files,omitempty"`
	Skills  map[string]TrustedFolder `json:"skills,omitempty"` // skill folders
	Plugins map[string]TrustedFolder `json:"plugins,omitempty"`
}

// A TrustedFolder records the trusted state of a folder. If a file changes, appears or disappears,
// the user has to trust the folder again.
type TrustedFolder struct {
	Sum   string    `json:"sum"`
	Files []string  `json:"files"`
	Since time.Time `json:"since"`
}

// A TrustedFile records the trusted state of a file.
type TrustedFile struct {
	Sum   string    `json:"sum"`
	Since time.Time `json:"since"`
}

const maxTrust = 1 << 20 // maximum bytes of trust.json

func trustFile(h *cli.IO) (string, error) {
	home, err := h.Home()
	return filepath.Join(home, "trust.json"), err
}

func decodeTrust(data []byte) (Trusted, error) {
	var t Trusted
	if data != nil {
		if err := json.Unmarshal(data, &t); err != nil {
			return Trusted{}, err
		}
	}
	if t.Folders == nil {
		t.Folders = map[string]TrustedFolder{}
	}
	if t.Files == nil {
		t.Files = map[string]TrustedFile{}
	}
	if t.Skills == nil {
		t.Skills = map[string]TrustedFolder{}
	}
	if t.Plugins == nil {
		t.Plugins = map[string]TrustedFolder{}
	}
	return t, nil
}

// ReadTrust reads trust.json. If it cannot be read, ReadTrust returns an error and trusts nothing.
func ReadTrust(h *cli.IO) (Trusted, error) {
	file, err := trustFile(h)
	if err != nil {
		return Trusted{}, err
	}
	var data []byte
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		if data, err = ReadFile(file, maxTrust); err != nil {
			return Trusted{}, badTrust(file, err)
		}
	}
	t, err := decodeTrust(data)
	if err != nil {
		return Trusted{}, badTrust(file, err)
	}
	return t, nil
}

func badTrust(file string, err error) error {
	return cli.Usagef("reading the list of trusted files %s: %w; correct or remove the file", file, err)
}

// ChangeTrust changes trust.json. The replacement is atomic, and concurrent changes are all kept.
func ChangeTrust(ctx context.Context, h *cli.IO, change func(t Trusted)) error {
	file, err := trustFile(h)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return cli.Usagef("writing %s: %w", file, err)
	}
	err = config.Update(ctx, file, 0o600, func(old []byte) ([]byte, error) {
		t, err := decodeTrust(old)
		if err != nil {
			return nil, badTrust(file, err)
		}
		change(t)
		data, err := json.MarshalIndent(t, "", "  ")
		return append(data, '\n'), err
	})
	if err != nil {
		return cli.Usagef("writing %s: %w", file, err)
	}
	return nil
}

// TrustTime returns the current time in the format of trust.json.
func TrustTime() time.Time { return time.Now().UTC().Truncate(time.Second) }

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
	return ChangeTrust(ctx, h, func(t Trusted) {
		for _, f := range files {
			t.Files[f.Place()] = TrustedFile{f.Sum, TrustTime()}
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
		if _, err := fmt.Fprintf(h.Err, "The settings file %s of this project has settings that need your trust:\n%s", h.Visible(f.Path), NeedLines(h, needs)); err != nil {
			return changed, err
		}
		yes, err := Confirm(ctx, h, "Do you trust them, as they are now? [y/N] ")
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
	return b.String()
}

// TrustsTools reports whether a folder is trusted in its current state.
func TrustsTools(h *cli.IO, l custom.Listing) bool {
	t, err := ReadTrust(h)
	if err != nil {
		h.Warn("%v", err)
		return false
	}
	f, ok := t.Folders[l.Dir]
	return ok && f.Sum == l.Sum
}

// TrustTools records a folder as trusted in its current state.
func TrustTools(ctx context.Context, h *cli.IO, l custom.Listing) error {
	return ChangeTrust(ctx, h, func(t Trusted) {
		t.Folders[l.Dir] = TrustedFolder{Sum: l.Sum, Files: l.Files, Since: TrustTime()}
	})
}

// OfferTrust asks the user about the folders that are not trusted. After a no it asks again the
// next time.
func OfferTrust(ctx context.Context, h *cli.IO, folders []custom.Folder) error {
	for _, f := range folders {
		l, err := custom.List(f.Path)
		if f.Trusted || err != nil || len(l.Files) == 0 || TrustsTools(h, l) {
			continue // loading the tools reports read errors
		}
		if _, err := fmt.Fprintf(h.Err, "The folder %s holds tools that the agent could run as programs:\n%s", h.OneLine(l.Dir), FileList(h, l)); err != nil {
			return err
		}
		yes, err := Confirm(ctx, h, "Do you trust them, as they are now? [y/N] ")
		if err != nil {
			return err
		}
		if !yes {
			continue
		}
		if err := TrustTools(ctx, h, l); err != nil {
			return err
		}
	}
	return nil
}

// FileList lists the files of a tool folder.
func FileList(h *cli.IO, l custom.Listing) string {
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
	if _, err := fmt.Fprint(h.Err, question); err != nil {
		return false, err
	}
	said := make(chan string, 1)
	go func() { // if ctx ends first, this goroutine keeps reading until the program ends
		var line []byte
		var b [1]byte
		for len(line) < 1000 {
			if n, err := h.In.Read(b[:]); n == 0 && err != nil || n > 0 && b[0] == '\n' {
				break
			} else if n > 0 {
				line = append(line, b[0])
			}
		}
		said <- strings.ToLower(strings.TrimSpace(string(line)))
	}()
	select {
	case answer := <-said:
		return answer == "y" || answer == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(h.Err)
		return false, cli.ExitCode(cli.SignalCode(ctx))
	}
}

// ToolFolders returns the tool folders of a project or a plugin. Any other folder counts as a tool
// folder itself.
func ToolFolders(h *cli.IO, dir string, known bool) ([]custom.Listing, error) {
	var out []custom.Listing
	for _, path := range []string{filepath.Join(dir, ".openagent", "tools"), filepath.Join(dir, "tools"), dir} {
		if path == dir && (known || len(out) > 0) {
			continue
		}
		l, err := custom.List(path)
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
