package rewind

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

// A PromptPlace is a prompt that you can rewind a session to.
type PromptPlace struct {
	Fact   int64     `json:"fact"`
	UUID   string    `json:"uuid"`
	Time   time.Time `json:"time"`
	Files  string    `json:"files"`
	Prompt string    `json:"prompt"`
	// Checkpoint is the id of the files as they were before the prompt; "": none is kept, or the files
	// have not changed since.
	Checkpoint string `json:"-"`
}

// ListPrompts lists the prompts of a session that count, the first one first.
func ListPrompts(ctx context.Context, store session.Store, kept *checkpoint.Store, id string) ([]PromptPlace, error) {
	w, err := walkOf(ctx, store, id)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	if sessiondir.Path(store) != "" && kept != nil {
		list, err := kept.List(ctx, parts.CheckpointName(store, id))
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			there[c.ID] = true
		}
	}
	list := []PromptPlace{}
	next := "" // checkpoint of the prompt after
	for _, s := range w.prompts() {
		p := PromptPlace{Fact: s.Seq, UUID: s.UUID(), Time: s.Time, Files: filesUnchanged, Prompt: s.text}
		switch {
		case s.kept == nil && s.changes, s.kept != nil && s.kept.ID == "":
			p.Files = filesNotKept
		case s.kept != nil && there[s.kept.ID]:
			p.Files = filesKept
		case s.kept != nil:
			p.Files = filesGone
		}
		if p.Checkpoint = next; p.Files == filesKept {
			p.Checkpoint = s.kept.ID
		} else if p.Files != filesUnchanged {
			p.Checkpoint = ""
		}
		next = p.Checkpoint
		list = append(list, p)
	}
	slices.Reverse(list)
	return list, nil
}

// Kept reports whether files can go back to before the prompt, as far as they have changed since.
func (p PromptPlace) Kept() bool { return p.Checkpoint != "" || p.Files == filesUnchanged }

// PromptsHeader is the header of a table of prompts.
const PromptsHeader = "FACT TIME FILES PROMPT"

// PromptRows returns a row for each prompt, for a table under PromptsHeader.
func PromptRows(list []PromptPlace) (rows [][]string) {
	for _, p := range list {
		rows = append(rows, []string{strconv.FormatInt(p.Fact, 10), p.Time.Local().Format(time.DateTime), p.Files, text.Runes(text.OneLine(p.Prompt), 80)})
	}
	return rows
}

// Choice returns a line for a person who chooses where to go back to: the prompt, its files, the
// local time, and the command.
func (p PromptPlace) Choice(now time.Time) string {
	at, layout := p.Time.In(now.Location()), time.TimeOnly
	if at.YearDay() != now.YearDay() || at.Year() != now.Year() {
		layout = time.DateTime
	}
	prompt := cmp.Or(text.Runes(text.OneLine(p.Prompt), 80), "(no text)")
	return fmt.Sprintf("%s · files %s · %s · /rewind %d", prompt, p.Files, at.Format(layout), p.Fact)
}

// What is known of the files of a prompt.
const (
	filesKept      = "kept"
	filesUnchanged = "unchanged" // the prompt has not changed any
	filesGone      = "dropped"   // for their age or the quota
	filesNotKept   = "not kept"  // it was switched off, or failed
)
