// Package attached is the terminal UI on a session of a server: see openagent attach. The session
// runs on the server. What happens in it comes as a stream, which continues after a broken
// connection where it was.
package attached

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/attach"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/remote"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// A View shows one session of a server.
type View struct {
	h     *cli.IO
	c     *remote.Client
	store *remote.Store
	info  remote.Info
	id    string

	loop   tui.Loop
	theme  draw.Theme // of the goroutine of the loop
	themed bool       // the person chose the theme
	next   string     // session that the person goes to; "": none
	work   sync.WaitGroup

	ask      sync.Mutex  // held while questions are read
	asking   atomic.Bool // somebody waits for ask
	sending  sync.Mutex  // messages keep their order
	flight   inflight    // of the goroutine that watches
	running  bool        // likewise
	lost     bool        // likewise
	short    bool        // not all of the past is shown
	outdated bool        // likewise: the person knows that the server is newer

	mu    sync.Mutex // guards the fields below
	cards map[int]*card
	asked int
	sent  map[string]int // numbers of messages, by id
	model string         // for the next prompts; "": the session's
	mode  string
	trial func() // ends the countdown to the next try
}

// New returns a view of a session. Run shows it.
func New(h *cli.IO, c *remote.Client, info remote.Info) *View {
	return &View{h: h, c: c, store: &remote.Store{Client: c}, info: info, id: info.Session, mode: info.Mode, short: info.Facts > recalled, flight: inflight{}, cards: map[int]*card{}, sent: map[string]int{}}
}

func (v *View) post(data any) { v.loop.Tell(data) }

// say shows lines to the person.
func (v *View) say(kind ui.LineKind, said string) {
	var lines []ui.Line
	for line := range strings.SplitSeq(said, "\n") {
		lines = append(lines, ui.Line{Kind: kind, Text: line})
	}
	v.post(ui.Output{Lines: lines})
}

func (v *View) warn(err error) { v.say(ui.WarnLine, "! "+v.h.OneLine(err.Error())) }

// Of the past, so many facts are shown at once, and so many bytes.
const recalled = 200

var recalledBytes = 64 << 20

// Run shows the session until the person leaves, or until a signal. next is the session that the
// person goes to, "" if they have left.
func (v *View) Run(ctx context.Context) (next string, err error) {
	in, ok := v.h.In.(*os.File)
	out, ok2 := v.h.ColourOut().(*os.File)
	if !ok || !ok2 {
		return "", term.ErrNotTerminal
	}
	past, err := v.past(ctx)
	if err != nil {
		return "", err
	}
	t, err := term.Open(in, out)
	if err != nil {
		return "", err
	}
	gone, err := v.show(ctx, t, past)
	if failed := t.Close(); failed != nil {
		v.h.Warn("%v", failed)
	}
	switch {
	case ctx.Err() != nil:
		return "", cli.ExitCode(cli.SignalCode(ctx))
	case err != nil && !errors.Is(err, tui.ErrEnded):
		return "", err
	case gone != nil:
		return "", gone
	case v.next != "":
		return v.next, nil
	}
	return "", v.h.Show("openagent attach " + v.id + " shows this session again\n")
}

// past reads the end of what has happened: of very large facts only the last ones. What there is
// more than the server has said comes as news.
func (v *View) past(ctx context.Context) ([]event.Event, error) {
	var facts []remote.Fact
	size, count := 0, 0
	for f, err := range v.store.Facts(ctx, v.id, max(0, v.info.Facts-recalled)) {
		if err != nil {
			return nil, err
		}
		facts = append(facts, f)
		for size += f.Size; size > recalledBytes && len(facts) > 1; facts = slices.Delete(facts, 0, 1) {
			size -= facts[0].Size
			v.short = true
		}
		if count++; count == 2*recalled {
			break
		}
	}
	events := make([]event.Event, len(facts))
	for i, f := range facts {
		events[i] = f.Event
	}
	return events, nil
}

// show shows the session on a terminal. gone is why the session cannot be watched any more.
func (v *View) show(ctx context.Context, t *term.Terminal, past []event.Event) (gone, err error) {
	defer t.Rescue()
	width, height, err := t.Size()
	if err != nil {
		return nil, err
	}
	l := &v.loop
	v.theme = draw.Theme{Colours: settings.Colours(v.h)}
	l.Terminal, l.Model, l.Act = t, ui.New(width, height), func(a ui.Action) { v.do(ctx, a) }
	l.Draw = func(m ui.Model, width, height int) (frame.Frame, ui.Painted) {
		if a := t.About(); a.Known && v.theme.Colours && !v.themed {
			v.theme.Light, v.theme.Shaded = !a.Background.Dark(), true
		}
		return draw.Frame(m, width, height, v.theme)
	}
	l.Title, l.Settle = draw.Title, tui.SettleTime(v.h.Getenv)
	l.Row = func(r styled.Row) string { return draw.Row(v.theme, r) }
	l.Recorded = func() (session.Store, string) { return v.store, v.id }
	l.Editor = tui.EditorCommand(v.h.Getenv)
	if dir, err := v.folder(); err == nil {
		l.Memory = tui.NewMemory(dir)
	}
	v.post(v.facts())
	v.post(ui.Commands{List: commands})
	after := int64(0)
	if len(past) > 0 {
		after = past[len(past)-1].Seq
		earlier := 0
		if v.short {
			earlier = int(v.info.Messages)
		}
		v.post(ui.Recall{Events: past, Messages: earlier})
	}
	working, stop := context.WithCancel(ctx)
	v.work.Go(func() {
		gone = v.c.Watch(working, v.id, after, func(u remote.Update) { v.update(working, u) })
		if working.Err() == nil {
			v.post(ui.Quit{})
		}
	})
	if after > 0 && v.short {
		v.work.Go(func() { v.total(working, past[0].Seq) })
	}
	err = l.Run(ctx)
	stop()
	v.work.Wait()
	switch {
	case errors.Is(gone, context.Canceled):
		gone = nil
	case errors.Is(gone, remote.ErrFull) && v.next == "": // from its end, so that the memory is free again
		gone, v.next = nil, v.id
	}
	width, _, size := t.Size()
	if size == nil {
		err = errors.Join(err, t.Paint(draw.Close(l.Model, width, v.theme)))
	}
	return gone, err
}

// facts are what the first line says.
func (v *View) facts() ui.Facts {
	v.mu.Lock()
	defer v.mu.Unlock()
	model := v.info.Model
	if v.model != "" {
		model = v.model
	}
	return ui.Facts{Version: cli.Version(), Model: model, Dir: v.info.Dir, Home: v.h.Getenv("HOME"), Branch: "on " + host(v.c.URL), Mode: v.mode}
}

// host is the server's part of an address.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// folder is where the UI keeps what was typed for sessions of this folder on this server.
func (v *View) folder() (string, error) {
	home, err := v.h.Home()
	sum := sha256.Sum256([]byte(v.c.URL + " " + v.info.Dir))
	return filepath.Join(home, "terminal", hex.EncodeToString(sum[:8])), err
}

// total tells what the session has cost before the facts that are shown.
func (v *View) total(ctx context.Context, shown int64) {
	all, err := ui.SpentBefore(v.store.Read(ctx, v.id, 0), shown)
	if err == nil {
		v.post(all)
	}
}

// do carries out an action that the loop does not carry out itself.
func (v *View) do(ctx context.Context, a ui.Action) {
	switch a := a.(type) {
	case ui.Send:
		v.work.Go(func() { v.send(ctx, a.Message) })
	case ui.Interrupt:
		v.work.Go(func() { v.interrupt(ctx) })
	case ui.Command:
		v.command(ctx, a.Line)
	case ui.Shell:
		v.say(ui.WarnLine, "! a command line would run on this machine and not on the server's: ask the agent to run it, or open a shell there")
	case ui.AddNote:
		v.say(ui.WarnLine, "! the file for notes is on the server's machine: ask the agent to write it down")
	case ui.Decide:
		v.work.Go(func() { v.decide(ctx, a.ID, a.Decision) })
	case ui.Reply:
		v.work.Go(func() { v.reply(ctx, a.ID, a.Answers) })
	case ui.ListFiles:
		v.post(ui.Files{Query: a.Query, Names: nil})
	case ui.LoadImage:
		v.work.Go(func() { v.loadImage(a.Path) })
	case ui.Picked:
		v.picked(ctx, a.Kind, a.Value)
	case ui.CycleMode:
		v.work.Go(func() { v.cycleMode(ctx) })
	}
}

// tries are the pauses before a message is sent again after a broken connection. The server knows
// its id and takes it once.
var tries = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}

// send gives a message to the agent.
func (v *View) send(ctx context.Context, msg ui.Message) {
	v.sending.Lock()
	defer v.sending.Unlock()
	m := remote.Message{ID: rand.Text(), Text: msg.Text, Delivery: "prompt"}
	for _, path := range msg.Images {
		blocks, err := attach.File(path)
		if err != nil {
			v.refuse(msg, err)
			return
		}
		m.Blocks = append(m.Blocks, blocks...)
	}
	v.mu.Lock()
	v.sent[m.ID] = msg.N
	if m.Model = v.model; msg.Steer {
		m.Delivery, m.Model = "steer", ""
	}
	v.mu.Unlock()
	err := v.deliver(ctx, m)
	if !msg.Steer && remote.IsCode(err, "session_busy") { // somebody else's prompt runs: it waits for the end
		m.Delivery, m.Model = "follow_up", ""
		if err = v.deliver(ctx, m); err == nil {
			v.say(ui.DimLine, "  the agent is working: it gets your message after that")
		}
	}
	if err == nil {
		return
	}
	v.numbers([]string{m.ID})
	switch {
	case msg.Steer && remote.IsCode(err, "not_running"):
		v.post(ui.Late{Numbers: []int{msg.N}})
	case msg.Steer:
		v.warn(fmt.Errorf("not sent: %w", err))
		v.post(ui.Returned{Numbers: []int{msg.N}})
	default:
		v.refuse(msg, err)
	}
}

// deliver sends a message, again if the connection breaks.
func (v *View) deliver(ctx context.Context, m remote.Message) (err error) {
	for try := 0; ; try++ {
		err = v.c.Send(ctx, v.id, m)
		var refused *remote.Error
		if err == nil || errors.As(err, &refused) && refused.Status != http.StatusServiceUnavailable || try == len(tries) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tries[try]):
		}
	}
}

// refuse gives a message back that could not be sent.
func (v *View) refuse(msg ui.Message, err error) {
	v.warn(fmt.Errorf("not sent: %w", err))
	v.post(ui.Refused{Message: msg})
}

// numbers returns the numbers of messages with ids, and forgets them.
func (v *View) numbers(ids []string) []int {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []int
	for _, id := range ids {
		if n, ok := v.sent[id]; ok {
			out = append(out, n)
			delete(v.sent, id)
		}
	}
	return out
}

// interrupt stops the run. Messages that the model has not seen come back.
func (v *View) interrupt(ctx context.Context) {
	cleared, err := v.c.Interrupt(ctx, v.id)
	if err != nil && !remote.IsCode(err, "not_running") {
		v.warn(err)
	}
	if back := v.numbers(cleared); len(back) > 0 {
		v.post(ui.Returned{Numbers: back})
	}
}

// loadImage looks at an image that was pasted.
func (v *View) loadImage(path string) {
	blocks, err := attach.File(path)
	note := ""
	for _, b := range blocks {
		if _, ok := b.(llm.Image); ok && err == nil {
			note = filepath.Base(path)
		}
	}
	v.post(ui.Image{Path: path, Note: note, Failed: note == ""})
}
