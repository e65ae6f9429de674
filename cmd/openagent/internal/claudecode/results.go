// Package claudecode holds the forms in which Claude Code reports results, ends and usage, for hosts
// that read its lines. All its functions are pure.
package claudecode

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// ToolResult returns the structured result of a call as Claude Code has it. A failed call is a text.
// read returns the text of a file that the call has changed, and false if it is not known; nil: none is.
func ToolResult(name string, input json.RawMessage, r *tool.Result, read func(path string) (string, bool)) json.RawMessage {
	if r.IsError {
		return encode("Error: " + r.Text())
	}
	switch name {
	case "Read":
		return readResult(r)
	case "Write", "Edit", "MultiEdit":
		return changeResult(name, input, r, read)
	case "Bash":
		return bashResult(input, r)
	case "Agent", "Task":
		return agentResult(input, r)
	}
	if strings.HasPrefix(name, "mcp__") {
		return encode(textBlocks(r))
	}
	if len(r.Details) > 0 {
		return r.Details
	}
	return encode(r.Text())
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// A block is a text of a result.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textBlocks(r *tool.Result) []block {
	list := []block{}
	for _, b := range r.Content {
		switch b := b.(type) {
		case llm.Text:
			list = append(list, block{"text", b.Text})
		case llm.Image:
			list = append(list, block{"text", "[image]"})
		case llm.Document:
			list = append(list, block{"text", "[document]"})
		}
	}
	return list
}

type readFile struct {
	FilePath   string `json:"filePath"`
	Content    string `json:"content"`
	NumLines   int    `json:"numLines"`
	StartLine  int    `json:"startLine"`
	TotalLines int    `json:"totalLines"`
}

func readResult(r *tool.Result) json.RawMessage {
	var f readFile
	if json.Unmarshal(r.Details, &f) != nil || f.NumLines == 0 {
		return encode(textBlocks(r))
	}
	f.Content = unnumbered(r.Text(), f.NumLines)
	if f.TotalLines == 0 {
		f.TotalLines = f.StartLine + f.NumLines - 1
	}
	return encode(struct {
		Type string   `json:"type"`
		File readFile `json:"file"`
	}{"text", f})
}

// unnumbered returns the first n lines of a text without their numbers.
func unnumbered(text string, n int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if n--; n < 0 {
			break
		}
		number, rest, ok := strings.Cut(line, "→")
		if _, err := strconv.Atoi(strings.TrimSpace(number)); ok && err == nil {
			line = rest
		}
		b.WriteString(line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// A Hunk is a part of a change of a file.
type Hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"` // with a space, + or - before each
}

// hunks reads a unified diff of one file. What it cannot read it leaves out.
func hunks(diff string) []Hunk {
	list := []Hunk{}
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if h, ok := hunkHead(line); ok {
			list = append(list, h)
			continue
		}
		if len(list) > 0 && line != "" && strings.ContainsRune(" +-\\", rune(line[0])) {
			last := &list[len(list)-1]
			last.Lines = append(last.Lines, line)
		}
	}
	return list
}

// hunkHead reads "@@ -1,2 +1,3 @@".
func hunkHead(line string) (h Hunk, ok bool) {
	rest, ok := strings.CutPrefix(line, "@@ -")
	rest, _, end := strings.Cut(rest, " @@")
	before, after, plus := strings.Cut(rest, " +")
	if !ok || !end || !plus {
		return h, false
	}
	h.Lines = []string{}
	h.OldStart, h.OldLines, ok = span(before)
	if ok {
		h.NewStart, h.NewLines, ok = span(after)
	}
	return h, ok
}

func span(s string) (start, lines int, ok bool) {
	first, count, has := strings.Cut(s, ",")
	start, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	lines = 1
	if has {
		lines, err = strconv.Atoi(count)
	}
	return start, lines, err == nil
}

func changeResult(name string, input json.RawMessage, r *tool.Result, read func(path string) (string, bool)) json.RawMessage {
	var change struct {
		FilePath string `json:"filePath"`
		Diff     string `json:"diff"`
		DiffCut  bool   `json:"diffCut"`
		Created  bool   `json:"created"`
	}
	if json.Unmarshal(r.Details, &change) != nil {
		return r.Details
	}
	var in struct {
		Content string `json:"content"`
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
		All     bool   `json:"replace_all"`
	}
	_ = json.Unmarshal(input, &in) // it was checked before the call
	parts := hunks(change.Diff)
	out := map[string]any{"filePath": change.FilePath, "structuredPatch": parts, "originalFile": nil}
	if read != nil && !change.Created && !change.DiffCut {
		if now, ok := read(change.FilePath); ok {
			if before, ok := original(now, parts); ok {
				out["originalFile"] = before
			}
		}
	}
	switch name {
	case "Write":
		out["type"], out["content"] = "update", in.Content
		if change.Created {
			out["type"] = "create"
		}
	case "Edit":
		out["oldString"], out["newString"], out["replaceAll"], out["userModified"] = in.Old, in.New, in.All, false
	}
	return encode(out)
}

// noOutput is what the tool says in place of no output.
const noOutput = "(no output)"

// bashResult has all output in stdout: commands write both streams to one pipe, which keeps the order.
func bashResult(input json.RawMessage, r *tool.Result) json.RawMessage {
	var d struct {
		Status     string `json:"status"`
		ExitCode   *int   `json:"exitCode"`
		Background bool   `json:"background"`
		ShellID    string `json:"shellId"`
	}
	_ = json.Unmarshal(r.Details, &d) // without details there is only the text
	text := strings.TrimRight(r.Text(), "\r\n")
	if text == noOutput {
		text = ""
	}
	out := map[string]any{"stdout": text, "stderr": "", "interrupted": d.ExitCode == nil && !d.Background && len(r.Details) > 0, "isImage": false, "noOutputExpected": text == ""}
	if d.Background {
		out["backgroundTaskId"] = d.ShellID
	}
	return encode(out)
}

func agentResult(input json.RawMessage, r *tool.Result) json.RawMessage {
	var d struct {
		AgentID    string         `json:"agentId"`
		Type       string         `json:"type"`
		Status     string         `json:"status"`
		Tools      map[string]int `json:"tools"`
		Usage      llm.Usage      `json:"usage"`
		DurationMS int64          `json:"durationMs"`
	}
	var in struct {
		Prompt      string `json:"prompt"`
		Description string `json:"description"`
	}
	if json.Unmarshal(r.Details, &d) != nil {
		return encode(textBlocks(r))
	}
	_ = json.Unmarshal(input, &in) // it was checked before the call
	if d.Status == "running" {
		return encode(map[string]any{"status": "async_launched", "isAsync": true, "agentId": d.AgentID, "description": in.Description, "prompt": in.Prompt, "outputFile": ""})
	}
	calls := 0
	for _, n := range d.Tools {
		calls += n
	}
	u := d.Usage
	return encode(map[string]any{"status": "completed", "agentId": d.AgentID, "agentType": d.Type, "prompt": in.Prompt, "content": textBlocks(r),
		"totalToolUseCount": calls, "totalDurationMs": d.DurationMS, "totalTokens": u.Input + u.Output + u.CacheRead + u.CacheWrite, "usage": UsageOf(u)})
}
