package draw

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// sequences are what frames may send beside text: colours and attributes.
var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m")

// raw returns the characters of a frame that drive a terminal, turn the direction of writing, or
// that nobody sees.
func raw(lines []string) string {
	var out strings.Builder
	for _, l := range lines {
		for _, r := range sequences.ReplaceAllString(l, "") {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x200b || r == 0x2060 || r == 0xfeff || r == 0x2028 || r == 0x2029 {
				out.WriteRune(r)
			}
		}
	}
	return out.String()
}

// hostileModels are models with a text in every place where one of another origin can be.
func hostileModels(text string) []ui.Model {
	now := time.Unix(1_900_000_000, 0)
	seq := int64(0)
	apply := func(m ui.Model, data ...any) ui.Model {
		for _, d := range data {
			if f, ok := d.(event.Fact); ok {
				seq++
				d = event.Event{Seq: seq, Prev: seq - 1, Time: now, Session: "s", Data: f}
			} else if x, ok := d.(event.Data); ok {
				d = event.Event{Time: now, Session: "s", Data: x}
			}
			now = now.Add(time.Second)
			m, _ = ui.Update(m, ui.Input{Time: now, Data: d})
		}
		return m
	}
	in, _ := json.Marshal(map[string]string{"command": text, "file_path": text, "description": text})
	facts := ui.Facts{Version: "0.3", Model: text, Dir: "/" + text, Branch: text, Mode: text}
	m := apply(ui.New(80, 24), facts, ui.Commands{List: []ui.CommandInfo{{Name: text, Hint: text, Help: text}}},
		ui.Output{Lines: []ui.Line{{Text: text}, {Kind: ui.WarnLine, Text: text}, {Kind: ui.AddedLine, Text: text}}},
		ui.Started{}, event.UserMessage{ID: "p", Delivery: "prompt", Message: llm.UserText(text)},
		event.ThinkingDelta{Key: "k", Text: text}, input.Key{Code: 't', Alt: true})
	answering := apply(m, event.TextDelta{Key: "k", Text: text})
	called := apply(answering, event.AssistantMessage{Key: "k", Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: text},
		llm.ToolUse{ID: "1", Name: text, Input: in}, llm.ToolUse{ID: "2", Name: "Bash", Input: in}}}}})
	c := func(n string) string { return "c" + n }
	asked := apply(called, event.PermissionRequest{Call: tool.Call{ID: c("2.0"), Name: text, Input: in}},
		ui.Pose{Question: ui.Question{ID: 1, Tool: text, Agent: text, Head: text, Note: text, Grave: text, Command: text, Diff: "-" + text + "\n+" + text,
			Body: []ui.Line{{Text: text}}, Why: []ui.Line{{Text: text}}, Widths: []ui.Width{{Rules: []string{text}, Scopes: []string{text}}}}})
	asks := apply(called, ui.Pose{Question: ui.Question{ID: 1, Tool: "a question", Ask: []ui.Asked{{Header: text, Text: text, Options: []ui.Option{{Label: text, Description: text}}}}}})
	failed := apply(m, event.ModelFailed{Key: "k", Message: text, Retry: true}, event.ModelFailed{Key: "k2", Message: text, Partial: text})
	ended := apply(failed, event.RunEnd{Reason: event.Internal, Message: text}, ui.Done{Failed: true})
	picks := apply(m, ui.Choice{Kind: "session", Title: text, Items: []ui.Item{{Text: text, Note: text, Cells: []string{text}, Value: "1"}}})
	typed := apply(m, input.Paste{Text: text}, input.Paste{Text: "/" + text})
	queued := apply(m, input.Paste{Text: text + "x"}, input.Key{Code: input.Enter})
	agents := apply(called, event.AgentStart{Key: "a", Call: c("2.0"), Session: text, Agent: text})
	moded := apply(m, event.ModeChanged{Mode: permission.Mode(text)}, ui.Trouble{Text: text}, ui.Watched{Word: text, Viewers: 1})
	return []ui.Model{m, moded, answering, called, asked, asks, failed, ended, picks, typed, queued, agents}
}

// Whatever a text is, and wherever it comes from: nothing in it drives the terminal, turns letters
// around or is invisible.
func FuzzFrames(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31mred\x1b]0;title\a", "\u202etxt.exe\u202c", "a\u200bb\ufeff", "p\u0430ypal", "c1\u009b31m\u0085", "| a | b |\n|---|---|\n| \x1b[2J | \u202e |",
		"```go\nx := \"\x1b[2J\u200b\"\n```", "[a\x1b](http://x\u202e.y)", "**b\u2066**", "tab\tand\rreturn\n\n- \x07", "\xff\xfe"} {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 20 + (width%100+100)%100
		for i, m := range hostileModels(text) {
			m.Width = width
			for _, theme := range []Theme{{}, {Colours: true}} {
				var frames []frame.Frame
				fr, _ := Frame(m, width, 24, theme)
				frames = append(frames, fr, Close(m, width, theme))
				for _, fr := range frames {
					if got := raw(append(fr.Above, fr.Live...)); got != "" {
						t.Fatalf("model %d: %q has %q", i, append(fr.Above, fr.Live...), got)
					}
				}
				if got := raw([]string{Title(m)}); got != "" {
					t.Fatalf("model %d: the title has %q", i, got)
				}
			}
		}
	})
}

// Letters that look like others are marked in each name.
func TestNamesLookLikeNoOther(t *testing.T) {
	const fake, marked = "p\u0430ypal", `p\u{430}ypal`
	for i, m := range hostileModels(fake) {
		fr, _ := Frame(m, 200, 40, Theme{})
		lines := append(fr.Above, fr.Live...)
		if !strings.Contains(lines[0], "/"+marked+" ("+marked+")") || !strings.Contains(lines[0], "· "+marked) {
			t.Errorf("model %d: the first line is %q", i, lines[0])
		}
		if !strings.Contains(Title(m), marked) {
			t.Errorf("model %d: the title is %q", i, Title(m))
		}
	}
	fr, _ := Frame(hostileModels(fake)[1], 200, 40, Theme{})
	if last := fr.Live[len(fr.Live)-1]; !strings.Contains(last, "mode "+marked) || !strings.Contains(last, marked+" · 1 viewer") {
		t.Errorf("the status line is %q", last)
	}
	fr, _ = Frame(hostileModels(fake)[3], 200, 40, Theme{})
	if all := strings.Join(fr.Live, "\n"); !strings.Contains(all, marked) {
		t.Errorf("the name of a tool is not marked: %s", all)
	}
}
