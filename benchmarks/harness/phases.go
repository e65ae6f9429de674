package harness

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// loop measures runs of o.Turns turns; a unit is a run.
func loop(p Peer, o Options, r *Result) error {
	if p.Agent == nil {
		return ErrAbsent
	}
	r.Point = strconv.Itoa(o.Turns)
	warm, err := p.Agent(Script{Turns: min(o.Turns, 10)})
	if err != nil {
		return err
	}
	if err := check(warm, min(o.Turns, 10)); err != nil {
		return err
	}
	run, err := p.Agent(Script{Turns: o.Turns})
	if err != nil {
		return err
	}
	return least(o, 1, r, func() error { return check(run, o.Turns) })
}

// check holds a conversation and makes sure that it was one.
func check(run Run, turns int) error {
	taken()
	text, err := run(context.Background())
	if err != nil {
		return err
	}
	if n := taken(); n != turns || text != Final {
		return fmt.Errorf("%d calls of the tool instead of %d, and the answer %q", n, turns, text)
	}
	return nil
}

// Piece is the text of each delta that the server of package wire sends.
const Piece = "some words of text"

// A Text takes in streamed text.
type Text struct {
	data    []byte
	arrived func(string) // told of each piece
}

// Write takes a piece.
func (t *Text) Write(piece string) {
	t.data = append(t.data, piece...)
	if t.arrived != nil {
		t.arrived(piece)
	}
}

func (p Peer) stream(o Options) (Stream, error) {
	make := p.Streams[cmp.Or(o.Point, ByAgent)]
	if make == nil {
		return nil, ErrAbsent
	}
	return make(o.URL)
}

// stream measures replies of o.Deltas pieces of text; a unit is a piece.
func stream(p Peer, o Options, r *Result) error {
	s, err := p.stream(o)
	if err != nil {
		return err
	}
	want := bytes.Repeat([]byte(Piece), o.Deltas)
	text := Text{data: make([]byte, 0, len(want))}
	return least(o, o.Deltas, r, func() error {
		text.data = text.data[:0]
		if err := s(context.Background(), &text); err != nil {
			return err
		}
		if !bytes.Equal(text.data, want) {
			return fmt.Errorf("%d bytes of text arrived instead of %d, or others", len(text.data), len(want))
		}
		return nil
	})
}

// first measures how long the first piece of text takes from the server's write
// to the reader. The piece is the time when it was sent. Wall is the median.
func first(p Peer, o Options, r *Result) error {
	s, err := p.stream(o)
	if err != nil {
		return err
	}
	var times []time.Duration
	for range o.Samples + 1 {
		seen := false
		text := Text{arrived: func(piece string) {
			if sent, err := strconv.ParseInt(piece, 10, 64); err == nil && !seen {
				seen = true
				times = append(times, time.Duration(time.Now().UnixNano()-sent))
			}
		}}
		if err := s(context.Background(), &text); err != nil {
			return err
		}
		if !seen {
			return fmt.Errorf("no first piece in %q", text.data)
		}
	}
	times = times[1:] // the first made the connection
	slices.Sort(times)
	r.Samples, r.Wall = len(times), float64(times[len(times)/2])
	return nil
}

// crowd measures o.Agents conversations at once with a model that takes 20 ms;
// the unit is all of them.
func crowd(p Peer, o Options, r *Result) error {
	agent := p.Agent
	if p.Once != nil {
		agent = p.Once
	}
	if agent == nil {
		return ErrAbsent
	}
	r.Point = strconv.Itoa(o.Agents)
	script := Script{Turns: o.Turns, Delay: 20 * time.Millisecond}
	warm, err := agent(Script{Turns: 1})
	if err != nil {
		return err
	}
	if err := check(warm, 1); err != nil {
		return err
	}
	runs := make([]Run, o.Agents)
	for i := range runs {
		if runs[i], err = agent(script); err != nil {
			return err
		}
	}
	runtime.GC()
	r.Before = peakRSS()
	var wg sync.WaitGroup
	errs := make([]error, o.Agents)
	done := make(chan struct{})
	most := make(chan int)
	go watch(done, most)
	a, err := read()
	if err != nil {
		return err
	}
	for i, run := range runs {
		wg.Go(func() {
			text, err := run(context.Background())
			if err == nil && text != Final {
				err = fmt.Errorf("the answer %q", text)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	b, err := read()
	if err != nil {
		return err
	}
	close(done)
	r.Goroutines = <-most
	r.PeakRSS, r.Samples = peakRSS(), 1
	r.CPU, r.Wall = float64(b.cpu-a.cpu), float64(b.at.Sub(a.at))
	r.Allocs, r.Bytes = float64(b.allocs-a.allocs), float64(b.bytes-a.bytes)
	wrong := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if n, want := taken(), o.Agents*o.Turns; n != want || len(wrong) > 0 {
		return fmt.Errorf("%d of %d conversations failed (%v); %d calls instead of %d", len(wrong), o.Agents, cmp.Or(wrong...), n, want)
	}
	return nil
}

// watch sends the largest number of goroutines seen until done.
func watch(done chan struct{}, most chan int) {
	t := time.NewTicker(5 * time.Millisecond)
	defer t.Stop()
	n := 0
	for {
		select {
		case <-t.C:
			n = max(n, runtime.NumGoroutine())
		case <-done:
			most <- n
			return
		}
	}
}

// build measures the making of an agent; a unit is an agent.
func build(p Peer, o Options, r *Result) error {
	var fresh func() (any, error)
	switch {
	case o.Point == "own" && p.Own != nil:
		fresh = p.Own
	case o.Point == "shared" && p.Shared != nil:
		agent, err := p.Shared()
		if err != nil {
			return err
		}
		fresh = func() (any, error) { return agent(), nil }
	default:
		return ErrAbsent
	}
	const units = 100
	kept := make([]any, units)
	work := func() error {
		for i := range kept {
			var err error
			if kept[i], err = fresh(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := least(o, units, r, work); err != nil {
		return err
	}
	clear(kept)
	empty := heap()
	if err := work(); err != nil {
		return err
	}
	r.Retained = max(0, heap()-empty) / units
	runtime.KeepAlive(kept)
	return nil
}

// heap returns the bytes that are reachable.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
