package report

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/internal/golden"
)

var update = flag.Bool("update", false, "write the files in testdata")

// The tables for a terminal.
func TestText(t *testing.T) {
	r := sample(8, 3)
	golden.File(t, "testdata/report.txt", textOf(t, func(b *strings.Builder) error { return Text(b, r) }), *update)
	once := sample(6, 1)
	once.Stopped = "the budget of 5 USD is used up"
	once.Trials[0].CostKnown = false
	golden.File(t, "testdata/once.txt", textOf(t, func(b *strings.Builder) error { return Text(b, once) }), *update)
	before, after := sample(12, 3), changedSample()
	golden.File(t, "testdata/comparison.txt", textOf(t, func(b *strings.Builder) error { return compared(t, before, after).Text(b) }), *update)
}

// changedSample is a sample in which the first variant got worse, and with another case.
func changedSample() *eval.Report {
	r := sample(13, 3)
	r.Cases, r.Variants = r.Cases[1:], r.Variants[:1]
	kept := []eval.Trial{}
	for _, t := range r.Trials {
		if t.Case == "rounding 01" || t.Variant != r.Variants[0] {
			continue
		}
		t.Passed = t.Repetition == 2 && len(t.Case)%2 == 0
		t.CostUSD *= 2
		kept = append(kept, t)
	}
	r.Trials = kept
	return r
}

// Neither text drives a terminal.
func TestTextIsSafe(t *testing.T) {
	for _, a := range attacks {
		r := hostile("plain " + a)
		out := textOf(t, func(b *strings.Builder) error { return Text(b, r) }) + textOf(t, func(b *strings.Builder) error { return compared(t, hostile("plain "+a), r).Text(b) })
		if strings.ContainsAny(out, "\x00\x1b\x07\r\v\u202e\u2028") {
			t.Errorf("with %.40q the text is %q", a, out)
		}
	}
}

func TestCompare(t *testing.T) {
	old, after := sample(12, 3), changedSample()
	c := compared(t, old, after)
	if worse := c.Worse(); len(worse) == 0 || !c.Significant() {
		t.Errorf("worse: %q, significant: %v", worse, c.Significant())
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Differences []struct {
			Cases, Unchanged int
			Better, Worse    []any
			OnlyOld          []string `json:"only_old"`
			OnlyNew          []string `json:"only_new"`
			P, Low, High     float64
			Rate             float64
		}
		OnlyOld []string `json:"only_old"`
		Worse   bool
	}
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	d := back.Differences[0]
	if len(back.Differences) != 1 || d.Cases != 11 || len(d.Better)+len(d.Worse)+d.Unchanged != 11 || d.Rate >= 0 || d.High < d.Rate || !back.Worse ||
		!reflect.DeepEqual(d.OnlyOld, []string{"rounding 01"}) || !reflect.DeepEqual(d.OnlyNew, []string{"invoice number 13"}) || !reflect.DeepEqual(back.OnlyOld, old.Variants[1:]) {
		t.Errorf("%s", data)
	}
	if c := compared(t, old, old); c.Significant() || c.Worse() != nil || c.c.Differences[0].P != 1 {
		t.Errorf("a report and itself: %+v", c.c)
	}
	// If each report has a single variant, the two are compared, also under different names.
	after.Variants = nil
	for i := range after.Trials {
		after.Trials[i].Variant = "another model"
	}
	before := &eval.Report{Suite: old.Suite, Trials: changedSample().Trials}
	if c := compared(t, before, after); len(c.c.Differences) != 1 || c.c.Differences[0].Cases != 12 || c.c.OnlyNew != nil {
		t.Errorf("%+v", c.c)
	}
	if _, err := Compare(old, after); err == nil || !strings.Contains(err.Error(), "the variants are claude-haiku-4-5, claude-haiku-4-5 with memory in the old one and another model in the new one") {
		t.Errorf("no variant in common: %v", err)
	}
	if _, err := Compare(before, &eval.Report{Trials: []eval.Trial{{Case: "another", Variant: "v"}}}); err == nil {
		t.Error("reports without a common case were compared")
	}
}

// The statistics as JSON have the figures of variants, tags and cases.
func TestJSON(t *testing.T) {
	out := textOf(t, func(b *strings.Builder) error { return JSON(b, sample(4, 2)) })
	var back summary
	if err := json.Unmarshal([]byte(out), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Variants) != 2 || len(back.Tags) != 2 || len(back.Cases) != 4 || len(back.Errors) != 1 || len(back.Differences) != 1 || back.Variants[0].Rate.Trials != 8 || len(back.Variants[0].Repeated) != 1 {
		t.Errorf("%s", out)
	}
	empty := textOf(t, func(b *strings.Builder) error { return JSON(b, &eval.Report{}) })
	if !strings.Contains(empty, `"variants": []`) {
		t.Errorf("%s", empty)
	}
	if htmlOf(t, &eval.Report{}) == "" || checkJUnit(t, &eval.Report{}).Tests != 0 || textOf(t, func(b *strings.Builder) error { return Text(b, &eval.Report{}) }) == "" {
		t.Error("an empty report has no forms")
	}
}

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "report.json")
	r := sample(3, 2)
	for range 2 { // also over an old one
		if err := Save(file, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{file, dir} {
		back, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, r) {
			t.Errorf("%+v", back)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%v", entries)
	}
	for content, want := range map[string]string{"": "reading the report", "[1]": "reading the report", `{"suite": 1}`: "suite", `{"suite": "s"}`: "it has no trials"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, err := Load(filepath.Join(dir, "none.json")); err == nil {
		t.Error("a missing report was read")
	}
	if err := Save(filepath.Join(dir, "none", "report.json"), r); err == nil {
		t.Error("a report was written to a missing folder")
	}
}
