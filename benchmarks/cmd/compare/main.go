// Compare measures this library beside published ones and a loop written by
// hand, each in a process of its own, one phase at a time, and writes the
// figures to results/ and docs/performance.md.
//
//	go run ./cmd/compare -quick     a few minutes, on stdout only
//	go run ./cmd/compare            what the document shows
//	go run ./cmd/compare -render    the document again from the last results
//
// It is run in the folder benchmarks.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent/benchmarks/report"
)

func main() {
	log.SetFlags(log.Ltime)
	var p plan
	var peers, phases string
	quick := flag.Bool("quick", false, "few and short samples; as with -peers and -phases, the figures are printed only")
	render := flag.Bool("render", false, "measure nothing: make the document from the results there are")
	flag.StringVar(&peers, "peers", "", "only these programs, such as ours,eino")
	flag.StringVar(&phases, "phases", "", "only these phases: "+strings.Join(allPhases, ","))
	flag.IntVar(&p.rounds, "rounds", 3, "how often everything is measured; the least counts")
	flag.IntVar(&p.samples, "samples", 5, "samples of a round")
	flag.DurationVar(&p.sample, "sample", 50*time.Millisecond, "CPU time of a sample")
	flag.DurationVar(&p.limit, "limit", 20*time.Second, "begin no further sample of a point after this time")
	flag.Parse()
	if *quick {
		p.rounds, p.samples, p.sample, p.limit = 1, 3, 20*time.Millisecond, 3*time.Second
	}
	p.peers, p.phases = list(peers), list(phases)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, p, *quick, *render); err != nil {
		log.Fatal(err)
	}
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

const (
	results  = "results/compare.json"
	document = "../docs/performance.md"
	plot     = "../docs/performance.svg"
)

func run(ctx context.Context, p plan, quick, render bool) error {
	if _, err := os.Stat(document); err != nil {
		return fmt.Errorf("run this in the folder benchmarks: %w", err)
	}
	if render {
		r, err := read(results)
		if err != nil {
			return err
		}
		return report.Write(document, plot, r)
	}
	r, err := p.measure(ctx)
	if err != nil {
		return err
	}
	if quick || len(p.peers)+len(p.phases) > 0 { // ratios are of figures of one run
		return report.Print(os.Stdout, r)
	}
	if err := write(results, r); err != nil {
		return err
	}
	return report.Write(document, plot, r)
}

func read(file string) (report.Report, error) {
	var r report.Report
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return r, fmt.Errorf("reading results: %w", err)
	}
	return r, nil
}

func write(file string, r report.Report) error {
	var b strings.Builder
	if err := r.Encode(&b); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
