// Package rewind brings a session back to an earlier prompt: its files, its conversation or
// both.
package rewind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/session"
)

// A Options says what is to be brought back, and to where.
type Options struct {
	To                        string // see findPlace; "": nowhere yet
	files, conversation, both bool
	DryRun, diff              bool
}

// Flags are those of the command and of /rewind alike.
func (r *Options) Flags() cli.Flags {
	return cli.Flags{
		{Name: "files", Help: "only the files", Set: cli.SetTrue(&r.files)},
		{Name: "conversation", Help: "only the conversation", Set: cli.SetTrue(&r.conversation)},
		{Name: "both", Help: "files and conversation (default)", Set: cli.SetTrue(&r.both)},
		{Name: "dry-run", Help: "show the changes without making them", Set: cli.SetTrue(&r.DryRun)},
		{Name: "diff", Help: "show how the files change, line by line", Set: cli.SetTrue(&r.diff)},
	}
}

// Check fills in what goes without saying.
func (r *Options) Check() error {
	switch n := len(trues(r.files, r.conversation, r.both)); {
	case n > 1:
		return cli.Usagef("--files, --conversation and --both exclude each other; use one of them")
	case r.To == "" && (n > 0 || r.DryRun || r.diff):
		return cli.Usagef("rewind needs --to with the fact to go back to; without any flag it lists the prompts")
	case n == 0 || r.both:
		r.files, r.conversation = true, true
	}
	if r.diff && !r.files {
		return cli.Usagef("--diff is about files; leave out --conversation")
	}
	return nil
}

func trues(list ...bool) (n []bool) {
	for _, b := range list {
		if b {
			n = append(n, b)
		}
	}
	return n
}

// A result is what rewinding has done, or would do.
type result struct {
	Session      string               `json:"session"`
	DryRun       bool                 `json:"dryRun"`
	To           int64                `json:"to"`             // the fact after which things are as they were
	Undo         int64                `json:"undo,omitempty"` // the place to rewind to for undoing it
	Prompt       string               `json:"prompt,omitempty"`
	Files        *rewoundFiles        `json:"files,omitempty"`
	Conversation *rewoundConversation `json:"conversation,omitempty"`
}

type rewoundFiles struct {
	Checkpoint string              `json:"checkpoint,omitempty"` // "": nothing was kept since, so nothing has to be brought back
	Changes    []checkpoint.Change `json:"changes"`
	Left       []checkpoint.Gap    `json:"left,omitempty"`
	Gaps       []checkpoint.Gap    `json:"gaps,omitempty"`
	GapCount   int                 `json:"gapCount,omitempty"`
}

type rewoundConversation struct {
	Past int64 `json:"past"` // the last fact that counts no longer; 0: none
}

// A Rewinder brings back the files and the conversation of a session.
type Rewinder struct {
	Session     *agent.Session
	Store       session.Store
	Checkpoints *checkpoint.Store // nil: the session is in memory, and no files are kept
}

// Rewind does what was asked for: first the files, which may be missing. An error
// comes with what was done.
func (r *Rewinder) Rewind(ctx context.Context, o Options) (result, error) {
	p, err := findPlace(ctx, r.Store, r.Session.ID, o.To)
	if err != nil {
		return result{}, err
	}
	done := result{Session: r.Session.ID, DryRun: o.DryRun, To: p.after, Prompt: p.prompt}
	if !o.DryRun {
		done.Undo = p.last
	}
	if o.files {
		if done.Files, err = r.files(ctx, p.after, o); err != nil {
			return done, err
		}
	}
	if !o.conversation {
		return done, nil
	}
	done.Conversation = new(rewoundConversation)
	if p.after == p.last {
		return done, nil
	}
	done.Conversation.Past = p.last
	if !o.DryRun {
		err = r.Session.Rewind(ctx, p.after)
	}
	return done, err
}

// Files brings back the files alone, as they were before a prompt, and returns their changes with
// diffs. With dry it only says what would change.
func (r *Rewinder) Files(ctx context.Context, to string, dry bool) ([]checkpoint.Change, error) {
	done, err := r.Rewind(ctx, Options{To: to, files: true, diff: true, DryRun: dry})
	if done.Files == nil {
		return nil, forHost(err)
	}
	return done.Files.Changes, forHost(err)
}

// errMemory is the error about a session that has no saved files.
var errMemory = errors.New("files are saved only for saved sessions, and this one is in memory")

// forHost returns an error without hints at the flags of the command line.
func forHost(err error) error {
	var none noPlace
	if errors.As(err, &none) {
		return fmt.Errorf("%w; name the uuid of a message that you sent in this session", none)
	}
	var hinted *cli.ExitError
	if errors.As(err, &hinted) {
		return cmp.Or(errors.Unwrap(hinted.Err), err) // the hint is around it
	}
	return err
}

func (r *Rewinder) files(ctx context.Context, after int64, o Options) (*rewoundFiles, error) {
	done := &rewoundFiles{Changes: []checkpoint.Change{}}
	if sessiondir.Path(r.Store) == "" || r.Checkpoints == nil {
		return done, cli.Usagef("%w; --conversation rewinds the conversation alone", errMemory)
	}
	name := parts.CheckpointName(r.Store, r.Session.ID)
	restore := func(ctx context.Context, id string, record func(string) error) error {
		report, err := r.Checkpoints.Restore(ctx, name, id, checkpoint.Restoring{Dry: o.DryRun, Kept: record})
		done.Checkpoint, done.Left, done.Gaps, done.GapCount = id, report.Left, report.Gaps, report.GapCount
		done.Changes = append(done.Changes, report.Changes...)
		if err == nil && o.diff {
			err = r.compare(ctx, name, report.Undo, id, done.Changes)
		}
		return err
	}
	var err error
	if o.DryRun {
		var id string
		if id, err = r.Session.CheckpointBefore(ctx, after); id != "" && err == nil {
			err = restore(ctx, id, nil)
		}
	} else {
		err = r.Session.RewindFiles(ctx, after, restore)
	}
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		err = cli.Usagef("the files of that time are not saved here: they were older than %s allows, did not fit into %s, or are on another machine where the session was at work", parts.CheckpointMaxAgeKey, parts.CheckpointQuotaKey)
	case errors.Is(err, agent.ErrNoCheckpoint):
		err = cli.Usagef("%w; --conversation rewinds the conversation alone", err)
	}
	return done, err
}

// compare adds the diffs that lead from one state of files to another one.
func (r *Rewinder) compare(ctx context.Context, name, from, to string, changes []checkpoint.Change) error {
	list, err := r.Checkpoints.Changes(ctx, name, from, to)
	if err != nil {
		return err
	}
	type path struct{ root, path string }
	diffs := map[path]checkpoint.Change{}
	for _, c := range list {
		diffs[path{c.Root, c.Path}] = c
	}
	for i := range changes {
		c := &changes[i]
		d := diffs[path{c.Root, c.Path}]
		c.Diff, c.DiffCut = d.Diff, d.DiffCut
	}
	return nil
}

// Lines are what people read of it; undo is the command that undoes it.
func (r result) Lines(undo string) []string {
	verb := "was"
	if r.DryRun {
		verb = "would be"
	}
	var out []string
	if r.Files != nil {
		out = r.Files.lines(verb)
	}
	if c := r.Conversation; c != nil {
		switch {
		case c.Past == 0:
			out = append(out, "The conversation is there already.")
		case r.Prompt != "":
			out = append(out, fmt.Sprintf("The conversation %s taken back to before the prompt: %s", verb, r.Prompt))
		default:
			out = append(out, fmt.Sprintf("The conversation %s taken back to fact %d.", verb, r.To))
		}
	}
	if r.Undo > 0 && r.Changed() {
		out = append(out, fmt.Sprintf("To undo it: %s %d%s", undo, r.Undo, r.alone()))
	}
	return out
}

// Changed reports whether there is something to undo.
func (r result) Changed() bool {
	return r.Files != nil && len(r.Files.Changes) > 0 || r.Conversation != nil && r.Conversation.Past > 0
}

// alone is the flag for what was rewound alone.
func (r result) alone() string {
	switch {
	case r.Conversation == nil:
		return " --files"
	case r.Files == nil:
		return " --conversation"
	}
	return ""
}

func (f *rewoundFiles) lines(verb string) (out []string) {
	for _, c := range f.Changes {
		name := filepath.Join(c.Root, filepath.FromSlash(c.Path))
		if c.Folder {
			name += string(filepath.Separator)
		}
		out = append(out, fmt.Sprintf("%-8s %s", c.Kind, checkpoint.Shown(name)))
		for line := range strings.Lines(c.Diff) {
			out = append(out, "  "+strings.TrimSuffix(line, "\n"))
		}
		if c.DiffCut {
			out = append(out, "  … and more")
		}
	}
	for _, g := range f.Left {
		out = append(out, fmt.Sprintf("left     %s: %s", checkpoint.Shown(filepath.Join(g.Root, filepath.FromSlash(g.Path))), g.Reason))
	}
	switch n := len(f.Changes); n {
	case 0:
		out = append(out, fmt.Sprintf("No file %s changed.", verb))
	default:
		done := cli.Plural(n, "change")
		if verb != "was" {
			done += " " + verb
		}
		out = append(out, fmt.Sprintf("Files: %s brought back.", done))
	}
	if f.GapCount > 0 {
		out = append(out, fmt.Sprintf("Left as they are: %s that could not be kept, such as %s (%s).", cli.Plural(f.GapCount, "path"), checkpoint.Shown(f.Gaps[0].Path), f.Gaps[0].Reason))
	}
	return out
}
