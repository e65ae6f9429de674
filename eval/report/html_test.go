package report

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/llm"
)

// The page and the comparison of a report with a text in every place that has one.
func pagesWith(t *testing.T, s string) (string, string) {
	t.Helper()
	r := hostile(s)
	old := hostile(s)
	for i := range old.Trials {
		old.Trials[i].Passed, old.Trials[i].Error = !r.Trials[i].Passed, ""
	}
	old.Cases, old.Trials = append(old.Cases, "only "+s), append(old.Trials, eval.Trial{Case: "only " + s, Variant: s + " one"})
	return htmlOf(t, r), textOf(t, func(b *strings.Builder) error { return compared(t, old, r).HTML(b) })
}

func hostile(s string) *eval.Report {
	r := &eval.Report{Suite: s, Started: began, Ended: began.Add(time.Minute), Variants: []string{s + " one", s + " two"}, Cases: []string{s + " a", s + " b"}, Stopped: s}
	for i, c := range r.Cases {
		for j, v := range r.Variants {
			t := eval.Trial{Case: c, Variant: v, Repetition: 1, Tags: []string{s}, Passed: i == j, Answer: s, End: s, Tools: []string{s, s}, Session: s, Workspace: s, Turns: 1,
				Usage:  llm.Usage{Input: 1},
				Grades: []eval.Grade{{Grader: s, Kind: s, Passed: i == j, Detail: s}, {Grader: s, Kind: s, Passed: true, Score: .5, Detail: s}}}
			if i > j {
				t.Error = s
			}
			r.Trials = append(r.Trials, t)
		}
	}
	return r
}

// structure returns the elements of a page with the names of their attributes, and the values of
// those that could load or run something.
func structure(t *testing.T, page string) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(n *html.Node, depth int)
	walk = func(n *html.Node, depth int) {
		if n.Type == html.CommentNode {
			t.Error("the page has a comment")
		}
		if n.Type == html.ElementNode {
			fmt.Fprint(&b, strings.Repeat(" ", depth), n.Data)
			for _, a := range n.Attr {
				fmt.Fprint(&b, " ", a.Key)
				if a.Key != "title" && a.Key != "aria-label" {
					fmt.Fprintf(&b, "=%q", a.Val)
				}
			}
			b.WriteByte('\n')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, depth+1)
		}
	}
	walk(doc, 0)
	return b.String()
}

var attacks = []string{
	`<script>alert(1)</script>`, `</pre></details></main><img src=x onerror=alert(1)>`, `" onmouseover="alert(1)`, `' style='x`, `</title></style><script src=//x></script>`,
	`<!-- `, `-->`, `]]>`, `{{.Title}}`, `&lt;b&gt;&#60;b&#62;`, `javascript:alert(1)`, "\u202egnp.exe", "a\x00b\x1b[31mred\x07", "\xff\xfe\xc0", "\ufffe\uffff", "line\r\nline\vline\u2028line",
	`<svg onload=alert(1)>`, `<meta http-equiv=refresh content="0;url=//x">`, `</textarea><form action=//x>`, strings.Repeat("<", 3000), strings.Repeat("é", 100), "🏴‍☠️",
}

// No text leaves its element: the pages have the same elements and attributes with any of them.
func TestHostileTextStaysText(t *testing.T) {
	page, comparison := pagesWith(t, "plain")
	want, wantComparison := structure(t, page), structure(t, comparison)
	for _, attack := range attacks {
		page, comparison := pagesWith(t, "plain "+attack)
		if got := structure(t, page); got != want {
			t.Errorf("with %.60q the page has other elements", attack)
		}
		if got := structure(t, comparison); got != wantComparison {
			t.Errorf("with %.60q the comparison has other elements", attack)
		}
	}
	if strings.Contains(want, "script") || strings.Contains(want, " src") || strings.Contains(want, " style=") {
		t.Error("the page has a script, a source or a style")
	}
}

func FuzzHostileText(f *testing.F) {
	for _, a := range attacks {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 2000 {
			return
		}
		page, comparison := pagesWith(t, "plain")
		gotPage, gotComparison := pagesWith(t, "plain "+s)
		if structure(t, gotPage) != structure(t, page) || structure(t, gotComparison) != structure(t, comparison) {
			t.Errorf("%q changes the elements of a page", s)
		}
		checkJUnit(t, hostile("plain "+s))
	})
}

// A page of 1,000 trials has at most 1 MB, even if all texts are long, and says which it leaves out.
// Failed trials keep more of their texts.
func TestPageSize(t *testing.T) {
	if page := htmlOf(t, sample(3, 1)); strings.Contains(page, "Long texts are cut") || strings.Contains(page, "Details of") {
		t.Error("a small page is cut")
	}
	big := sample(500, 1)
	for i := range big.Trials {
		big.Trials[i].Answer = strings.Repeat(`"<&>'`, 4000)
	}
	for name, r := range map[string]*eval.Report{"ordinary": sample(500, 1), "one case": sample(1, 500), "long": big, "many": sample(5000, 1)} {
		page := htmlOf(t, r)
		t.Logf("%s: %d trials, %d bytes", name, len(r.Trials), len(page))
		if len(page) > maxPage {
			t.Errorf("%s: the page has %d bytes", name, len(page))
		}
		if name == "long" && !strings.Contains(page, "Long texts are cut. The JSON report has all.") {
			t.Error("long: the page does not say that texts are cut")
		}
		if name == "many" && !regexp.MustCompile(`Details of \d+ of 10000 trials, failed ones first`).MatchString(page) {
			t.Error("many: the page does not say that trials are left out")
		}
	}
	worst := hostile(strings.Repeat(`"`, 5000))
	for len(worst.Trials) < 1000 {
		worst.Trials = append(worst.Trials, worst.Trials[:4]...)
	}
	if page := htmlOf(t, worst); len(page) > maxPage {
		t.Errorf("the worst page has %d bytes", len(page))
	}
	old := sample(5000, 1)
	for i := range old.Trials {
		old.Trials[i].Passed = true
	}
	if page := textOf(t, func(b *strings.Builder) error { return compared(t, old, sample(5000, 1)).HTML(b) }); len(page) > maxPage {
		t.Errorf("the comparison has %d bytes", len(page))
	}
}

// What the page shows: figures, a link from each case to its trials, errors and why it stopped.
func TestPageContent(t *testing.T) {
	r := sample(4, 2)
	r.Stopped = "the budget of 5 USD is used up"
	page := htmlOf(t, r)
	for _, want := range []string{"Stopped before the end: the budget of 5 USD is used up", `<a href="#c2">invoice number 03</a>`, `<section id="c2">`, "npm: command not found",
		"Bash ×2", "want 59.97", "judge, score 0.30", "Pass^2", "Against the first variant", "money"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Error("html/template rejected a value")
	}
}

// Secrets of the environment are in none of the forms.
func TestSecretsAreHidden(t *testing.T) {
	t.Setenv("BILLING_API_KEY", "sk-very-secret-value")
	r := hostile("x sk-very-secret-value")
	page, comparison := pagesWith(t, "x sk-very-secret-value")
	for name, out := range map[string]string{"HTML": page, "comparison": comparison,
		"text":  textOf(t, func(b *strings.Builder) error { return Text(b, r) }),
		"JUnit": textOf(t, func(b *strings.Builder) error { return JUnit(b, r) })} {
		if strings.Contains(out, "very-secret") || !strings.Contains(out, "***") {
			t.Errorf("%s shows a secret", name)
		}
	}
}

// A browser opens the pages without a violation of their policy and without a request. A page
// that breaks the policy shows that the test would see it.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser is slow")
	}
	program := installed.Chromium(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Host, "canary.test") {
			asked.Add(1)
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	open := func(page string) string {
		t.Helper()
		name := filepath.Join(dir, "page.html")
		if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync", "--disable-extensions", "--user-data-dir="+filepath.Join(dir, "profile"), "--proxy-server="+server.URL,
			"--virtual-time-budget=2000", "--enable-logging=stderr", "--dump-dom", "file://"+name)
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
		cmd.WaitDelay = 5 * time.Second
		var said strings.Builder
		cmd.Stderr = &said
		dom, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
		if !strings.Contains(string(dom), "</main>") {
			t.Fatalf("the browser shows %s", dom)
		}
		var lines []string
		for line := range strings.Lines(said.String()) {
			if strings.Contains(line, "CONSOLE") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	attack := strings.Join(attacks[:9], " ") + `<img src="http://canary.test/a.png">`
	page, comparison := pagesWith(t, attack)
	for _, p := range []string{page, comparison} {
		if said := open(strings.ReplaceAll(p, "<details ", "<details open ")); said != "" || asked.Load() > 0 {
			t.Errorf("%d requests; the browser says: %s", asked.Load(), said)
		}
	}
	slipped := strings.Replace(page, "<main>", `<main><img src="http://canary.test/a.png"><p style="color: red"></p>`, 1)
	if said := open(slipped); !strings.Contains(said, "Content Security Policy") || asked.Load() > 0 {
		t.Errorf("%d requests past the policy; the browser says: %s", asked.Load(), said)
	}
}
