package eval

import (
	"context"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// Test runs each case of an evaluation as a subtest of its name, and fails it with the grades of
// the trials that did not pass. t is a *testing.T. Evaluation.Dir does not count.
//
//	func TestAgent(t *testing.T) {
//		suite, err := eval.Load("testdata/suite")
//		if err != nil {
//			t.Fatal(err)
//		}
//		eval.Test(t, eval.Evaluation{Suite: suite, Variants: variants})
//	}
func Test[T interface {
	Helper()
	Context() context.Context
	Run(name string, f func(T)) bool
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}](t T, e Evaluation) {
	t.Helper()
	if err := e.check(); err != nil {
		t.Fatalf("%v", err)
		return
	}
	for _, c := range e.Suite.Cases {
		t.Run(c.Name, func(t T) {
			t.Helper()
			suite, own := *e.Suite, e
			suite.Cases = []Case{c}
			own.Suite, own.Dir = &suite, ""
			report, err := own.Run(t.Context())
			if err != nil {
				t.Fatalf("%v", err)
				return
			}
			if report.Stopped != "" {
				t.Errorf("trials are missing: %s", report.Stopped)
			}
			for _, trial := range report.Trials {
				if !trial.Passed {
					t.Errorf("%s", trial.failure(len(e.Variants) > 1))
				}
			}
		})
	}
}

// failure says why a trial did not pass.
func (t *Trial) failure(variants bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "repetition %d", t.Repetition)
	if variants {
		fmt.Fprintf(&b, " of %s", t.Variant)
	}
	if t.Error != "" {
		return b.String() + ": " + t.Error
	}
	for _, g := range t.Grades {
		if !g.Passed {
			fmt.Fprintf(&b, "\n%s: %s", g.Grader, g.Detail)
		}
	}
	fmt.Fprintf(&b, "\nanswer (%s, %s): %s", t.End, text.Count(t.Turns, "turn"), text.Runes(t.Answer, 1000))
	return b.String()
}
