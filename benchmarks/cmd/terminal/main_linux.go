// Command terminal measures the terminal UI of openagent on a pseudo-terminal: its start, its
// memory, what a streamed piece of an answer costs, and how long a key takes to be painted.
//
//	go run ./cmd/terminal
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A figure is one measured value and what it may be at most.
type figure struct {
	name     string
	most     string
	measured string
}

type bench struct {
	dir     string
	file    string // the command
	model   *model
	args    []string
	figures []figure
}

func main() {
	log.SetFlags(0)
	command := flag.String("openagent", "", "the `file` of the command; \"\" builds it")
	only := flag.String("only", "", "take this measurement alone: start, idle, keys, waiting, fast, slow or long")
	flag.Parse()
	if err := run(*command, *only, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(file, only string, args []string) error {
	dir, err := os.MkdirTemp("", "terminal-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, file: file, model: serve(), args: args}
	defer b.model.Close()
	if b.file == "" {
		b.file = filepath.Join(dir, "openagent")
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.file, "./cmd/openagent")
		cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"start", b.start}, {"idle", b.idle}, {"keys", b.keys}, {"waiting", b.waiting},
		{"fast", b.streamed(1000, 10_000, "130 µs", "20")}, {"slow", b.streamed(100, 1000, "", "45")}, {"long", b.long},
	} {
		if only != "" && only != step.name {
			continue
		}
		if err := step.do(context.Background()); err != nil {
			return err
		}
	}
	fmt.Println("| figure | at most | measured |\n|---|---:|---:|")
	for _, f := range b.figures {
		fmt.Printf("| %s | %s | %s |\n", f.name, f.most, f.measured)
	}
	return nil
}

func (b *bench) add(name, most, format string, args ...any) {
	b.figures = append(b.figures, figure{name, most, fmt.Sprintf(format, args...)})
}

// start measures the time until the prompt is on the screen.
func (b *bench) start(ctx context.Context) error {
	var took []time.Duration
	for range 10 {
		w, err := b.open(ctx)
		if err != nil {
			return err
		}
		first, err := w.until(prompt)
		if err != nil {
			return err
		}
		took = append(took, first)
		w.close()
	}
	slices.Sort(took)
	b.add("start to first frame, the best and the median of 10", "60 ms", "%.0f ms, %.0f ms", ms(took[0]), ms(took[5]))
	return nil
}

// idle measures an idle UI.
func (b *bench) idle(ctx context.Context) error {
	w, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	if _, err := w.until(prompt); err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // what the start leaves to do
	bytes, cpu := w.bytes(), w.cpu()
	time.Sleep(10 * time.Second)
	b.add("idle for 10 s: bytes written", "0", "%d", w.bytes()-bytes)
	b.add("idle for 10 s: CPU", "0", "%.3f s", (w.cpu() - cpu).Seconds())
	b.add("idle: RSS", "36 MB", "%.1f MB", w.rss())
	return nil
}

// keys measures the time from a key to its paint.
func (b *bench) keys(ctx context.Context) error {
	w, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	if _, err := w.until(prompt); err != nil {
		return err
	}
	return b.keysAt(w, "key to paint", 200)
}

func (b *bench) keysAt(w *window, name string, n int) error {
	time.Sleep(time.Second)
	var took []time.Duration
	for i := range n {
		before := w.bytes()
		from := time.Now()
		w.types(string(rune('a' + i%26)))
		for w.bytes() == before {
			if time.Since(from) > 5*time.Second {
				return fmt.Errorf("%s: the key %d was not painted: %q", name, i, w.last(500))
			}
			time.Sleep(20 * time.Microsecond)
		}
		took = append(took, time.Since(from))
		time.Sleep(5 * time.Millisecond)
	}
	slices.Sort(took)
	b.add(name+": median", "2 ms", "%.2f ms", ms(took[n/2]))
	b.add(name+": worst of "+fmt.Sprint(n), "10 ms", "%.2f ms", ms(took[n-1]))
	return nil
}

// waiting measures a UI that waits for a silent model.
func (b *bench) waiting(ctx context.Context) error {
	w, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	if _, err := w.until(prompt); err != nil {
		return err
	}
	w.types("SILENT\r")
	time.Sleep(2 * time.Second)
	bytes, cpu := w.bytes(), w.cpu()
	time.Sleep(10 * time.Second)
	b.add("waiting for a model for 10 s: CPU", "0.03 s", "%.3f s", (w.cpu() - cpu).Seconds())
	b.add("waiting for a model for 10 s: bytes", "2,048", "%d", w.bytes()-bytes)
	return nil
}

// streamed measures an answer that comes in pieces.
func (b *bench) streamed(perSecond, pieces int, cpu, bytes string) func(context.Context) error {
	return func(ctx context.Context) error {
		w, err := b.open(ctx)
		if err != nil {
			return err
		}
		defer w.close()
		if _, err := w.until(prompt); err != nil {
			return err
		}
		time.Sleep(time.Second)
		began, spent := w.bytes(), w.cpu()
		w.types(fmt.Sprintf("STREAM %d %d\r", perSecond, pieces))
		if _, err := w.until("END OF THE ANSWER"); err != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond)
		if cpu != "" {
			b.add(fmt.Sprintf("%d pieces a second: CPU per piece", perSecond), cpu, "%.0f µs", float64((w.cpu()-spent).Microseconds())/float64(pieces))
		}
		b.add(fmt.Sprintf("%d pieces a second: bytes per piece", perSecond), bytes, "%.1f", float64(w.bytes()-began)/float64(pieces))
		return nil
	}
}

const messages = 10_000

// long measures a UI that continues a long session.
func (b *bench) long(ctx context.Context) error {
	dir := filepath.Join(b.dir, "long")
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	session, err := record(ctx, filepath.Join(dir, "sessions"), work, messages)
	if err != nil {
		return err
	}
	w, err := b.open(ctx, "--cwd", work, "--session-dir", filepath.Join(dir, "sessions"), "--resume", session)
	if err != nil {
		return err
	}
	defer w.close()
	first, err := w.until(prompt)
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("a session of %d messages: start to first frame", messages), "60 ms", "%.0f ms", ms(first))
	if err := b.keysAt(w, fmt.Sprintf("a session of %d messages: key to paint", messages), 100); err != nil {
		return err
	}
	b.add(fmt.Sprintf("a session of %d messages: RSS", messages), "64 MB", "%.1f MB", w.rss())
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// environment returns the variables of the command, with an empty home.
func (b *bench) environment() ([]string, string, error) {
	home, err := os.MkdirTemp(b.dir, "home-")
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "OPENAGENT_") || strings.HasPrefix(v, "ANTHROPIC_") || strings.HasPrefix(v, "TMUX")
	})
	return append(env, "HOME="+home, "XDG_CONFIG_HOME="+home, "TERM=xterm-256color", "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL="+b.model.URL), home, err
}
