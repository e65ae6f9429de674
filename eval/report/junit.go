package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/internal/text"
)

// Lengths in bytes of a JUnit report.
const (
	maxDetail = 8000
	maxAnswer = 4000
)

// JUnit writes a report as JUnit XML: a test suite for each variant, and a test for each case
// and repetition. Trials with an error are errors, those with a grade that did not pass are
// failures. If the evaluation stopped before its end, a test of its own has that error, so that
// nobody takes the rest for everything.
func JUnit(w io.Writer, r *eval.Report) error {
	s, x := newPrinter(), indexOf(r)
	all := testSuites{Name: s.name(r.Suite)}
	for _, v := range x.variants {
		suite := testSuite{Name: s.name(v)}
		if !r.Started.IsZero() {
			suite.Timestamp = r.Started.UTC().Format("2006-01-02T15:04:05")
		}
		var took time.Duration
		for _, trials := range x.trialsOf(v, x.cases) {
			for _, t := range trials {
				suite.Cases = append(suite.Cases, s.testCase(all.Name, t, len(trials) > 1))
				took += max(t.Duration, 0)
			}
		}
		suite.Time = seconds(took)
		all.Suites = append(all.Suites, suite)
	}
	if r.Stopped != "" {
		all.Suites = append(all.Suites, testSuite{Name: all.Name, Time: seconds(0), Cases: []testCase{{
			Name: "every trial was run", Class: all.Name, Time: seconds(0), Error: &problem{Message: s.reason(r.Stopped), Type: "stopped", Text: s.block(r.Stopped, maxDetail)},
		}}})
	}
	for i := range all.Suites {
		all.Suites[i].add()
		all.Tests += all.Suites[i].Tests
		all.Failures += all.Suites[i].Failures
		all.Errors += all.Suites[i].Errors
	}
	all.Time = seconds(max(r.Ended.Sub(r.Started), 0))
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	_, err := io.WriteString(w, xml.Header)
	if err == nil {
		err = e.Encode(all)
	}
	if err == nil {
		_, err = io.WriteString(w, "\n")
	}
	if err != nil {
		return fmt.Errorf("writing suite %q as JUnit XML: %w", r.Suite, err)
	}
	return nil
}

type testSuites struct {
	XMLName  xml.Name    `xml:"testsuites"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Suites   []testSuite `xml:"testsuite"`
}

type testSuite struct {
	Name      string     `xml:"name,attr"`
	Tests     int        `xml:"tests,attr"`
	Failures  int        `xml:"failures,attr"`
	Errors    int        `xml:"errors,attr"`
	Skipped   int        `xml:"skipped,attr"`
	Time      string     `xml:"time,attr"`
	Timestamp string     `xml:"timestamp,attr,omitempty"`
	Cases     []testCase `xml:"testcase"`
}

type testCase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    string   `xml:"time,attr"`
	Failure *problem `xml:"failure"`
	Error   *problem `xml:"error"`
	Out     string   `xml:"system-out,omitempty"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// add counts the tests of a suite.
func (s *testSuite) add() {
	for _, c := range s.Cases {
		s.Tests++
		switch {
		case c.Error != nil:
			s.Errors++
		case c.Failure != nil:
			s.Failures++
		}
	}
}

func (s printer) testCase(suite string, t *eval.Trial, repeated bool) testCase {
	c := testCase{Name: cmp.Or(s.line(t.Case, maxReason), noName), Class: suite + "." + s.name(t.Variant), Time: seconds(t.Duration)}
	if repeated {
		c.Name += " #" + strconv.Itoa(t.Repetition)
	}
	switch {
	case t.Error != "":
		c.Error = &problem{Message: s.reason(t.Error), Type: "error", Text: s.block(t.Error, maxDetail)}
	case !t.Passed:
		var lines []string
		names := 0
		message := ""
		for _, g := range t.Grades {
			if g.Passed {
				continue
			}
			if names++; names == 1 {
				message = g.Grader + ": " + g.Detail
			}
			lines = append(lines, fmt.Sprintf("%s (%s): %s", s.name(g.Grader), s.name(g.Kind), s.block(g.Detail, maxDetail)))
		}
		if names > 1 {
			message = text.Count(names, "grade") + " failed, first " + message
		}
		if names == 0 {
			message = "the trial did not pass"
		}
		c.Failure = &problem{Message: s.reason(message), Type: "grade", Text: strings.Join(lines, "\n")}
	}
	if c.Failure != nil || c.Error != nil {
		c.Out = s.block(t.Answer, maxAnswer)
	}
	return c
}

// seconds writes a time as JUnit does.
func seconds(d time.Duration) string { return strconv.FormatFloat(max(d, 0).Seconds(), 'f', 3, 64) }
