package engine

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// The conversation without cleared results, and with truncated results and messages.

// clearResults returns the messages with something short in the place of results. The
// old ones stay as they are.
func clearResults(messages []llm.Message, marks []mark, cleared []event.Cleared) []llm.Message {
	if len(cleared) == 0 {
		return messages
	}
	at := make(map[int64]int, len(marks)) // the answers
	for i, m := range marks {
		if m.kind == isAnswer {
			at[m.seq] = i
		}
	}
	out := slices.Clone(messages)
	own := map[int]bool{}
	for _, c := range cleared {
		if c.Call == "" {
			if i := messageOf(marks, c); i >= 0 {
				out[i].Content = cutContent(out[i].Content, c.Keep, c.File)
			}
			continue
		}
		seq, index := splitCall(c.Call)
		i, ok := at[seq]
		if i++; !ok || i >= len(out) || marks[i].kind != isResults {
			continue
		}
		if !own[i] {
			own[i] = true
			out[i].Content = slices.Clone(out[i].Content)
		}
		n := 0
		for k, b := range out[i].Content {
			r, ok := b.(llm.ToolResult)
			if !ok {
				continue
			}
			if n == index {
				if c.Keep > 0 {
					r.Content = cutContent(r.Content, c.Keep, c.File)
				} else {
					r.Content = llm.Blocks{llm.Text{Text: clearedText(r.Content, c.File)}}
				}
				out[i].Content[k] = r
				break
			}
			n++
		}
	}
	return out
}

// messageOf returns the place of a message that was cleared, -1 if it is not there.
func messageOf(marks []mark, c event.Cleared) int {
	n := c.Index
	for i, m := range marks {
		if m.seq != c.Fact || !m.kind.cuttable() {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return -1
}

// clearedText replaces a result that was cleared.
func clearedText(content llm.Blocks, file string) string {
	what := fmt.Sprintf("%d characters", len(content.Text()))
	if n := len(content) - textBlocks(content); n > 0 {
		what += fmt.Sprintf(" and %d images or documents", n)
	}
	if file != "" {
		return fmt.Sprintf("[This old output (%s) was cleared to make room. The whole of it is in %s: search it with Grep or Read it if you need it again.]", what, file)
	}
	return fmt.Sprintf("[This old output (%s) was cleared to make room. Make the call again if you need it.]", what)
}

func textBlocks(content llm.Blocks) int {
	n := 0
	for _, b := range content {
		if _, ok := b.(llm.Text); ok {
			n++
		}
	}
	return n
}

// cutContent returns the beginning and the end of the text of a message or a result, so
// many bytes in all.
func cutContent(content llm.Blocks, keep int, file string) llm.Blocks {
	text, keep := content.Text(), max(keep, 0)
	head, tail := text, ""
	var lost []string
	if len(text) > keep {
		head, tail = strings.ToValidUTF8(text[:keep*2/3], ""), strings.ToValidUTF8(text[len(text)-keep/3:], "")
		lost = append(lost, fmt.Sprintf("%d characters", utf8.RuneCountInString(text)-utf8.RuneCountInString(head)-utf8.RuneCountInString(tail)))
	}
	if n := len(content) - textBlocks(content); n > 0 {
		lost = append(lost, fmt.Sprintf("%d images or documents", n))
	}
	note := "[" + strings.Join(lost, " and ") + " are left out here: this was too large to be sent as a whole."
	if file != "" {
		note += " The whole of it is in " + file + ": search it with Grep or Read a part of it."
	}
	out := strings.TrimSpace(head + "\n\n" + note + "]\n\n" + tail)
	return llm.Blocks{llm.Text{Text: out}}
}
