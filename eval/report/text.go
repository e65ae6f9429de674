package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/turns"
)

// Lengths in runes.
const (
	maxName   = 60
	maxReason = 200
)

const noName = "(no name)"

// maxRows bounds the lists of a text.
const maxRows = 50

// A printer makes texts of a report fit to be shown.
type printer struct{ hide redact.Values }

func newPrinter() printer { return printer{redact.New(environ.Secrets())} }

// block returns a text of several lines, of at most limit bytes.
func (s printer) block(t string, limit int) string {
	return terminal.Text(text.Bytes(strings.TrimSpace(s.hide.Text(t)), limit))
}

// line returns a text as one line of at most limit runes.
func (s printer) line(t string, limit int) string {
	return terminal.Text(text.Runes(text.OneLine(text.Bytes(s.hide.Text(t), 20*limit)), limit))
}

func (s printer) name(t string) string { return cmp.Or(s.line(t, maxName), noName) }

func (s printer) reason(t string) string { return s.line(t, maxReason) }

// Text writes the statistics of a report as tables for a terminal.
func Text(w io.Writer, r *eval.Report) error {
	s, x := newPrinter(), summarize(r)
	b := &strings.Builder{}
	fmt.Fprintf(b, "suite %s: %s\n", s.name(r.Suite), extent(x))
	if r.Stopped != "" {
		fmt.Fprintf(b, "stopped before the end: %s\n", s.reason(r.Stopped))
	}
	rows := [][]string{}
	most := 0
	for _, v := range x.Variants {
		most = max(most, mostTrials(v.figures))
	}
	for _, v := range x.Variants {
		rows = append(rows, append([]string{s.name(v.Name)}, cells(v.figures, most)...))
	}
	table(b, append([]string{"VARIANT"}, columns(most)...), rows)
	s.writeTags(b, x)
	s.writeUnreliable(b, x)
	s.writeErrors(b, x.Errors)
	for _, d := range x.Differences {
		fmt.Fprintf(b, "\n%s against %s: %s\n", s.name(d.New), s.name(d.Old), verdict(d))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// extent says how large an evaluation was.
func extent(x *summary) string {
	parts := []string{text.Count(x.Trials, "trial"), text.Count(len(x.Cases), "case"), text.Count(len(x.Variants), "variant")}
	if took := x.Ended.Sub(x.Started); took > 0 && !x.Started.IsZero() {
		parts = append(parts, turns.Span(took))
	}
	return strings.Join(parts, ", ")
}

// columns are the heads of [cells]. Those of repeated trials are there only for most > 1.
func columns(most int) []string {
	list := []string{"PASSED", "RATE", "95% INTERVAL"}
	if most > 1 {
		k := strconv.Itoa(most)
		list = append(list, "PASS^"+k, "PASS@"+k)
	}
	return append(list, "ERRORS", "COST", "PER TRIAL", "TURNS", "MEDIAN", "P90", "TOKENS IN/OUT")
}

// cells are the figures of a row with the columns.
func cells(f figures, most int) []string {
	list := []string{fmt.Sprintf("%d of %d", f.Rate.Passed, f.Rate.Trials), percent(f.Rate.Value), span(f.Rate)}
	if most > 1 {
		always, ever := "-", "-"
		if n := len(f.Repeated); n == most-1 {
			always, ever = percent(f.Repeated[n-1].All), percent(f.Repeated[n-1].Any)
		}
		list = append(list, always, ever)
	}
	return append(list, strconv.Itoa(f.Errors), cost(f.CostUSD, f.CostKnown), cost(f.CostMean, f.CostKnown), amount(f.TurnsMean),
		turns.Span(f.TimeMedian), turns.Span(f.Time90), turns.Short(f.InputTokens)+"/"+turns.Short(f.Usage.Output))
}

// mostTrials is the largest number of trials of a case for which there are figures.
func mostTrials(list ...figures) (most int) {
	for _, f := range list {
		most = max(most, len(f.Repeated)+1)
	}
	return most
}

func (s printer) writeTags(b *strings.Builder, x *summary) {
	if len(x.Tags) == 0 {
		return
	}
	rows := [][]string{}
	for i, t := range x.Tags {
		if i == maxRows {
			break
		}
		for _, v := range t.Variants {
			rows = append(rows, []string{s.name(t.Name), s.name(v.Name), strconv.Itoa(v.Cases), fmt.Sprintf("%d of %d", v.Rate.Passed, v.Rate.Trials), percent(v.Rate.Value), span(v.Rate), cost(v.CostUSD, v.CostKnown)})
		}
	}
	b.WriteByte('\n')
	table(b, []string{"TAG", "VARIANT", "CASES", "PASSED", "RATE", "95% INTERVAL", "COST"}, rows)
	more(b, len(x.Tags)-maxRows)
}

// writeUnreliable lists the cases with a trial that did not pass.
func (s printer) writeUnreliable(b *strings.Builder, x *summary) {
	head := []string{"FAILED CASE"}
	for _, v := range x.Variants {
		head = append(head, s.name(v.Name))
	}
	rows := [][]string{}
	failed := 0
	for _, c := range x.Cases {
		row, ok := []string{s.name(c.Name)}, true
		for _, r := range c.Variants {
			ok = ok && r.Passed == r.Trials
			row = append(row, passes(r.Passed, r.Trials))
		}
		if ok {
			continue
		}
		if failed++; failed <= maxRows {
			rows = append(rows, row)
		}
	}
	if failed > 0 {
		b.WriteByte('\n')
		table(b, head, rows)
		more(b, failed-maxRows)
	}
}

func (s printer) writeErrors(b *strings.Builder, list []failure) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s without grades (counted as failed):\n", text.Count(len(list), "trial"))
	for i, f := range list {
		if i == maxRows {
			more(b, len(list)-maxRows)
			return
		}
		fmt.Fprintf(b, "  %s, %s, repetition %d: %s\n", s.name(f.Case), s.name(f.Variant), f.Repetition, s.reason(f.Error))
	}
}

// Text writes the comparison as tables for a terminal.
func (c *Comparison) Text(w io.Writer) error {
	s := newPrinter()
	b := &strings.Builder{}
	for i, d := range c.c.Differences {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%s: %s\n", s.pair(d), verdict(d))
		if d.Cases > 0 {
			most := mostTrials(d.OldFigures, d.NewFigures)
			rows := [][]string{append([]string{"old"}, cells(d.OldFigures, most)...), append([]string{"new"}, cells(d.NewFigures, most)...)}
			table(b, append([]string{"REPORT"}, columns(most)...), rows)
			b.WriteString(expense(d) + "\n")
		}
		s.writeChanges(b, "WORSE", d.Worse)
		s.writeChanges(b, "BETTER", d.Better)
		s.writeNames(b, "cases only in the old report", d.OnlyOld)
		s.writeNames(b, "cases only in the new report", d.OnlyNew)
	}
	s.writeNames(b, "variants only in the old report", c.c.OnlyOld)
	s.writeNames(b, "variants only in the new report", c.c.OnlyNew)
	_, err := io.WriteString(w, b.String())
	return err
}

// pair names the variants of a difference.
func (s printer) pair(d difference) string {
	if d.Old == d.New {
		return s.name(d.New)
	}
	return s.name(d.Old) + " → " + s.name(d.New)
}

func (s printer) writeChanges(b *strings.Builder, head string, list []change) {
	if len(list) == 0 {
		return
	}
	rows := [][]string{}
	for i, c := range list {
		if i == maxRows {
			break
		}
		rows = append(rows, []string{s.name(c.Case), passes(c.OldPassed, c.OldTrials), passes(c.NewPassed, c.NewTrials)})
	}
	b.WriteByte('\n')
	table(b, []string{head, "OLD", "NEW"}, rows)
	more(b, len(list)-maxRows)
}

func (s printer) writeNames(b *strings.Builder, what string, names []string) {
	if len(names) > 0 {
		fmt.Fprintf(b, "\n%s: %s\n", what, s.names(names))
	}
}

// names lists names.
func (s printer) names(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	shown := make([]string, min(len(list), maxRows))
	for i := range shown {
		shown[i] = s.name(list[i])
	}
	out := strings.Join(shown, ", ")
	if n := len(list) - len(shown); n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}

// verdict says in a line what changed.
func verdict(d difference) string {
	if d.Cases == 0 {
		return "no case in common"
	}
	chance := "may be chance"
	if d.Significant {
		chance = "beyond chance"
	}
	return fmt.Sprintf("%s points (95%% interval %s to %s), p = %s, %s; of %s %d better, %d worse, %d unchanged",
		points(d.Rate), points(d.Low), points(d.High), probability(d.P), chance, text.Count(d.Cases, "case"), len(d.Better), len(d.Worse), d.Unchanged)
}

// expense says in a line how costs, turns and times changed.
func expense(d difference) string {
	o, n := d.OldFigures, d.NewFigures
	return fmt.Sprintf("per trial: cost %s, turns %s, tool calls %s; median time %s",
		relative(o.CostMean, n.CostMean, o.CostKnown && n.CostKnown), relative(o.TurnsMean, n.TurnsMean, true), relative(o.CallsMean, n.CallsMean, true),
		relative(o.TimeMedian.Seconds(), n.TimeMedian.Seconds(), true))
}

// table writes rows below a head, in columns.
func table(b *strings.Builder, head []string, rows [][]string) {
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
}

func more(b *strings.Builder, n int) {
	if n > 0 {
		fmt.Fprintf(b, "… and %d more; the JSON has all\n", n)
	}
}

// passes is the result of a case.
func passes(passed, trials int) string {
	if trials == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", passed, trials)
}

// percent writes a share.
func percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + "%" }

func span(r Rate) string {
	return strconv.FormatFloat(100*r.Low, 'f', 1, 64) + "–" + percent(r.High)
}

// points writes a difference of shares in percentage points.
func points(v float64) string {
	s := strconv.FormatFloat(100*v, 'f', 1, 64)
	if v > 0 {
		return "+" + s
	}
	return strings.Replace(s, "-", "−", 1)
}

func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// cost writes an amount of dollars. Not all prices need be known.
func cost(usd float64, known bool) string {
	s := "$" + strconv.FormatFloat(usd, 'f', 2, 64)
	switch {
	case usd > 0 && usd < 0.00005:
		s = "<$0.0001"
	case usd > 0 && usd < 1:
		s = "$" + strconv.FormatFloat(usd, 'f', 4, 64)
	}
	switch {
	case known:
		return s
	case usd == 0:
		return "unknown"
	}
	return "at least " + s
}

func amount(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// relative says by how much a value changed.
func relative(old, new float64, known bool) string {
	switch {
	case !known:
		return "not comparable (a price is unknown)"
	case old == new:
		return "unchanged"
	case old <= 0:
		return "from 0"
	}
	s := strconv.FormatFloat(100*(new/old-1), 'f', 0, 64) + "%"
	if new > old {
		return "+" + s
	}
	return strings.Replace(s, "-", "−", 1)
}

// moment writes a time.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}
