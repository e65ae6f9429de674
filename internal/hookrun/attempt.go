package hookrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
)

// readable reports why the output of a hook that guards is neither an answer nor
// plain text. A hook that tried to answer and failed must not count as one that
// has nothing to say.
func readable(text []byte) error {
	switch {
	case !utf8.Valid(text):
		return errors.New("its output is not valid UTF-8; write UTF-8")
	case bytes.HasPrefix(text, []byte("\ufeff")):
		return errors.New("its output begins with a byte order mark; write UTF-8 without one")
	case bytes.IndexByte(text, 0) >= 0:
		return errors.New("its output holds NUL bytes; write UTF-8")
	case text[0] == '{':
		return nil
	case json.Valid(text):
		return fmt.Errorf("its output is the JSON value %.50s and not an object; write one JSON object, or plain text", text)
	case Attempts(text):
		return errors.New("its output holds an answer and other text; write the JSON object alone to standard output")
	}
	return nil
}

var (
	answerMember = regexp.MustCompile(`(?i)["'](permissionDecision|hookSpecificOutput|decision|behavior|block|continue|stopReason|updatedInput|action)["']\s*[:=]`)
	answerWords  = regexp.MustCompile(`(?i)\b(permissionDecision|decision|behavior|action)\W{0,3}[:=]\W{0,3}(block|deny|denied|approve|allow|ask|defer|accept|decline|cancel)\b`)
)

// Attempts reports whether an output looks like a try to answer as a hook: it has a
// member that decides.
func Attempts(output []byte) bool {
	clean := []byte(text.Clean(string(output)))
	return answerMember.Match(clean) || answerWords.Match(clean)
}

// unambiguous reports members that appear twice, at any depth, and members of the
// answer whose names are misspelled. Names that differ only in case are the same:
// the decoder takes them so.
func unambiguous(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := oneOfEach(dec, true); err != nil {
		return err
	}
	if _, err := dec.Token(); err == nil || dec.More() {
		return errors.New("there is more text after the object; write the JSON object alone")
	}
	return nil
}

// oneOfEach reads one value and refuses members that appear twice. answer says that the
// value is the answer itself, not the value of a member.
func oneOfEach(dec *json.Decoder, answer bool) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		inner := false
		if delim == '{' {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			key := name.(string)                         // the decoder takes no other name
			low := strings.ToLower(strings.ToUpper(key)) // as the decoder folds names
			if seen[low] {
				return fmt.Errorf("the member %.50q appears twice", key)
			}
			seen[low] = true
			if meant := misspelled(key); answer && meant != "" {
				return fmt.Errorf("there is no member %.50q; write %q", key, meant)
			}
			inner = answer && (strings.EqualFold(key, "hookSpecificOutput") || strings.EqualFold(key, "decision"))
		}
		if err := oneOfEach(dec, inner); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// deciding are the members that allow or deny, in each object of an answer.
var deciding = []string{"continue", "decision", "hookSpecificOutput", "permissionDecision", "updatedInput", "behavior"}

// misspelled returns the deciding member that a name is probably meant to be, "" for
// a name that is right or like none.
func misspelled(key string) string {
	meant := text.Nearest(key, deciding)
	if off := len(meant) - len(key); meant == "" || strings.EqualFold(meant, key) || off < -1 || off > 1 {
		return ""
	}
	return meant
}
