package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent/benchmarks/build"
	"github.com/openagent-go/agent/benchmarks/harness"
)

// inspect returns the size of a program in MB and the number of modules linked
// into it beside its own and those of this repository.
func inspect(file string) (mb float64, modules int, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, 0, err
	}
	build, err := buildinfo.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	for _, m := range build.Deps {
		if m.Replace == nil {
			modules++
		}
	}
	return float64(info.Size()) / 1e6, modules, nil
}

// command measures the command openagent: its start, its first request, its
// memory while it waits.
func (b *bench) command(ctx context.Context) {
	file, buildErr := b.openagent(ctx)
	for _, m := range []struct {
		point string
		do    func(context.Context, string, *harness.Result) error
	}{{"version", b.version}, {"first request", b.firstRequest}, {"idle", b.idle}} {
		r := harness.Result{Peer: "openagent", Phase: "command", Point: m.point, Samples: 1}
		err := buildErr
		if err == nil {
			err = m.do(ctx, file, &r)
		}
		if err != nil {
			r.Error = err.Error()
		}
		log.Printf("%-8s %-18s %s", r.Phase, r.Point, r.Error)
		b.report.Add(r)
	}
}

// openagent builds the command.
func (b *bench) openagent(ctx context.Context) (string, error) {
	file, err := filepath.Abs(filepath.Join(b.dir, "openagent"))
	if err != nil {
		return "", err
	}
	workspace, err := filepath.Abs(filepath.Join("..", "go.work"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./cmd/openagent")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOWORK="+workspace, "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, build.LastLines(string(out), 5))
	}
	return file, nil
}

func (b *bench) version(ctx context.Context, file string, r *harness.Result) error {
	for range 20 {
		took, err := timed(exec.CommandContext(ctx, file, "version"), "openagent")
		if err != nil {
			return err
		}
		r.Wall = min(cmp.Or(r.Wall, took), took)
		r.Samples++
	}
	return nil
}

// at returns the command with arguments, in an empty folder with an empty home.
func (b *bench) at(ctx context.Context, file string, args ...string) (*exec.Cmd, error) {
	home, err := os.MkdirTemp(b.dir, "home-")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, file, append([]string{"--base-url", b.url + "/agent", "--model", "claude-sonnet-4-6", "--no-session-persistence"}, args...)...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "XDG_STATE_HOME="+home, "ANTHROPIC_API_KEY=none")
	return cmd, nil
}

// firstRequest puts the size of the request for a short prompt into Bytes. The
// run may make one request only.
func (b *bench) firstRequest(ctx context.Context, file string, r *harness.Result) error {
	b.server.largest.Store(0)
	cmd, err := b.at(ctx, file, "--max-turns", "1", "-p", "Hello.")
	if err != nil {
		return err
	}
	out, runErr := cmd.CombinedOutput() // ends for want of turns
	if b.server.largest.Load() == 0 {
		return fmt.Errorf("no request came: %w: %s", runErr, build.LastLines(string(out), 3))
	}
	r.Bytes = float64(b.server.largest.Load())
	return nil
}

// idle puts the memory of a command that waits for input into PeakRSS.
func (b *bench) idle(ctx context.Context, file string, r *harness.Result) error {
	cmd, err := b.at(ctx, file, "-p", "--input-format", "stream-json", "--output-format", "stream-json")
	if err != nil {
		return err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(time.Second)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	stdin.Close()
	cmd.Wait()
	if err != nil {
		return fmt.Errorf("reading its memory (needs /proc): %w", err)
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			r.PeakRSS = kb / 1024
			return nil
		}
	}
	return fmt.Errorf("it ended at once")
}
