package report

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/benchmarks/harness"
)

func sample() Report {
	r := Report{Date: "2026-01-02"}
	for _, peer := range []string{"ours", "ours (HTTP)", "other"} {
		for point, cpu := range map[string]float64{"0": 1e3, "10": 21e3, "100": 401e3, "1000": 8001e3} {
			r.Add(harness.Result{Peer: peer, HTTP: strings.Contains(peer, "HTTP"), Phase: "loop", Point: point, CPU: cpu, Allocs: cpu / 100, Bytes: cpu})
		}
	}
	r.Add(harness.Result{Peer: "gone", Phase: "made", Error: "refused\nby the proxy"})
	return r
}

func TestLeastIsKept(t *testing.T) {
	var r Report
	r.Add(harness.Result{Peer: "a", Phase: "loop", CPU: 5, Allocs: 2, Samples: 1})
	r.Add(harness.Result{Peer: "a", Phase: "loop", CPU: 3, Allocs: 4, Samples: 1})
	if o := r.Results[0]; len(r.Results) != 1 || o.CPU != 3 || o.Allocs != 2 || o.Samples != 2 {
		t.Errorf("%+v", r.Results)
	}
	r.Add(harness.Result{Peer: "a", Phase: "loop", Error: "wrong answer"})
	if r.find("a", "loop", "") != nil {
		t.Error("a point that failed once has a figure")
	}
}

func TestTurn(t *testing.T) {
	if got := sample().turn("ours", 10).CPU; got != 2e3 {
		t.Errorf("a turn takes %v, want 2000", got)
	}
	if sample().turn("nobody", 10) != nil {
		t.Error("a turn of nobody")
	}
}

func TestEncode(t *testing.T) {
	var b strings.Builder
	r := sample()
	if err := r.Encode(&b); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil {
		t.Fatalf("%v in %s", err, b.String())
	}
	if len(back.Results) != len(r.Results) || back.Results[1] != r.Results[1] {
		t.Errorf("%+v", back)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	doc, svg := filepath.Join(dir, "d.md"), filepath.Join(dir, "p.svg")
	var text strings.Builder
	text.WriteString("# Before\n")
	for _, s := range sections {
		text.WriteString("<!-- compare: " + s.name + " -->\nold\n<!-- end -->\nkept " + s.name + "\n")
	}
	if err := os.WriteFile(doc, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // writing again changes nothing more
		if err := Write(doc, svg, sample()); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	got := string(data)
	for _, want := range []string{"# Before", "kept size", "| other | 1 | 2 | 4 | 8 |", "gone", "refused by the proxy", "| CPU per turn, 10 turns | 15 µs | 2 µs | met |",
		"| growth of a turn's CPU, 10 to 1000 turns | 1.2x | 4x | **missed** |"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") || strings.Count(got, "| other |") != 1 {
		t.Errorf("not replaced:\n%s", got)
	}
	if err := os.WriteFile(doc, []byte("no marks"), 0o644); err != nil {
		t.Fatal(err)
	}
	if Write(doc, svg, sample()) == nil {
		t.Error("a document without marks was written")
	}
}

func TestPlotIsXML(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(sample().plot()))
	names := 0
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "polyline" {
			names++
		}
	}
	if names != 3 {
		t.Errorf("%d lines, want 3", names)
	}
}

func TestApart(t *testing.T) {
	places := []float64{390, 391, 100, 389, 101}
	got := apart(places, 16)
	for i := range got {
		for j := range got {
			if i != j && max(got[i]-got[j], got[j]-got[i]) < 16 {
				t.Errorf("%v: %d and %d touch", got, i, j)
			}
		}
	}
	if slices.Max(got) > bottom {
		t.Errorf("%v leaves the picture", got)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.154: "0.15", 1.26: "1.3", 12: "12", 123.4: "123", 12345: "12,345", 1234567: "1,234,567", -1500: "-1,500"} {
		if got := number(v); got != want {
			t.Errorf("%v is shown as %s, want %s", v, got, want)
		}
	}
}
