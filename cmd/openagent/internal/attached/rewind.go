package attached

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/remote"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
)

// maxPrompts is how many prompts the picker lists.
const maxPrompts = 1000

// offerPrompts opens the picker of prompts to go back to, the newest first.
func (v *View) offerPrompts(ctx context.Context) error {
	var all heads
	for e, err := range v.store.Read(ctx, v.id, 0) {
		if err != nil {
			return err
		}
		all.add(e, v.h.OneLine)
	}
	choice := ui.Choice{Kind: "prompt", Title: "go back to before"}
	for _, p := range all.offered() {
		choice.Items = append(choice.Items, ui.Item{Text: p.said, Note: p.at.Local().Format("2 Jan 15:04"), Value: strconv.FormatInt(p.seq, 10)})
	}
	if len(choice.Items) == 0 {
		return errors.New("this session has no prompt to rewind to yet")
	}
	v.post(choice)
	return nil
}

// heads are what the picker of prompts needs of a session. Facts that the agent keeps for itself are
// missing.
type heads struct {
	links   [][2]int64 // number of each fact, and of the one before it
	prompts []prompt   // the last ones, at least maxPrompts of them
}

// A prompt is one that the picker may offer.
type prompt struct {
	seq  int64
	at   time.Time
	said string // its beginning
}

// add takes in a fact. oneLine makes a text fit for the screen.
func (h *heads) add(e event.Event, oneLine func(string) string) {
	h.links = append(h.links, [2]int64{e.Seq, e.Prev})
	d, ok := e.Data.(event.UserMessage)
	if !ok || d.Delivery != fact.AsPrompt {
		return
	}
	if len(h.prompts) == 2*maxPrompts {
		h.prompts = slices.Delete(h.prompts, 0, maxPrompts)
	}
	h.prompts = append(h.prompts, prompt{e.Seq, e.Time, strings.Clone(text.Runes(oneLine(d.Message.Text()), 200))})
}

// offered returns the prompts that count, the newest first: those that a rewind took away do not.
func (h *heads) offered() (out []prompt) {
	next, i := int64(math.MaxInt64), len(h.prompts)-1
	for _, link := range slices.Backward(h.links) {
		seq := link[0]
		for i >= 0 && h.prompts[i].seq > seq {
			i--
		}
		if i < 0 || len(out) == maxPrompts {
			break
		}
		if seq > next {
			continue // it was taken away
		}
		if next = link[1]; h.prompts[i].seq == seq {
			out = append(out, h.prompts[i])
		}
	}
	return out
}

// maxChanges is how many files the picker lists.
const maxChanges = 8

// offerRewind shows which files going back would change, and asks what is to go back.
func (v *View) offerRewind(ctx context.Context, fact string) error {
	at, err := v.prompt(ctx, fact)
	if err != nil {
		return err
	}
	choice := ui.Choice{Kind: "rewind", Title: "what goes back?"}
	offer := func(said, what string) {
		choice.Items = append(choice.Items, ui.Item{Text: said, Value: fact + " " + what})
	}
	files, err := v.c.Rewind(ctx, v.id, at.Prev, "both", true)
	var refused *remote.Error
	switch {
	case errors.As(err, &refused) && strings.HasPrefix(refused.Code, "no_checkpoint"):
		choice.About = []ui.Line{{Kind: ui.DimLine, Text: "   " + v.h.OneLine(refused.Message)}}
	case err != nil:
		return err
	default:
		offer("files and conversation", "both")
		offer("only the files", "files")
	}
	offer("only the conversation", "conversation")
	for i, f := range files {
		if i == maxChanges {
			choice.About = append(choice.About, ui.Line{Kind: ui.DimLine, Text: fmt.Sprintf("   … %d more files", len(files)-i)})
			break
		}
		choice.About = append(choice.About, ui.Line{Kind: ui.DimLine, Text: "   " + v.h.OneLine(f.Kind+" "+f.Path)})
	}
	v.post(choice)
	return nil
}

// prompt returns the fact of a prompt.
func (v *View) prompt(ctx context.Context, fact string) (event.Event, error) {
	seq, err := strconv.ParseInt(fact, 10, 64)
	if err != nil {
		return event.Event{}, err
	}
	for e, err := range v.store.Read(ctx, v.id, seq-1) {
		if err != nil {
			return event.Event{}, err
		}
		if _, ok := e.Data.(event.UserMessage); ok && e.Seq == seq {
			return e, nil
		}
		break
	}
	return event.Event{}, errors.New("this prompt is not there any more")
}

// rewind goes back. A prompt that was taken back comes into the input.
func (v *View) rewind(ctx context.Context, value string) error {
	fact, what, _ := strings.Cut(value, " ")
	at, err := v.prompt(ctx, fact)
	if err != nil {
		return err
	}
	files, err := v.c.Rewind(ctx, v.id, at.Prev, what, false)
	if err != nil {
		return err
	}
	if what != "conversation" {
		v.say(ui.DimLine, "  went back: "+text.Count(len(files), "file"))
	}
	if what != "files" {
		v.say(ui.DimLine, "  the conversation continues from before this prompt")
		v.post(ui.Draft{Text: at.Data.(event.UserMessage).Message.Text()})
	}
	return nil
}
