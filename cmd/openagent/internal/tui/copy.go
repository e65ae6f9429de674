package tui

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session/view"
)

// maxCopy is how much goes to the clipboard: terminals take no more.
const maxCopy = 1 << 20

// CopyAnswer puts an answer, or a block of its code, into the clipboard. The words are those of the
// command /copy. It returns how many characters it has copied. Only the goroutine of the loop may
// call it.
func (l *Loop) CopyAnswer(words []string) (int, error) {
	code := len(words) > 0 && words[0] == "code"
	if code {
		words = words[1:]
	}
	n := 1
	if len(words) > 0 {
		var err error
		if n, err = strconv.Atoi(words[0]); err != nil || n < 1 {
			return 0, errors.New("write /copy, /copy N for the Nth answer from the end, or /copy code N for a block of code of the last one")
		}
	}
	answers := l.answers()
	which := n
	if code {
		which = 1
	}
	if which > len(answers) {
		return 0, errors.New("there is no such answer")
	}
	copied := answers[len(answers)-which]
	if code {
		blocks := draw.CodeBlocks(copied)
		if n > len(blocks) {
			return 0, fmt.Errorf("the last answer has %s of code", text.Count(len(blocks), "block"))
		}
		copied = blocks[n-1]
	}
	if base64.StdEncoding.EncodedLen(len(copied)) > maxCopy {
		return 0, errors.New("the text is too long for the clipboard of a terminal; /export writes it to a file")
	}
	return len([]rune(copied)), l.Terminal.Copy(copied)
}

// answers are the texts of the model, the oldest first.
func (l *Loop) answers() []string {
	var out []string
	if l.Model.State == nil {
		return nil
	}
	for _, it := range l.Model.State.Items {
		if a, ok := it.Data.(*view.Answer); ok && a.Fact != nil && a.Text() != "" {
			out = append(out, a.Text())
		}
	}
	return out
}
