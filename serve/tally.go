package serve

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
)

// A tally counts what facts tell about money, tools and files. The zero value is that of no facts.
// Rewound facts count too: their money is spent.
type tally struct {
	models map[string]*spending
	days   map[string]*spending // by local date
	tools  map[string]*toolUse
	files  map[string]*fileUse
	calls  map[string]calledTool // that have no result yet
}

// A spending is what answers of models took.
type spending struct {
	Calls    int       `json:"calls"`
	Usage    llm.Usage `json:"usage"`
	USD      float64   `json:"usd"`
	Unpriced bool      `json:"unpriced,omitempty"` // USD lacks calls whose price is not known
}

func (s *spending) add(calls int, u llm.Usage, usd *float64) {
	s.Calls += calls
	s.Usage = s.Usage.Add(u)
	if usd != nil {
		s.USD += *usd
	} else if u != (llm.Usage{}) {
		s.Unpriced = true
	}
}

func (s *spending) merge(o *spending) {
	s.add(o.Calls, o.Usage, &o.USD)
	s.Unpriced = s.Unpriced || o.Unpriced
}

// A toolUse is what calls of a tool did.
type toolUse struct {
	calls, errors, denied int
	times                 []time.Duration // of calls that ran
}

// A fileUse is what calls did with a file.
type fileUse struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`   // lines
	Deleted int    `json:"deleted"` // lines
	Changes int    `json:"changes"` // calls that changed it
	Reads   int    `json:"reads"`   // calls that read it
	Seq     int64  `json:"seq"`     // of the last of these results
}

type calledTool struct{ name, path string }

// entry returns the element of a map, which it makes if it is missing.
func entry[T any](m *map[string]*T, key string) *T {
	if *m == nil {
		*m = map[string]*T{}
	}
	if (*m)[key] == nil {
		(*m)[key] = new(T)
	}
	return (*m)[key]
}

func (t *tally) spend(when time.Time, model string, calls int, u llm.Usage, usd *float64) {
	entry(&t.models, model).add(calls, u, usd)
	entry(&t.days, when.Local().Format(time.DateOnly)).add(calls, u, usd)
}

// apply counts a fact.
func (t *tally) apply(e event.Event) {
	switch d := e.Data.(type) {
	case event.AssistantMessage:
		t.spend(e.Time, d.Model, 1, d.Response.Usage, d.CostUSD)
		for i, u := range d.Response.Message.ToolUses() {
			if t.calls == nil {
				t.calls = map[string]calledTool{}
			}
			t.calls[callID(e.Seq, i)] = calledTool{u.Name, inputPath(u.Input)}
		}
	case event.ModelFailed:
		t.spend(e.Time, d.Model, 1, d.Usage, d.CostUSD)
	case event.Compacted:
		t.spend(e.Time, "", 1, d.Usage, d.CostUSD)
	case fact.ToolAmended:
		t.spend(e.Time, "", 1, d.Usage, d.CostUSD)
	case event.AgentEnd:
		for name, s := range d.Models {
			t.spend(e.Time, name, 0, s.Usage, s.CostUSD)
		}
		if len(d.Models) == 0 {
			t.spend(e.Time, "", 0, d.Usage, d.CostUSD)
		}
	case event.ToolResult:
		t.result(e, d)
	}
}

func (t *tally) result(e event.Event, d event.ToolResult) {
	c, known := t.calls[d.Call]
	delete(t.calls, d.Call)
	if !known && e.Call != nil { // a part of a batch
		c = calledTool{e.Call.Tool, inputPath(e.Call.Input)}
	}
	if c.name == "" {
		return
	}
	u := entry(&t.tools, c.name)
	u.calls++
	switch {
	case d.Cause == fact.ByDenial:
		u.denied++
		return
	case d.Result.IsError:
		u.errors++
	}
	u.times = append(u.times, d.Duration)
	if d.Result.IsError {
		return
	}
	changed := false
	for _, c := range changesIn(d.Result.Details, c.path) {
		f := entry(&t.files, c.path)
		f.Path, f.Seq = c.path, e.Seq
		f.Added, f.Deleted, f.Changes = f.Added+c.added, f.Deleted+c.deleted, f.Changes+1
		changed = true
	}
	if !changed && c.path != "" && c.name == "Read" {
		f := entry(&t.files, c.path)
		f.Path, f.Seq = c.path, e.Seq
		f.Reads++
	}
}

// merge adds what another tally has counted, without its files.
func (t *tally) merge(o *tally) {
	for name, s := range o.models {
		entry(&t.models, name).merge(s)
	}
	for day, s := range o.days {
		entry(&t.days, day).merge(s)
	}
	for name, u := range o.tools {
		to := entry(&t.tools, name)
		to.calls, to.errors, to.denied, to.times = to.calls+u.calls, to.errors+u.errors, to.denied+u.denied, append(to.times, u.times...)
	}
}

// inputPath returns the file that a call is about, "" for none.
func inputPath(input json.RawMessage) string {
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	if in.File == "" {
		in.File = in.Notebook
	}
	return in.File
}

// A change is what a call did to a file, as its result tells.
type change struct {
	path           string
	added, deleted int
	diff           string
}

// changesIn returns the changes of files that the details of a result tell about. path is the file of
// a diff that names none.
func changesIn(details json.RawMessage, path string) []change {
	var d struct{ Diff string }
	if len(details) == 0 || json.Unmarshal(details, &d) != nil || d.Diff == "" {
		return nil
	}
	var list []change
	begin, old := 0, ""
	lines := slices.Collect(strings.Lines(d.Diff))
	flush := func(end int, next string) {
		if len(list) > 0 {
			c := &list[len(list)-1]
			c.diff = strings.Join(lines[begin:end], "")
		}
		begin = end
		list = append(list, change{path: next})
	}
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ "):
			old = name(line)
		case strings.HasPrefix(line, "+++ ") && i > 0 && strings.HasPrefix(lines[i-1], "--- "):
			next := name(line)
			if next == "/dev/null" {
				next = old
			}
			if path != "" { // as the call names it
				next = path
			}
			flush(i-1, next)
		case len(list) == 0:
			list = append(list, change{path: path})
			fallthrough
		default:
			c := &list[len(list)-1]
			switch line[0] {
			case '+':
				c.added++
			case '-':
				c.deleted++
			}
		}
	}
	if n := len(list); n > 0 {
		list[n-1].diff = strings.Join(lines[begin:], "")
	}
	return slices.DeleteFunc(list, func(c change) bool { return c.path == "" })
}

// name returns the file of a line of a diff that names one.
func name(line string) string {
	file, _, _ := strings.Cut(strings.TrimRight(line[4:], "\r\n"), "\t")
	if rest, ok := strings.CutPrefix(file, "a/"); ok {
		file = rest
	} else if rest, ok := strings.CutPrefix(file, "b/"); ok {
		file = rest
	}
	return file
}

// percentile returns the time that a share of all times does not exceed. It sorts them.
func percentile(times []time.Duration, share float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(int(share*float64(len(times))), len(times)-1)]
}

// inDir returns a path as seen from a folder, if it lies in it.
func inDir(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); dir != "" && err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// A modelSpending is a spending with the name of its model, "" for summaries and digests.
type modelSpending struct {
	name string
	*spending
}

// byModel returns the spending, the dearest model first.
func (t *tally) byModel() []modelSpending {
	var list []modelSpending
	for name, s := range t.models {
		if s.Calls > 0 || s.Usage != (llm.Usage{}) {
			list = append(list, modelSpending{name, s})
		}
	}
	slices.SortFunc(list, func(a, b modelSpending) int {
		return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(b.Usage.Context(), a.Usage.Context()), cmp.Compare(a.name, b.name))
	})
	return list
}

// fileList returns the files: those that were changed first, then the latest first.
func (t *tally) fileList() []fileUse {
	var list []fileUse
	for _, f := range t.files {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b fileUse) int {
		return cmp.Or(cmp.Compare(min(b.Changes, 1), min(a.Changes, 1)), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.Path, b.Path))
	})
	return list
}

func callID(seq int64, i int) string { return "c" + strconv.FormatInt(seq, 10) + "." + strconv.Itoa(i) }
