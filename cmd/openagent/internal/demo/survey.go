package demo

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

const (
	surveyTodos     = `\b(TODO|FIXME)\b`
	surveyPlaces    = 6 // TODOs shown
	surveyCommits   = 5
	surveyLanguages = 6
)

// newSurvey makes the scenario survey: a folder of the user's, which is only read.
func newSurvey(c *demoCall, temp string) (*showing, error) {
	dir, err := filepath.Abs(c.dir)
	if err != nil {
		return nil, fmt.Errorf("finding the folder: %w", err)
	}
	ws := &workspace.Workspace{Root: dir, OutputDir: temp}
	return &showing{
		title: "survey", place: dir + " (only read: what would change something is denied)", workspace: ws,
		task:   "What is in this folder?",
		tools:  []tool.Tool{brief{tools.Read(ws)}, brief{tools.Glob(ws)}, brief{tools.Grep(ws)}, tools.Bash(ws)},
		policy: permission.Policy{Mode: permission.DontAsk},
		retry:  &agent.Retry{Tries: -1},
		answer: answerSurvey,
		next: [3]demoStep{
			{"openagent demo chaos", "works while everything goes wrong"},
			{"openagent doctor", "says what is missing for a real model"},
			{`openagent -p "What does this project do?"`, "asks a real model; needs a key"},
		},
	}, nil
}

// A brief tool must come to an end soon: a folder can be of any size.
type brief struct{ tool.Tool }

func (b brief) Spec() tool.Spec {
	s := b.Tool.Spec()
	s.Timeout = demoPatience
	return s
}

func (b brief) Classify(call tool.Call) tool.Traits { return toolrun.Classify(b.Tool, call) }

// answerSurvey is the model of the scenario survey. All it knows is in the results.
func answerSurvey(t *conversation) llmtest.Step {
	switch {
	case !t.has("files"):
		return llmtest.Step{Text: "First an overview: the files, the build, the version control.", Calls: uses(
			llmtest.Use("files", "Glob", map[string]string{"pattern": "**/*"}),
			llmtest.Use("builds", "Glob", map[string]string{"pattern": "{" + strings.Join(buildFiles(), ",") + "}"}),
			shell("git", "git rev-parse --is-inside-work-tree"))}
	case !t.has("kinds") && !t.failed("files") && t.fileCount() > 0:
		text := fmt.Sprintf("%s. Now what they are made of.", cli.Plural(t.fileCount(), "file"))
		return llmtest.Step{Text: text, Calls: t.details()}
	case !t.has("lines_0") && len(t.languages()) > 0:
		return llmtest.Step{Text: "The lines of each language, counted.", Calls: t.lineCounts()}
	}
	return llmtest.Say(t.surveyReport())
}

// details looks closer at a folder that is not empty.
func (t *conversation) details() []llm.ToolUse {
	const kinds = ` | grep -oE '[.][A-Za-z0-9]{1,12}"?$' | sort | uniq -c | sort -rn | head -n 40`
	calls := []llm.ToolUse{
		llmtest.Use("todo_count", "Grep", map[string]any{"pattern": surveyTodos, "output_mode": "count", "head_limit": 1}),
		llmtest.Use("todos", "Grep", map[string]any{"pattern": surveyTodos, "output_mode": "content", "head_limit": surveyPlaces}),
		shell("size", "du -sk ."),
	}
	if t.inGit() {
		calls = append(calls,
			shell("kinds", "git ls-files --cached --others --exclude-standard"+kinds),
			shell("largest", "git ls-tree -r -l HEAD | sort -k4,4nr | head -n 3"),
			shell("commits", "git rev-list --count HEAD"),
			shell("log", fmt.Sprintf("git --no-pager log -n %d --no-color --date=short --format='%%h %%ad %%s'", surveyCommits)))
	} else {
		calls = append(calls,
			shell("kinds", "find . -name .git -prune -o -type f -print"+kinds),
			shell("largest", "find . -name .git -prune -o -type f -size +0 -ls | sort -k7,7nr | head -n 3"))
	}
	for i, name := range t.readableBuilds() {
		calls = append(calls, llmtest.Use(buildID(i), "Read", map[string]any{"file_path": name, "limit": 400}))
	}
	return calls
}

// lineCounts counts the lines of the languages.
func (t *conversation) lineCounts() []llm.ToolUse {
	var calls []llm.ToolUse
	languages := t.languages()
	for i, l := range languages[:min(len(languages), surveyLanguages)] {
		calls = append(calls, llmtest.Use(linesID(i), "Grep", map[string]any{"pattern": "^", "glob": l.glob(), "output_mode": "count", "head_limit": 1}))
	}
	return calls
}

func buildID(i int) string { return fmt.Sprintf("build_%d", i) }
func linesID(i int) string { return fmt.Sprintf("lines_%d", i) }

func (t *conversation) inGit() bool { return strings.TrimSpace(t.output("git")) == "true" }

var (
	globCount = regexp.MustCompile(`(?m)^\((\d{1,9}) files match, of which`)
	grepCount = regexp.MustCompile(`(?m)^\(matching lines: (\d{1,12}), in files: (\d{1,9})\.\)$`)
	kindCount = regexp.MustCompile(`(?m)^ *(\d{1,9}) [.]([A-Za-z0-9]{1,12})"?$`)
)

// fileCount is how many files Glob found.
func (t *conversation) fileCount() int {
	text := t.output("files")
	if m := globCount.FindStringSubmatch(text); m != nil {
		return number(m[1])
	}
	n := 0
	for line := range strings.Lines(text) {
		if filepath.IsAbs(strings.TrimSpace(line)) {
			n++
		}
	}
	return n
}

// A language is one that files are written in.
type language struct {
	name       string
	extensions []string
}

// glob matches the files of the language.
func (l language) glob() string {
	if len(l.extensions) == 1 {
		return "*." + l.extensions[0]
	}
	return "*.{" + strings.Join(l.extensions, ",") + "}"
}

var knownLanguages = []language{
	{"Go", []string{"go"}}, {"Python", []string{"py", "pyi"}}, {"TypeScript", []string{"ts", "tsx", "mts"}},
	{"JavaScript", []string{"js", "jsx", "mjs", "cjs"}}, {"Rust", []string{"rs"}}, {"Java", []string{"java"}}, {"Kotlin", []string{"kt", "kts"}},
	{"C", []string{"c", "h"}}, {"C++", []string{"cc", "cpp", "cxx", "hpp", "hh"}}, {"C#", []string{"cs"}}, {"Ruby", []string{"rb"}},
	{"PHP", []string{"php"}}, {"Swift", []string{"swift"}}, {"Scala", []string{"scala"}}, {"Elixir", []string{"ex", "exs"}},
	{"Haskell", []string{"hs"}}, {"Lua", []string{"lua"}}, {"Perl", []string{"pl", "pm"}}, {"R", []string{"r", "R"}}, {"Dart", []string{"dart"}},
	{"Zig", []string{"zig"}}, {"Shell", []string{"sh", "bash", "zsh"}}, {"SQL", []string{"sql"}}, {"HTML", []string{"html", "htm"}},
	{"CSS", []string{"css", "scss", "sass", "less"}}, {"Vue", []string{"vue"}}, {"Svelte", []string{"svelte"}}, {"Protobuf", []string{"proto"}},
	{"Terraform", []string{"tf"}}, {"Markdown", []string{"md", "mdx"}}, {"YAML", []string{"yaml", "yml"}}, {"JSON", []string{"json"}}, {"TOML", []string{"toml"}},
	{"XML", []string{"xml"}}, {"Text", []string{"txt", "rst"}},
}

// languages are the known languages with the most files, by the endings of names.
func (t *conversation) languages() []language {
	byEnding := map[string]language{}
	for _, l := range knownLanguages {
		for _, e := range l.extensions {
			byEnding[e] = l
		}
	}
	var out []language
	seen := map[string]bool{}
	for _, m := range kindCount.FindAllStringSubmatch(t.output("kinds"), -1) {
		if l, ok := byEnding[m[2]]; ok && !seen[l.name] {
			seen[l.name] = true
			out = append(out, l)
		}
	}
	return out
}
