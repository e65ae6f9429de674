package report

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/internal/htmlpage"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/turns"
)

// maxPage is the size in bytes that a page of 1,000 trials does not exceed: texts are cut.
const maxPage = 1_000_000

//go:embed page.css
var style string

//go:embed page.tmpl
var pageText string

var pages = template.Must(template.New("").Parse(pageText))

// HTML writes a report as one page: figures of the variants with intervals, a table of cases
// and variants, and what each trial did. It has no script, loads nothing and opens from a file.
// A page of up to 1,000 trials has at most 1 MB: long texts are cut, and the page says so.
func HTML(w io.Writer, r *eval.Report) error {
	s, x, sum := newPrinter(), indexOf(r), summarize(r)
	title := "Evaluation " + s.name(r.Suite)
	err := writePage(w, title, "report", func(c cut) any { return s.reportPage(r, x, sum, title, c) })
	if err != nil {
		return fmt.Errorf("writing suite %q as HTML: %w", r.Suite, err)
	}
	return nil
}

// HTML writes the comparison as one page, as [HTML] does a report.
func (c *Comparison) HTML(w io.Writer) error {
	s := newPrinter()
	title := "Comparison of " + s.name(c.c.Old)
	if c.c.Old != c.c.New {
		title += " and " + s.name(c.c.New)
	}
	err := writePage(w, title, "comparison", func(l cut) any { return s.comparisonPage(c, title, l) })
	if err != nil {
		return fmt.Errorf("writing the comparison of suite %q as HTML: %w", c.c.New, err)
	}
	return nil
}

// A cut bounds what a page shows.
type cut struct {
	failed, passed int // bytes of each text of a trial
	trials, rows   int // trials and cases
}

// cuts are tried in this order, until the page is small enough.
var cuts = []cut{
	{16000, 16000, 2000, 2000}, {8000, 4000, 2000, 2000}, {4000, 1000, 2000, 2000}, {2000, 500, 2000, 2000}, {1000, 250, 2000, 2000},
	{500, 100, 2000, 2000}, {250, 50, 2000, 2000}, {100, 0, 1000, 1000}, {0, 0, 1000, 1000},
	{0, 0, 500, 1000}, {0, 0, 250, 1000}, {0, 0, 100, 500}, {0, 0, 50, 250}, {0, 0, 20, 100},
}

var errLarge = errors.New("the page is too large")

// A bounded writer keeps what is written, and refuses more than maxPage bytes.
type bounded struct{ page bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.page.Len()+len(p) > maxPage {
		return 0, errLarge
	}
	return b.page.Write(p)
}

// writePage writes a page, cut so that it is not too large.
func writePage(w io.Writer, title, name string, data func(cut) any) error {
	for _, c := range cuts {
		b := new(bounded)
		_, err := io.WriteString(b, htmlpage.Begin(title, style))
		if err == nil {
			err = pages.ExecuteTemplate(b, name, data(c))
		}
		if err == nil {
			_, err = io.WriteString(b, htmlpage.End)
		}
		if errors.Is(err, errLarge) {
			continue
		}
		if err == nil {
			_, err = w.Write(b.page.Bytes())
		}
		return err
	}
	return fmt.Errorf("%w: more than %d bytes without the texts of trials; use the JSON report", errLarge, maxPage)
}

// A bar is a rate, or a difference of rates, as a picture of 150 points.
type bar struct {
	Low, Width, At, Zero, Label string
}

func px(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

const barWidth = 150

func rateBar(r Rate) bar {
	at := func(v float64) float64 { return v * barWidth }
	return bar{Low: px(at(r.Low)), Width: px(at(r.High) - at(r.Low)), At: px(min(max(at(r.Value)-1.5, 0), barWidth-3)), Label: percent(r.Value) + ", interval " + span(r)}
}

func differenceBar(d difference) bar {
	at := func(v float64) float64 { return (v + 1) / 2 * barWidth }
	return bar{Low: px(at(d.Low)), Width: px(at(d.High) - at(d.Low)), At: px(min(max(at(d.Rate)-1.5, 0), barWidth-3)), Zero: px(barWidth/2 - 0.5), Label: points(d.Rate) + " points, interval " + points(d.Low) + " to " + points(d.High)}
}

// A named text.
type named struct{ Name, Text string }

// A cell of a table.
type cell struct{ Column, Class, Text string }

// A figureTable shows figures in rows.
type figureTable struct {
	Head    string
	Columns []string
	Rows    []figureRow
}

type figureRow struct {
	Name  string
	Rate  string
	Bar   bar
	Cells []cell
}

// newTable returns a table of figures. The names of its rows are below head.
func newTable(head string, names []string, list []figures) *figureTable {
	most := mostTrials(list...)
	t := &figureTable{Head: head, Columns: columns(most)}
	t.Columns = slices.Delete(t.Columns, 1, 3) // the rate and its interval are a picture
	for i, c := range t.Columns {
		t.Columns[i] = strings.ToUpper(c[:1]) + strings.ToLower(c[1:])
	}
	for i, f := range list {
		row := figureRow{Name: names[i], Rate: percent(f.Rate.Value) + " (" + span(f.Rate) + ")", Bar: rateBar(f.Rate)}
		for n, text := range slices.Delete(cells(f, most), 1, 3) {
			row.Cells = append(row.Cells, cell{Column: t.Columns[n], Text: text})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func variantTable(s printer, list []variant) *figureTable {
	names, all := make([]string, len(list)), make([]figures, len(list))
	for i, v := range list {
		names[i], all[i] = s.name(v.Name), v.figures
	}
	return newTable("Variant", names, all)
}

// A reportPage is what the template "report" shows.
type reportPage struct {
	Title, About, Stopped string
	Variants              *figureTable
	Tags                  []tagTable
	Differences           []pairBar
	Errors                []named
	Heads                 []string
	Matrix                []matrixRow
	MoreRows              string
	Cut                   string
	Groups                []group
}

type tagTable struct {
	Name  string
	Table *figureTable
}

type pairBar struct {
	Bar           bar
	Pair, Verdict string
}

type matrixRow struct {
	Name, Href string
	Good       bool
	Cells      []cell
}

// A group has the trials of a case.
type group struct {
	ID, Name, Tags string
	Good           bool
	Trials         []trialView
}

// A trialView is a trial as the page shows it.
type trialView struct {
	ID, Class, Name, Why, Took string
	Error                      string
	Grades                     []gradeView
	Facts                      []named
	Answer                     string
}

type gradeView struct{ Class, Name, Kind, Detail string }

func (s printer) reportPage(r *eval.Report, x *index, sum *summary, title string, c cut) *reportPage {
	p := &reportPage{Title: title, About: extent(sum), Stopped: s.reason(r.Stopped), Variants: variantTable(s, sum.Variants)}
	if began := moment(r.Started); began != "" {
		p.About += ", begun " + began
	}
	for i, t := range sum.Tags {
		if i == maxRows {
			break
		}
		p.Tags = append(p.Tags, tagTable{s.name(t.Name), variantTable(s, t.Variants)})
	}
	for _, d := range sum.Differences {
		p.Differences = append(p.Differences, pairBar{differenceBar(d), s.name(d.New) + " against " + s.name(d.Old), verdict(d)})
	}
	for i, e := range sum.Errors {
		if i == maxRows {
			p.Errors = append(p.Errors, named{text.Ellipsis, "and " + strconv.Itoa(len(sum.Errors)-maxRows) + " more"})
			break
		}
		p.Errors = append(p.Errors, named{fmt.Sprintf("%s, %s, repetition %d", s.name(e.Case), s.name(e.Variant), e.Repetition), s.reason(e.Error)})
	}
	for _, v := range x.variants {
		p.Heads = append(p.Heads, s.name(v))
	}
	shown := shownTrials(r, c.trials)
	ids := map[string]string{}
	short := false
	for i, name := range x.cases {
		g := group{ID: "c" + strconv.Itoa(i), Name: s.name(name), Good: true}
		for _, t := range x.tagsOf[name] {
			if g.Tags != "" {
				g.Tags += ", "
			}
			g.Tags += s.line(t, maxName)
		}
		g.Tags = text.Runes(g.Tags, maxReason)
		for _, v := range x.variants {
			for _, t := range x.trials[v][name] {
				if !shown[t] {
					continue
				}
				view, isShort := s.trial(t, v, c)
				short = short || isShort
				g.Good = g.Good && passed(t)
				g.Trials = append(g.Trials, view)
			}
		}
		if len(g.Trials) > 0 {
			ids[name] = "#" + g.ID
			p.Groups = append(p.Groups, g)
		}
	}
	p.matrix(s, sum, ids, c.rows)
	p.Cut = cutNote(short, len(shown), len(r.Trials))
	return p
}

// matrix fills the table of cases and variants.
func (p *reportPage) matrix(s printer, sum *summary, ids map[string]string, rows int) {
	for i, c := range sum.Cases {
		if i == rows {
			p.MoreRows = fmt.Sprintf("%d more cases are only in the JSON report.", len(sum.Cases)-rows)
			break
		}
		row := matrixRow{Name: s.name(c.Name), Href: ids[c.Name], Good: true}
		for _, r := range c.Variants {
			class := "some"
			switch {
			case r.Trials == 0:
				class = "none"
			case r.Passed == r.Trials:
				class = "all"
			case r.Passed == 0:
				class = "nothing"
			}
			row.Good = row.Good && (class == "all" || class == "none")
			row.Cells = append(row.Cells, cell{Class: class, Text: passes(r.Passed, r.Trials)})
		}
		p.Matrix = append(p.Matrix, row)
	}
}

// shownTrials chooses the trials whose details a page shows: those that failed come first.
func shownTrials(r *eval.Report, limit int) map[*eval.Trial]bool {
	shown := map[*eval.Trial]bool{}
	for _, good := range []bool{false, true} {
		for i := range r.Trials {
			if t := &r.Trials[i]; passed(t) == good && len(shown) < limit {
				shown[t] = true
			}
		}
	}
	return shown
}

func cutNote(short bool, shown, all int) string {
	var notes []string
	if shown < all {
		notes = append(notes, fmt.Sprintf("Details of %d of %d trials, failed ones first.", shown, all))
	}
	if short {
		notes = append(notes, "Long texts are cut.")
	}
	if notes == nil {
		return ""
	}
	return strings.Join(notes, " ") + " The JSON report has all."
}

// maxGrades bounds the grades of a trial on a page.
const maxGrades = 20

// trial returns a trial as pages show it, and whether a text of it was cut.
func (s printer) trial(t *eval.Trial, name string, c cut) (v trialView, short bool) {
	limit := c.failed
	v = trialView{Class: "bad", Name: s.name(name) + " #" + strconv.Itoa(t.Repetition)}
	if passed(t) {
		limit, v.Class = c.passed, "good"
	}
	block := func(text string) string {
		short = short || len(text) > limit
		if limit == 0 {
			return ""
		}
		return s.block(text, limit)
	}
	v.Took = fmt.Sprintf("%s · %s · %s", turns.Span(max(t.Duration, 0)), text.Count(max(t.Turns, 0), "turn"), cost(dollars(t.CostUSD), t.CostKnown))
	v.Error, v.Answer = block(t.Error), block(t.Answer)
	var why []string
	for _, good := range []bool{false, true} {
		for _, g := range t.Grades {
			if g.Passed != good {
				continue
			}
			if len(v.Grades) == maxGrades {
				short = true
				break
			}
			view := gradeView{Class: "no", Name: s.name(g.Grader), Kind: s.line(g.Kind, maxName), Detail: block(g.Detail)}
			if g.Passed {
				view.Class = "yes"
			} else {
				why = append(why, view.Name)
			}
			if g.Score > 0 && g.Score < 1 {
				view.Kind += ", score " + strconv.FormatFloat(g.Score, 'f', 2, 64)
			}
			v.Grades = append(v.Grades, view)
		}
	}
	switch {
	case t.Error != "":
		v.Why = "error: " + s.line(t.Error, maxName)
	case !t.Passed:
		v.Why = text.Runes(strings.Join(why, ", "), 2*maxName)
	}
	v.Facts = s.facts(t, limit)
	return v, short
}

// facts are the figures of a trial.
func (s printer) facts(t *eval.Trial, limit int) (list []named) {
	add := func(name, text string) {
		if text != "" {
			list = append(list, named{name, text})
		}
	}
	if end := s.line(t.End, maxName); end != "completed" {
		add("End", end)
	}
	if t.Prompts > 1 {
		add("Prompts", strconv.Itoa(t.Prompts))
	}
	add("Tools", s.line(toolCounts(t.Tools), max(maxName, min(limit, 500))))
	if n := t.Usage.Context() + t.Usage.Output; n > 0 {
		add("Tokens", turns.Short(t.Usage.Context())+"/"+turns.Short(t.Usage.Output))
	}
	add("Session", s.line(t.Session, maxName))
	add("Workspace", s.line(t.Workspace, maxReason))
	return list
}

// toolCounts says how often each tool was called, in the order of the first calls.
func toolCounts(tools []string) string {
	var order []string
	count := map[string]int{}
	for _, name := range tools {
		if count[name]++; count[name] == 1 {
			order = append(order, name)
		}
	}
	for i, name := range order {
		if n := count[name]; n > 1 {
			order[i] = name + " ×" + strconv.Itoa(n)
		}
	}
	return strings.Join(order, ", ")
}

// A comparisonPage is what the template "comparison" shows.
type comparisonPage struct {
	Title, About string
	Notes        []string
	Parts        []part
	Cut          string
}

// A part is a difference on a page.
type part struct {
	Pair, Points, Verdict, Class, Expense string
	Bar                                   bar
	Figures                               *figureTable
	Worse, Better                         []changeView
	Notes                                 []string
}

type changeView struct {
	Name, Was, Is string
	Trials        []trialView
}

func (s printer) comparisonPage(c *Comparison, title string, l cut) *comparisonPage {
	p := &comparisonPage{Title: title}
	p.About = fmt.Sprintf("old: %s of %s", text.Count(len(c.old.Trials), "trial"), moment(c.old.Started))
	p.About += fmt.Sprintf(" · new: %s of %s", text.Count(len(c.new.Trials), "trial"), moment(c.new.Started))
	p.Notes = append(p.Notes, s.onlyNotes("Variants", c.c.OnlyOld, c.c.OnlyNew)...)
	for _, r := range []*eval.Report{c.old, c.new} {
		if r.Stopped != "" {
			p.Notes = append(p.Notes, "A report is incomplete: "+s.reason(r.Stopped))
		}
	}
	after := indexOf(c.new)
	short, left := false, l.trials
	for _, d := range c.c.Differences {
		q := part{Pair: s.pair(d), Verdict: verdict(d), Bar: differenceBar(d), Points: points(d.Rate) + " points"}
		if d.Significant {
			q.Class = "better"
			if d.Rate < 0 {
				q.Class = "worse"
			}
		}
		if d.Cases > 0 {
			q.Figures = newTable("Report", []string{"old", "new"}, []figures{d.OldFigures, d.NewFigures})
			q.Expense = expense(d)
		}
		for _, ch := range d.Worse {
			view := changed(s, ch)
			for _, t := range after.trials[d.New][ch.Case] {
				if left--; left < 0 || passed(t) {
					continue
				}
				trial, isShort := s.trial(t, d.New, l)
				short = short || isShort
				view.Trials = append(view.Trials, trial)
			}
			q.Worse = append(q.Worse, view)
		}
		for _, ch := range d.Better {
			q.Better = append(q.Better, changed(s, ch))
		}
		if n := len(q.Worse) + len(q.Better); n > l.rows {
			q.Worse = q.Worse[:min(len(q.Worse), l.rows)]
			q.Better = q.Better[:min(len(q.Better), l.rows-len(q.Worse))]
			q.Notes = append(q.Notes, fmt.Sprintf("%d more cases that changed are only in the JSON form.", n-l.rows))
		}
		q.Notes = append(q.Notes, s.onlyNotes("Cases", d.OnlyOld, d.OnlyNew)...)
		p.Parts = append(p.Parts, q)
	}
	p.Cut = cutNote(short || left < 0, 0, 0)
	return p
}

func changed(s printer, c change) changeView {
	return changeView{Name: s.name(c.Case), Was: passes(c.OldPassed, c.OldTrials), Is: passes(c.NewPassed, c.NewTrials)}
}

// onlyNotes names what only one of two reports has.
func (s printer) onlyNotes(what string, old, new []string) (notes []string) {
	for _, side := range []struct {
		name  string
		names []string
	}{{"old", old}, {"new", new}} {
		if len(side.names) > 0 {
			notes = append(notes, fmt.Sprintf("%s only in the %s report: %s", what, side.name, s.names(side.names)))
		}
	}
	return notes
}
