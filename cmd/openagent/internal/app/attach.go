package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/attach"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// AttachFiles reads the files attached to a prompt. Read permissions apply to them.
func (s *App) AttachFiles(paths []string) ([]llm.Block, error) {
	var blocks []llm.Block
	unreadable := policies.Unreadable(s.Agent.Permissions, s.Agent.Deciders, append([]string{s.Project}, s.Options.Dirs...)...)
	for _, path := range paths {
		if abs, err := filepath.Abs(path); err != nil || unreadable.Hides(abs, s.Project) {
			return nil, cli.Usagef("--file: reading %s is denied by permissions.deny, the sandbox settings, or openagent itself; leave it out, or change the rule", path)
		}
		more, err := attach.File(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Usagef("--file: the file %s does not exist", path)
		}
		if err != nil {
			return nil, cli.Usagef("--file: %w", err)
		}
		blocks = append(blocks, more...)
	}
	return blocks, nil
}

const (
	maxMentions     = 20        // maximum files of a prompt
	maxMentionText  = 200 << 10 // maximum bytes of their text
	maxMentionImage = 10 << 20  // maximum bytes of images and documents
)

// A mention is a file that the user names in a prompt: @path, @"path with spaces",
// with lines as in @path#L10-20.
type mention struct {
	shown       string // as the user wrote it
	path        string
	first, last int // lines; 0: from the beginning, to the end
}

var (
	// A mention follows a space or a bracket. This excludes e-mail addresses.
	mentionStart = regexp.MustCompile("(?:^|[\\s(\\[{<\"'`,;])@")
	mentionLines = regexp.MustCompile(`^(.+)#L?(\d{1,9})(?:-L?(\d{1,9}))?$`)
)

// mentions returns the files named in a text for which exists returns true.
func mentions(text string, exists func(path string) bool) []mention {
	var list []mention
	seen := map[string]bool{}
	for _, at := range mentionStart.FindAllStringIndex(text, -1) {
		m, ok := mentioned(text[at[1]:], exists)
		if ok && !seen[m.shown] {
			seen[m.shown] = true
			list = append(list, m)
		}
	}
	return list
}

// mentioned parses the text after an @.
func mentioned(rest string, exists func(path string) bool) (mention, bool) {
	if quote := strings.IndexAny(rest, `"'`); quote == 0 {
		end := strings.IndexByte(rest[1:], rest[0])
		if end <= 0 || strings.Contains(rest[1:1+end], "\n") {
			return mention{}, false
		}
		word, tail := rest[1:1+end], rest[2+end:]
		if lines := regexp.MustCompile(`^#L?\d+(-L?\d+)?`).FindString(tail); lines != "" {
			word += lines
		}
		return pathIn(word, exists)
	}
	word := rest
	if end := strings.IndexAny(rest, " \t\r\n"); end >= 0 {
		word = rest[:end]
	}
	for range 10 {
		if m, ok := pathIn(word, exists); ok {
			return m, true
		}
		if word == "" || !strings.ContainsRune(".,;:!?)]}>\"'`", rune(word[len(word)-1])) {
			break
		}
		word = word[:len(word)-1] // a name may end with punctuation of the sentence
	}
	return mention{}, false
}

func pathIn(word string, exists func(path string) bool) (mention, bool) {
	if exists(word) {
		return mention{shown: word, path: word}, true
	}
	parts := mentionLines.FindStringSubmatch(word)
	if parts == nil || !exists(parts[1]) {
		return mention{}, false
	}
	m := mention{shown: word, path: parts[1]}
	m.first, _ = strconv.Atoi(parts[2]) // digits, few of them
	m.last = m.first
	if parts[3] != "" {
		m.last, _ = strconv.Atoi(parts[3])
	}
	return m, m.first > 0 && m.last >= m.first
}

// MentionedFiles returns the content of the files that a text mentions, as the tool Read shows it.
// The agent's permissions apply, and no question is asked. Words that name no file stay unchanged.
// Files that cannot be shown are reported to the user and to the model.
func MentionedFiles(ctx context.Context, h *cli.IO, s *App, text string) []llm.Block {
	if !strings.Contains(text, "@") {
		return nil
	}
	dir := s.Project
	exists := func(path string) bool {
		if path == "" || strings.ContainsRune(path, 0) {
			return false
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		_, err := os.Lstat(path)
		return err == nil
	}
	var blocks []llm.Block
	texts, images := 0, 0
	for i, m := range mentions(text, exists) {
		why := ""
		switch {
		case i >= maxMentions:
			why = fmt.Sprintf("more than %d files are mentioned", maxMentions)
		case texts >= maxMentionText || images >= maxMentionImage:
			why = "the files before it are long enough"
		default:
			r, err := s.showFile(ctx, m)
			if ctx.Err() != nil {
				return nil
			}
			if err == nil && r.IsError {
				err = errors.New(r.Text())
			}
			if err != nil {
				why = err.Error()
				break
			}
			blocks = append(blocks, llm.Text{Text: fmt.Sprintf("The user mentions @%s. What Read shows of it:\n\n%s", m.shown, r.Text())})
			for _, b := range r.Content {
				switch b := b.(type) {
				case llm.Text:
					texts += len(b.Text)
				case llm.Image:
					images += len(b.Data)
					blocks = append(blocks, b)
				case llm.Document:
					images += len(b.Data)
					blocks = append(blocks, b)
				}
			}
		}
		if why != "" {
			h.Warn("@%s is not added to the prompt: %s", m.shown, why)
			blocks = append(blocks, llm.Text{Text: fmt.Sprintf("The user mentions @%s, which is not shown here: %s", m.shown, why)})
		}
	}
	return blocks
}

// showFile runs the tool Read on a file under the agent's rules and policies.
func (s *App) showFile(ctx context.Context, m mention) (*tool.Result, error) {
	a := *s.Agent
	a.Tools, a.Toolsets = []tool.Tool{tools.Read(s.Workspace)}, nil
	a.AllowedTools, a.DisallowedTools, a.DeferredTools = nil, nil, nil
	a.CanUseTool, a.AskUser, a.Inbox, a.Context, a.Checkpoint, a.SmallModel = nil, nil, nil, nil, nil, nil
	a.Hooks = nil
	for _, h := range s.Agent.Hooks { // only hooks that guard and observe calls; no session starts here
		if h.On == hook.PreToolUse || h.On == hook.PostToolUse {
			a.Hooks = append(a.Hooks, h)
		}
	}
	input := map[string]any{"file_path": cmp.Or(m.path, ".")}
	if m.first > 0 {
		input["offset"], input["limit"] = m.first, m.last-m.first+1
	}
	data, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	return a.CallTool(ctx, "Read", data)
}
