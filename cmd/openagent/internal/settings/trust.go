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

// Trusted is what of projects and plugins counts, as trust.json holds it: folders
// whose tools may run, by their real path, and files of settings.
type Trusted struct {
	Folders map[string]TrustedFolder `json:"folders"`
	Files   map[string]TrustedFile   `json:"files,omitempty"`
	Skills  map[string]TrustedFolder `json:"skills,omitempty"` // folders of skills
	Plugins map[string]TrustedFolder `json:"plugins,omitempty"`
}

// A TrustedFolder is trusted as it was: with a file that is changed, new or gone
// it has to be trusted again.
type TrustedFolder struct {
	Sum   string    `json:"sum"`
	Files []string  `json:"files"`
	Since time.Time `json:"since"`
}

// A TrustedFile is trusted as it was.
type TrustedFile struct {
	Sum   string    `json:"sum"`
	Since time.Time `json:"since"`
}

const maxTrust = 1 << 20 // bytes of trust.json

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

// ReadTrust returns what is trusted. A file that cannot be read is an error, and
// nothing is trusted.
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
	return cli.Usagef("reading what is trusted in %s: %w; correct or remove the file", file, err)
}

// ChangeTrust changes what is trusted. The file is never seen half-written, and
// two changes at once are both there.
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

// TrustTime returns the current time as records of trust have it.
func TrustTime() time.Time { return time.Now().UTC().Truncate(time.Second) }

// trustsFile reports whether a file of settings is trusted as it is now.
func trustsFile(h *cli.IO, f config.File) bool {
	t, err := ReadTrust(h)
	if err != nil {
		h.Warn("%v", err)
		return false
	}
	known, ok := t.Files[f.Place()]
	return ok && known.Sum == f.Sum
}

// TrustFiles remembers that files of settings are trusted as they are.
func TrustFiles(ctx context.Context, h *cli.IO, files []config.File) error {
	return ChangeTrust(ctx, h, func(t Trusted) {
		for _, f := range files {
			t.Files[f.Place()] = TrustedFile{f.Sum, TrustTime()}
		}
	})
}

// TrustChange keeps a project's file trusted that its user has changed by
// openagent config set: one that was not there, or was trusted before.
func TrustChange(ctx context.Context, h *cli.IO, f config.File, c config.Change) error {
	was := f
	was.Sum = c.Before
	if c.Before != "" && !trustsFile(h, was) {
		return nil
	}
	f.Sum = c.After
	return TrustFiles(ctx, h, []config.File{f})
}

// offerSettings asks the person at the terminal about files of the project that
// say more than a project may, and reports whether one is trusted now.
func offerSettings(ctx context.Context, h *cli.IO, s *config.Settings) (changed bool, err error) {
	for _, f := range s.Files() {
		needs := s.Needs(f)
		if len(needs) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(h.Err, "The settings %s of this project set what a project may not set by itself:\n%s", h.Visible(f.Path), NeedLines(h, needs)); err != nil {
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

// NeedLines shows all that a file of settings says beyond what a project may: first what
// would run.
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

// TrustsTools reports whether a folder is trusted as it is now.
func TrustsTools(h *cli.IO, l custom.Listing) bool {
	t, err := ReadTrust(h)
	if err != nil {
		h.Warn("%v", err)
		return false
	}
	f, ok := t.Folders[l.Dir]
	return ok && f.Sum == l.Sum
}

// TrustTools remembers that a folder is trusted as it is.
func TrustTools(ctx context.Context, h *cli.IO, l custom.Listing) error {
	return ChangeTrust(ctx, h, func(t Trusted) {
		t.Folders[l.Dir] = TrustedFolder{Sum: l.Sum, Files: l.Files, Since: TrustTime()}
	})
}

// OfferTrust asks the person at the terminal about the folders that are not
// trusted. Who says no is asked again the next time.
func OfferTrust(ctx context.Context, h *cli.IO, folders []custom.Folder) error {
	for _, f := range folders {
		l, err := custom.List(f.Path)
		if f.Trusted || err != nil || len(l.Files) == 0 || TrustsTools(h, l) {
			continue // what cannot be read is said when the tools are loaded
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

// FileList shows the files of a folder of tools.
func FileList(h *cli.IO, l custom.Listing) string {
	var b strings.Builder
	for _, name := range l.Files {
		fmt.Fprintf(&b, "  %s\n", h.OneLine(name))
	}
	return b.String()
}

// Confirm asks a question on the terminal; anything but yes is no. Stdin is read
// up to the end of the line and no further.
func Confirm(ctx context.Context, h *cli.IO, question string) (bool, error) {
	h.DiscardInput()
	if _, err := fmt.Fprint(h.Err, question); err != nil {
		return false, err
	}
	said := make(chan string, 1)
	go func() { // reads on where ctx ends first, and ends with the program
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

// ToolFolders are the folders of tools of a project or a plugin. A folder that is
// neither is taken for one itself.
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
