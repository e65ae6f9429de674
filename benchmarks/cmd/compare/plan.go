package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/benchmarks/build"
	"github.com/openagent-go/agent/benchmarks/harness"
	"github.com/openagent-go/agent/benchmarks/report"
	"github.com/openagent-go/agent/benchmarks/wire"
)

// A program is a folder below peers, and the peers in it.
type program struct {
	name  string
	peers []string
}

var programs = []program{
	{"ours", []string{"ours", "ours (HTTP)", "ours (chat)"}},
	{"floor", []string{"floor", "floor (HTTP)"}},
	{"eino", []string{"eino"}},
	{"fantasy", []string{"fantasy"}},
	{"adk", []string{"adk"}},
	{"trpc", []string{"trpc-agent-go"}},
	{"anthropic", []string{"anthropic-sdk-go"}},
}

var allPhases = []string{"loop", "wire", "first", "crowd", "build", "size", "command"}

// A plan says what is measured and how well.
type plan struct {
	peers, phases   []string // empty: all
	rounds, samples int
	sample, limit   time.Duration
}

func (p plan) has(phase string) bool { return len(p.phases) == 0 || slices.Contains(p.phases, phase) }

// A bench is a measurement that goes on.
type bench struct {
	plan
	dir      string // of what was built
	url      string // of the server
	server   *server
	report   report.Report
	programs []program // that could be built
}

// server is the wire server, which knows the size of the largest request.
type server struct {
	wire.Server
	largest atomic.Int64
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for n := s.largest.Load(); r.ContentLength > n && !s.largest.CompareAndSwap(n, r.ContentLength); n = s.largest.Load() {
	}
	s.Server.ServeHTTP(w, r)
}

func (p plan) measure(ctx context.Context) (report.Report, error) {
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return report.Report{}, err
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return report.Report{}, err
	}
	b := &bench{plan: p, dir: dir, url: "http://" + l.Addr().String(), server: new(server), report: report.New()}
	s := &http.Server{Handler: b.server}
	go s.Serve(l)
	defer s.Close()
	b.build(ctx)
	for round := range p.rounds {
		log.Printf("round %d of %d", round+1, p.rounds)
		for _, phase := range allPhases {
			if p.has(phase) {
				b.phase(ctx, phase)
			}
			if err := ctx.Err(); err != nil {
				return b.report, err
			}
		}
	}
	b.report.Finish()
	return b.report, nil
}

// build makes the programs. One that cannot be made is reported and left out.
func (b *bench) build(ctx context.Context) {
	for _, p := range programs {
		if len(b.peers) > 0 && !slices.Contains(b.peers, p.name) {
			continue
		}
		log.Printf("building %s", p.name)
		if _, err := build.Program(ctx, b.dir, p.name, p.name, "."); err != nil {
			log.Print(err)
			b.report.Add(harness.Result{Peer: p.peers[0], Phase: "made", Error: err.Error()})
			continue
		}
		b.programs = append(b.programs, p)
	}
}

func (b *bench) phase(ctx context.Context, phase string) {
	switch phase {
	case "size":
		for _, p := range b.programs {
			b.size(ctx, p)
		}
		return
	case "command":
		b.command(ctx)
		return
	}
	for _, args := range b.points(phase) {
		for _, p := range b.programs {
			for _, peer := range p.peers {
				b.one(ctx, p, peer, phase, args)
			}
		}
	}
}

// points are the further arguments with which a phase is carried out.
func (b *bench) points(phase string) [][]string {
	switch phase {
	case "loop":
		return [][]string{{"-turns", "0"}, {"-turns", "10"}, {"-turns", "100"}, {"-turns", "1000"}}
	case "wire":
		at := func(point, mode, deltas string) []string {
			return []string{"-point", point, "-deltas", deltas, "-url", b.url + "/" + mode + "/" + deltas}
		}
		return [][]string{at("agent", "burst", "2000"), at("client", "burst", "2000"), at("agent", "flush", "2000"), at("agent", "burst", "20000")}
	case "first":
		return [][]string{{"-point", "agent", "-url", b.url + "/first", "-samples", "20"}}
	case "crowd":
		return [][]string{{"-agents", "1000", "-turns", "10"}}
	}
	return [][]string{{"-point", "shared"}, {"-point", "own"}}
}

// one measures one point of one peer in a process of its own.
func (b *bench) one(ctx context.Context, p program, peer, phase string, args []string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	args = slices.Concat([]string{"-peer", peer, "-phase", phase, "-samples", strconv.Itoa(b.samples), "-sample", b.sample.String(), "-limit", b.limit.String()}, args)
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, p.name), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var r harness.Result
	last := build.LastLines(string(out), 1) // some libraries log to stdout
	if jsonErr := json.Unmarshal([]byte(last), &r); jsonErr != nil {
		r = harness.Result{Peer: peer, Phase: phase, Error: fmt.Sprintf("%v: %s", cmp.Or(err, jsonErr), build.LastLines(stderr.String(), 3))}
	}
	if r.Error == harness.ErrAbsent.Error() {
		return
	}
	if phase == "wire" {
		mode, deltas := "burst", args[len(args)-3]
		if strings.Contains(args[len(args)-1], "/flush/") {
			mode = "flush"
		}
		r.Point += " " + mode + " " + deltas
	}
	log.Printf("%-8s %-18s %-18s %10.0f ns CPU %s", phase, peer, r.Point, r.CPU, r.Error)
	b.report.Add(r)
}

// size builds and runs a peer's least program.
func (b *bench) size(ctx context.Context, p program) {
	r := harness.Result{Peer: p.peers[0], Phase: "size", Point: "minimal"}
	if err := b.minimal(ctx, p, &r); err != nil {
		r.Error = err.Error()
	}
	log.Printf("%-8s %-18s %.1f MB, %d modules, %.1f ms %s", "size", r.Peer, r.Size, r.Modules, r.Wall/1e6, r.Error)
	b.report.Add(r)
}

func (b *bench) minimal(ctx context.Context, p program, r *harness.Result) error {
	file, err := build.Program(ctx, b.dir, p.name+"-minimal", p.name, "./minimal")
	if err != nil {
		return err
	}
	if r.Size, r.Modules, err = inspect(file); err != nil {
		return err
	}
	for range 10 {
		cmd := exec.CommandContext(ctx, file)
		cmd.Env = append(os.Environ(), "BASE_URL="+b.url+"/agent")
		took, err := timed(cmd, harness.Final)
		if err != nil {
			return err
		}
		r.Wall = min(cmp.Or(r.Wall, took), took)
		r.Samples++
	}
	return nil
}

// timed runs a program that has to print want, and returns how long it took in ns.
func timed(cmd *exec.Cmd, want string) (float64, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	out, err := cmd.Output()
	took := float64(time.Since(start))
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, build.LastLines(stderr.String(), 3))
	}
	if !strings.Contains(string(out), want) {
		return 0, fmt.Errorf("it printed %q", out)
	}
	return took, nil
}
