package report

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/openagent-go/agent/eval"
)

// checkJUnit checks that a report as JUnit XML parses again, with the counts that it says.
func checkJUnit(t *testing.T, r *eval.Report) testSuites {
	t.Helper()
	out := textOf(t, func(b *strings.Builder) error { return JUnit(b, r) })
	var back testSuites
	d := xml.NewDecoder(strings.NewReader(out))
	d.Strict = true
	if err := d.Decode(&back); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range out {
		if c < ' ' && c != '\n' && c != '\t' || c == 0xfffe || c == 0xffff {
			t.Errorf("the XML has the character %U", c)
		}
	}
	sum := testSuites{}
	for _, s := range back.Suites {
		counted := testSuite{Cases: s.Cases}
		counted.add()
		if counted.Tests != s.Tests || counted.Failures != s.Failures || counted.Errors != s.Errors {
			t.Errorf("suite %s says %d tests, %d failures and %d errors; it has %d, %d and %d", s.Name, s.Tests, s.Failures, s.Errors, counted.Tests, counted.Failures, counted.Errors)
		}
		sum.Tests += s.Tests
		sum.Failures += s.Failures
		sum.Errors += s.Errors
	}
	if sum.Tests != back.Tests || sum.Failures != back.Failures || sum.Errors != back.Errors {
		t.Errorf("the suites add up to %+v, the whole says %+v", sum, back)
	}
	return back
}

func TestJUnit(t *testing.T) {
	r := sample(4, 2)
	all := checkJUnit(t, r)
	if len(all.Suites) != 2 || all.Tests != len(r.Trials) || all.Errors != 1 || all.Failures == 0 {
		t.Fatalf("%+v", all)
	}
	byName := map[string]testCase{}
	for _, s := range all.Suites {
		for _, c := range s.Cases {
			if _, twice := byName[c.Class+" "+c.Name]; twice {
				t.Errorf("%s %s is there twice", c.Class, c.Name)
			}
			byName[c.Class+" "+c.Name] = c
		}
	}
	for _, trial := range r.Trials {
		c := byName["billing."+trial.Variant+" "+trial.Case+" #"+string(rune('0'+trial.Repetition))]
		switch {
		case trial.Error != "":
			if c.Error == nil || c.Error.Message != trial.Error {
				t.Errorf("%+v", c)
			}
		case trial.Passed:
			if c.Failure != nil || c.Error != nil || c.Out != "" {
				t.Errorf("%+v", c)
			}
		case c.Failure == nil || c.Failure.Message != "2 grades failed, first go test: exit code 1 --- FAIL: TestTotal (0.00s) total_test.go:21: total(3 × 19.99) = 59.96, want 59.97 FAIL" ||
			!strings.Contains(c.Failure.Text, "\n    total_test.go:21") || !strings.Contains(c.Failure.Text, "explains the change (judge): The answer does not say") || c.Out == "":
			t.Errorf("%+v %+v", c, c.Failure)
		}
	}
	for _, attack := range attacks {
		checkJUnit(t, hostile("plain "+attack))
	}
}

// An evaluation that stopped is an error also if all its trials passed, and so is a trial that
// claims to have passed without grades.
func TestJUnitFailsClosed(t *testing.T) {
	r := &eval.Report{Suite: "s", Stopped: "the budget is used up", Trials: []eval.Trial{{Case: "a", Variant: "v", Repetition: 1, Passed: true}}}
	if all := checkJUnit(t, r); all.Errors != 1 || all.Tests != 2 || all.Suites[1].Cases[0].Error.Message != "the budget is used up" {
		t.Errorf("%+v", all)
	}
	r.Stopped, r.Trials[0].Error = "", "no provider"
	if all := checkJUnit(t, r); all.Errors != 1 {
		t.Errorf("%+v", all)
	}
	r.Trials[0].Error, r.Trials[0].Passed = "", false
	if all := checkJUnit(t, r); all.Failures != 1 || all.Suites[0].Cases[0].Failure.Message != "the trial did not pass" {
		t.Errorf("%+v", all)
	}
}
