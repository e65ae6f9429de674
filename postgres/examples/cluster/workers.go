package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// names are those of the workers.
var names = []string{"worker-1", "worker-2", "worker-3"}

// workers are the worker processes. One that was killed is started again after a while, as a
// cluster does.
type workers struct {
	url   string
	quick bool
	pace
	all sync.WaitGroup // those that wait for the ends of processes

	mu      sync.Mutex
	ended   bool
	running map[string]*process
	timers  []*time.Timer
}

// A process is a worker.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	gone  chan struct{}
}

func newWorkers(url string, hurry bool) *workers {
	w := &workers{url: url, quick: hurry, pace: slow, running: map[string]*process{}}
	if hurry {
		w.pace = quick
	}
	return w
}

// start starts a worker.
func (w *workers) start(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.running[name] != nil {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	p := &process{cmd: exec.Command(program), gone: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), databaseVar+"="+w.url, nameVar+"="+name)
	if w.quick {
		p.cmd.Env = append(p.cmd.Env, quickVar+"=1")
	}
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	w.running[name] = p
	w.all.Go(func() {
		_ = p.cmd.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.running, name)
		close(p.gone)
		if !w.ended {
			w.timers = append(w.timers, time.AfterFunc(w.restart, func() {
				if err := w.start(name); err != nil {
					fmt.Fprintf(os.Stderr, "starting %s: %v\n", name, err)
				}
			}))
		}
	})
	return nil
}

// kill kills a worker without a warning. It reports whether it ran.
func (w *workers) kill(name string) bool {
	w.mu.Lock()
	p := w.running[name]
	w.mu.Unlock()
	if p == nil {
		return false
	}
	_ = p.cmd.Process.Kill()
	<-p.gone
	return true
}

// pid returns the number of a worker's process, 0 if it was killed.
func (w *workers) pid(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.running[name]; p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// stop asks all workers to end, kills those that do not, and waits.
func (w *workers) stop() {
	w.mu.Lock()
	w.ended = true
	for _, t := range w.timers {
		t.Stop()
	}
	left := slices.Collect(maps.Values(w.running))
	w.mu.Unlock()
	for _, p := range left {
		_ = p.stdin.Close()
	}
	late, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	for _, p := range left {
		select {
		case <-p.gone:
		case <-late.Done():
			_ = p.cmd.Process.Kill()
			<-p.gone
		}
	}
	w.all.Wait()
}
