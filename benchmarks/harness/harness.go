// Package harness measures one agent library in a process of its own. A program
// hands its [Peer]s to [Main], which carries out the phase that its flags name
// and prints a [Result] as JSON.
//
// It depends on the standard library alone, so that a program holds the measured
// library and nothing that could speed it up or slow it down.
package harness

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"
)

// A Peer is one way to use a library. Fields left nil are phases that it cannot
// take part in.
type Peer struct {
	Name    string
	Library string // module path; "" is the program itself
	HTTP    bool   // Script is played as HTTP replies: the work of a provider's client is in the figures
	Wire    string // the API that Streams speak: anthropic, chat or responses

	// Agent makes an agent with the tool that Double does, whose model plays the
	// script. It is called before the clock runs.
	Agent func(Script) (Run, error)
	// Once is Agent for conversations that nobody goes on with, if there is another
	// way to hold them.
	Once func(Script) (Run, error)

	// Streams make clients of the API at a base URL. Agent goes through the
	// library's loop to the reader of its events; Client is the provider's client alone.
	Streams map[string]func(url string) (Stream, error)

	// Shared makes ten tools and returns what makes an agent with them; Own makes
	// the ten tools each time.
	Shared func() (func() any, error)
	Own    func() (any, error)
}

// Names of Streams.
const (
	ByAgent  = "agent"
	ByClient = "client"
)

// A Run holds one new conversation and returns the last text.
type Run func(context.Context) (string, error)

// A Stream sends one request and writes each piece of text that arrives to text.
type Stream func(ctx context.Context, text *Text) error

// A Result is what one process measured.
type Result struct {
	Peer    string `json:"peer"`
	Version string `json:"version,omitempty"`
	HTTP    bool   `json:"http,omitempty"`
	Wire    string `json:"wire,omitempty"`
	Phase   string `json:"phase"`
	Point   string `json:"point"`

	// For each unit: a run (loop), a delta (wire), an agent (build), all agents (crowd).
	CPU    float64 `json:"cpu_ns"`
	Wall   float64 `json:"wall_ns"`
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes"`

	PeakRSS    float64 `json:"peak_rss_mib,omitempty"`
	Before     float64 `json:"rss_before_mib,omitempty"`
	Goroutines int     `json:"goroutines,omitempty"`
	Retained   float64 `json:"retained_bytes,omitempty"`
	Size       float64 `json:"size_mb,omitempty"`
	Modules    int     `json:"modules,omitempty"`
	Samples    int     `json:"samples,omitempty"`
	Error      string  `json:"error,omitempty"`
}

// Options say which phase a process carries out.
type Options struct {
	Peer    string
	Phase   string // loop, wire, first, crowd, build
	Turns   int    // loop and crowd: calls of the tool in a run
	Agents  int    // crowd
	Deltas  int    // wire: what the server at URL sends
	Point   string // wire: the stream; build: shared or own
	URL     string // wire, first: the server's base URL
	Samples int
	Sample  time.Duration // CPU time that a sample takes at least
	Limit   time.Duration // after which no further sample is begun
	Profile string        // loop, wire: a file for a CPU profile
}

// Main is the main function of a peer's program.
func Main(peers ...Peer) {
	var o Options
	flag.StringVar(&o.Peer, "peer", peers[0].Name, "which `peer` of this program")
	flag.StringVar(&o.Phase, "phase", "loop", "loop, wire, first, crowd or build")
	flag.IntVar(&o.Turns, "turns", 10, "calls of the tool in a run")
	flag.IntVar(&o.Agents, "agents", 1000, "agents of phase crowd")
	flag.IntVar(&o.Deltas, "deltas", 2000, "text deltas that the server sends")
	flag.StringVar(&o.Point, "point", "", "agent or client (wire), shared or own (build)")
	flag.StringVar(&o.URL, "url", "", "base URL of the server (wire, first)")
	flag.IntVar(&o.Samples, "samples", 5, "the least of how many samples counts")
	flag.DurationVar(&o.Sample, "sample", 20*time.Millisecond, "CPU time of a sample, at least")
	flag.DurationVar(&o.Limit, "limit", 10*time.Second, "begin no further sample after this time")
	flag.StringVar(&o.Profile, "profile", "", "write a CPU profile of the samples to this `file`")
	flag.Parse()
	r := Measure(o, peers...)
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if r.Error != "" {
		os.Exit(1)
	}
}

// Measure carries out one phase. What goes wrong is in the Result's Error.
func Measure(o Options, peers ...Peer) Result {
	i := slices.IndexFunc(peers, func(p Peer) bool { return p.Name == o.Peer })
	if i < 0 {
		return Result{Peer: o.Peer, Phase: o.Phase, Error: "no such peer in this program"}
	}
	p := peers[i]
	r := Result{Peer: p.Name, Version: version(p.Library), HTTP: p.HTTP, Phase: o.Phase, Point: o.Point}
	var err error
	switch o.Phase {
	case "loop":
		err = loop(p, o, &r)
	case "wire":
		r.Wire = p.Wire
		err = stream(p, o, &r)
	case "first":
		r.Wire = p.Wire
		err = first(p, o, &r)
	case "crowd":
		err = crowd(p, o, &r)
	case "build":
		err = build(p, o, &r)
	default:
		err = fmt.Errorf("no phase %q", o.Phase)
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// ErrAbsent is matched where a Peer cannot take part in a phase.
var ErrAbsent = errors.New("the library has no such part")

func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok || module == "" {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path != module {
			continue
		}
		if m.Replace != nil {
			return "here"
		}
		return m.Version
	}
	return ""
}
