// Package doctor checks the environment of sessions.
//
//	findings := doctor.Examine(ctx, h.Fork(), dir)
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/usage"
	"github.com/openagent-go/agent/internal/account"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/tooloutput"
	"github.com/openagent-go/agent/internal/web"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
)

// A Finding is the result of one check.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`

	disabled bool // it works only after you set something
}

// Rows returns a row for each Finding, and whether all is well.
func Rows(findings []Finding) (rows [][]string, healthy bool) {
	healthy = true
	for _, f := range findings {
		mark := "ok"
		switch {
		case !f.OK:
			mark, healthy = "!!", false
		case f.disabled:
			mark = "--"
		}
		rows = append(rows, []string{mark, f.Name, f.Detail})
	}
	return rows, healthy
}

// Examine checks the environment of sessions in a folder. It changes the secrets of h: give it a
// fork if h belongs to a session.
func Examine(ctx context.Context, h *cli.IO, dir string) []Finding {
	list := []Finding{
		{Name: "version", OK: true, Detail: fmt.Sprintf("%s, %s, %s/%s", cli.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)},
		program("git", "git was not found; install it so that the agent can use version control", "git"),
		program("shell", "the tool Bash needs bash or sh in PATH; install one", "bash", "sh"),
		examineHome(h),
		examineSettings(ctx, h, dir),
		examineProvider(ctx, h, dir),
		examineContext(ctx, h, dir),
		examineSandbox(h, dir),
		examineSearch(h),
		examineOutputs(),
		examineKept(ctx, h),
		examineCache(ctx, h),
		{Name: "terminal", OK: true, Detail: fmt.Sprintf("stdin %s, stdout %s, TERM=%s", terminalWord(h.InTerminal), terminalWord(h.OutTerminal), cmp.Or(h.Getenv("TERM"), "not set"))},
	}
	if address, source, err := (settings.Place{}).Database(h, dir); address != "" && err == nil {
		list = slices.Insert(list, 4, examineStore(ctx, h, address, source))
	}
	return list
}

// examineStore connects to the database of the sessions.
func examineStore(ctx context.Context, h *cli.IO, address, source string) Finding {
	const name = "store"
	db, err := sessionstore.Database(ctx, h, address, source)
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	kept := fmt.Sprintf("sessions are kept in the database %v (%s)", db, source)
	if engine, ok := db.Engine().(interface {
		Overdue(ctx context.Context) (sessions int, oldest time.Duration, err error)
	}); ok {
		waits, oldest, err := engine.Overdue(ctx)
		if err != nil {
			return Finding{Name: name, OK: false, Detail: err.Error()}
		}
		if waits > 0 {
			return Finding{Name: name, OK: false, Detail: fmt.Sprintf("%s; %s without a worker, for up to %v: start one with openagent worker, or look why yours take no sessions", kept, text.Count(waits, "session"), oldest.Round(time.Second))}
		}
	}
	return Finding{Name: name, OK: true, Detail: kept}
}

func terminalWord(yes bool) string {
	if yes {
		return "terminal"
	}
	return "not a terminal"
}

// program searches for the first available of several programs.
func program(name, missing string, files ...string) Finding {
	for _, f := range files {
		if path, err := exec.LookPath(f); err == nil {
			return Finding{Name: name, OK: true, Detail: path}
		}
	}
	return Finding{Name: name, OK: false, Detail: missing}
}

// tryWriting writes a file as large as a short session into a folder, and removes it.
func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Join(err, f.Close())
}

func examineHome(h *cli.IO) Finding {
	const name = "home"
	home, err := h.Home()
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	if err := os.MkdirAll(filepath.Join(home, "sessions"), 0o700); err != nil {
		return Finding{Name: name, OK: false, Detail: fmt.Sprintf("sessions cannot be kept: %v; set OPENAGENT_HOME", err)}
	}
	if err := tryWriting(home); err != nil {
		return Finding{Name: name, OK: false, Detail: fmt.Sprintf("sessions cannot be kept: %v; set OPENAGENT_HOME", err)}
	}
	return Finding{Name: name, OK: true, Detail: filepath.Join(home, "sessions") + " can be written"}
}

func examineSearch(h *cli.IO) Finding {
	const name = "search"
	if s := provider.SearchEngine(h); s.Value != "" {
		return Finding{Name: name, OK: true, Detail: provider.SearchName + " by " + s.Source}
	}
	return Finding{Name: name, OK: true, disabled: true, Detail: "disabled (set " + strings.Join(web.SearchVariables, " or ") + ")"}
}

// examineOutputs reports the stored outputs that were too long for the model.
func examineOutputs() Finding {
	const name = "outputs"
	dir, err := tooloutput.Dir()
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	files, bytes, err := tooloutput.Kept()
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	return Finding{Name: name, OK: true, Detail: fmt.Sprintf("%d long outputs in %s, %d of at most %d MB", files, dir, bytes>>20, tooloutput.Quota>>20)}
}

// examineKept reports the stored file checkpoints.
func examineKept(ctx context.Context, h *cli.IO) Finding {
	const name = "checkpoints"
	kept, settings, err := app.OpenCheckpoints(h)
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	u, err := kept.Usage(ctx)
	if err != nil {
		return Finding{Name: name, OK: false, Detail: fmt.Sprintf("file checkpoints cannot be read: %v", err)}
	}
	detail := fmt.Sprintf("%s of %s in %s, %s of at most %d MB", cli.Plural(u.Checkpoints, "checkpoint"), cli.Plural(u.Sessions, "session"), kept.Dir, cli.Megabytes(u.Bytes), app.CheckpointQuota(kept)>>20)
	if orphans, err := app.OrphanCheckpoints(ctx, kept); err == nil && len(orphans) > 0 {
		detail += fmt.Sprintf("; checkpoints of %s remain; delete them with openagent sessions prune", cli.Plural(len(orphans), "deleted session"))
	}
	if !parts.CheckpointsEnabled(settings) {
		detail += "; " + parts.CheckpointsKey + " is false, so no new ones are created"
	}
	return Finding{Name: name, OK: true, Detail: detail}
}

// examineSettings reports the settings files, and the settings without effect.
func examineSettings(ctx context.Context, h *cli.IO, dir string) Finding {
	const name = "settings"
	s, err := config.Load(settings.ConfigOptions(h, new(settings.Options), dir))
	if err != nil {
		return Finding{Name: name, OK: false, Detail: settings.LoadError(err).Error()}
	}
	var words []string
	for _, f := range s.Files() {
		switch needs := s.Needs(f); {
		case len(needs) > 0:
			words = append(words, f.Path+" is not trusted, so these settings are ignored: "+settings.NeedNames(needs))
		case f.Exists:
			words = append(words, f.Path)
		}
	}
	ok := true
	for _, p := range s.Problems() {
		words = append(words, p.Error())
		ok = ok && p.Kind == config.Idle
	}
	if found, err := app.RuleFindings(ctx, h, new(app.ToolsOptions), false); err == nil {
		for _, f := range found {
			if f.Kind == rules.UnknownTool {
				words, ok = append(words, fmt.Sprintf("%s: the rule %s: %s", f.Origin, f.Rule, f.Text)), false
			}
		}
	}
	if words == nil {
		words = []string{"no file"}
	}
	return Finding{Name: name, OK: ok, Detail: strings.Join(words, "; ")}
}

// configured returns the settings of a run in a folder.
func configured(ctx context.Context, h *cli.IO, dir string) (*settings.Options, error) {
	return settings.Configure(ctx, h, new(settings.Options), dir, false)
}

func examineProvider(ctx context.Context, h *cli.IO, dir string) Finding {
	const name = "provider"
	o, err := configured(ctx, h, dir)
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	p, err := provider.Open(h, o)
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	h.Secrets = p.Secrets()
	if providers.IsPlatform(p.Name.Value) {
		found, err := p.Credentials(ctx)
		detail := fmt.Sprintf("%s, model %s, %s", p.Name.Value, p.Model.Value, found)
		if err != nil {
			return Finding{Name: name, OK: false, Detail: fmt.Sprintf("%s, model %s: %s", p.Name.Value, p.Model.Value, h.OneLine(err.Error()))}
		}
		return Finding{Name: name, OK: true, Detail: detail}
	}
	detail := fmt.Sprintf("%s, model %s, %s", p.Name.Value, p.Model.Value, p.BaseURL.Value)
	switch {
	case p.NeedsKey():
		return Finding{Name: name, OK: false, Detail: detail + ", no key: set " + strings.Join(p.MissingKey().Own(), " or ") + ", store one with openagent auth login, or try openagent demo"}
	case p.Helper != nil:
		return Finding{Name: name, OK: true, Detail: detail + ", key from the apiKeyHelper command"}
	case p.Key.Value == "":
		return Finding{Name: name, OK: true, Detail: detail + ", no key needed"}
	}
	return Finding{Name: name, OK: true, Detail: detail + ", key from " + p.Key.Source}
}

// examineSandbox reports the available sandbox and its gaps.
func examineSandbox(h *cli.IO, dir string) Finding {
	const name = "sandbox"
	s, err := config.Load(settings.ConfigOptions(h, new(settings.Options), dir))
	if err != nil {
		return Finding{Name: name, OK: true, Detail: "the settings cannot be read"} // their own line says why
	}
	settings, _, err := (&settings.Options{Settings: s}).SandboxSettings()
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	enabled := settings.Enabled
	settings.Enabled, settings.AllowUnconfined = true, true
	box, err := sandbox.New(settings, sandbox.Place{Dir: dir, Private: app.PrivatePaths(h)})
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	defer box.Close()
	st := box.State()
	words := []string{fmt.Sprintf("off; --sandbox auto would use %s", st.Backend)}
	switch {
	case st.Backend == "":
		words = []string{"not available on this system"}
	case enabled:
		words = []string{st.Backend + ", network " + st.Network}
	}
	if len(st.Lacks) > 0 {
		words = append(words, "lacks: "+strings.Join(st.Lacks, ", "))
	}
	if len(st.Unavailable) > 0 {
		words = append(words, "not used: "+strings.Join(st.Unavailable, ", "))
	}
	return Finding{Name: name, OK: st.Backend != "" || !enabled, Detail: strings.Join(words, "; ")}
}

// examineContext reports the instruction files and skills.
func examineContext(ctx context.Context, h *cli.IO, dir string) Finding {
	const name = "context"
	o, err := configured(ctx, h, dir)
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	find := app.NewFinder(h, o, dir, false, false)
	notes := find.Notes()
	defer notes.Close()
	text := ""
	for _, f := range notes.Load(agent.Place{Dir: dir}) {
		text += f.Path
		if f.Problem != nil {
			text += " (left out: " + f.Problem.Error() + ")"
		}
		text += ", "
	}
	if text == "" {
		text = "no AGENTS.md or CLAUDE.md, "
	}
	skills, err := app.FindSkills(ctx, find)
	if err != nil {
		return Finding{Name: name, OK: false, Detail: err.Error()}
	}
	return Finding{Name: name, OK: true, Detail: text + cli.Plural(len(skills.List()), "skill") + " for the model"}
}

// examineCache reports the prompt cache in the last session of this folder.
func examineCache(ctx context.Context, h *cli.IO) Finding {
	const name = "prompt cache"
	stores, err := sessionstore.Stores(ctx, h, settings.Place{}, false)
	if err != nil {
		return Finding{Name: name, OK: true, Detail: fmt.Sprintf("the sessions cannot be found: %v", err)}
	}
	infos, err := stores[0].List(ctx)
	var last session.Info
	for _, i := range infos {
		if i.Updated.After(last.Updated) {
			last = i
		}
	}
	if err != nil || last.Session == "" {
		return Finding{Name: name, OK: true, Detail: "no session in this folder yet"}
	}
	book, err := account.Read(stores[0].Read(ctx, last.Session, 0))
	if err != nil {
		return Finding{Name: name, OK: true, Detail: fmt.Sprintf("session %s cannot be read; check it with openagent sessions verify", last.Session)}
	}
	c := book.Cache()
	text := strings.TrimPrefix(usage.CacheLines(h, c)[0], "prompt cache: ") + fmt.Sprintf(", in the last session here (%s)", last.Updated.Local().Format(time.DateTime))
	if n := len(c.Breaks); n > 0 {
		text += fmt.Sprintf("; broken %d times, most recently: %s", n, usage.CacheBreakText(h, c.Breaks[n-1]))
	}
	return Finding{Name: name, OK: true, Detail: text}
}
