package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A Session is a conversation with an agent. One prompt runs at a time. During a run, also
// inside the loop over a stream, you may call the methods that control it: Steer, FollowUp,
// Interrupt, Pending, Decide and Answer, Compact, Watch, Close, and those that change
// settings. Methods that need the whole conversation, such as Messages, fail with [ErrBusy].
type Session struct {
	ID    string                // names the session in its store
	agent atomic.Pointer[Agent] // the current agent; to change it, hold mu and store another Agent

	mu            sync.Mutex
	lazyOverrides *overrides    // nil: no changes
	active        *activeRun    // the current run, or the last one
	state         *sessionState // nil while the session is not open
	prompted      bool          // a prompt began in this Session, not only in the journal
	closed        bool
	detached      bool // closed by Detach
	ended         bool // its SessionEnd hooks were called
	told          bool // those who watch the agent know that it is closed
	running       bool // active is running
	last          *Result
}

// An Input is a prompt, or a message to a running prompt.
type Input struct {
	// ID lets you send an input twice, for example the id of a message in a queue. It is
	// worked on once in its session. If you prompt with a known ID again, [Session.Do]
	// returns the result of the first time, or continues the run if it is unfinished; the
	// other fields do not count. A run that failed or was interrupted is not repeated: take
	// another ID for that. Steer and FollowUp ignore a known ID. "" makes a new ID.
	ID     string
	Text   string
	Blocks []llm.Block // images, documents; after the text
	// Output is a JSON Schema of type object, for prompts only. The final answer must
	// satisfy it; [Result].Output holds that answer.
	//
	// Hosts and models that support schemas get it. Other models get a tool
	// StructuredOutput to answer with. The session always checks the answer itself. An
	// invalid answer goes back to the model with the error, at most Corrections times (0:
	// 3, negative: never). Then the run ends as output_invalid, with an error that matches
	// [ErrOutputInvalid].
	Output      json.RawMessage
	Corrections int
	// Expansion, unless nil, is the text of a command, such as a skill. It replaces Text.
	// It is for prompts only.
	Expansion *tool.Expansion
	// Compact: this is not a prompt, but a request to compact the conversation. Text holds
	// the instructions for the summary, see [Session.Compact].
	Compact bool

	// The options below are for prompts only, and hold for this prompt alone. They can only
	// narrow the agent. They are on record, so a resumed prompt keeps them. Sub-agents that
	// the prompt starts stay within its Tools and Mode, also when they outlast it. A message
	// to a running prompt with one of them fails with [ErrConfig].

	// Model is the name of the model. It is one of the agent's models, or one that
	// [Agent].Models returns. If it stays unavailable, the agent's Fallbacks are tried.
	// "": the agent's Model.
	Model string
	// Budget limits the prompt. In each field, the smaller limit of it and of the agent's
	// Budget counts.
	Budget Budget
	// Tools names the only tools of the prompt, as [Agent].AllowedTools does. They bound
	// sub-agents too, also those with tools of their own: name these tools as well. A name that
	// no tool of the agent or of a sub-agent's definition has is an error, except of MCP tools,
	// whose servers may connect later. [Agent].Log gets a warning about a definition that
	// loses all its tools.
	// Nil: all tools of the agent; empty: none.
	Tools []string
	// Mode is the permission mode. It must not permit more than the mode of the session, and
	// [Agent].AllowModeChange must accept it. If hooks or tools change the mode, their change
	// ends with the prompt and permits no more than the mode of the session either. "": the
	// mode of the session.
	Mode permission.Mode
}

// check returns [ErrEmptyPrompt] for a prompt or message that says nothing, and an error for
// a block that is nil.
func (in Input) check() error {
	if i := slices.Index(in.Blocks, nil); i >= 0 {
		return fmt.Errorf("agent: block %d of the prompt is nil", i)
	}
	text := in.Text
	if in.Expansion != nil {
		text = in.Expansion.Text
	}
	says := func(b llm.Block) bool {
		t, ok := b.(llm.Text)
		return !ok || strings.TrimSpace(t.Text) != ""
	}
	if in.Compact || strings.TrimSpace(text) != "" || slices.ContainsFunc(in.Blocks, says) {
		return nil
	}
	return ErrEmptyPrompt
}

func (in Input) message(d event.Delivery) event.UserMessage {
	if in.ID == "" {
		in.ID = session.NewID()
	}
	if in.Expansion != nil {
		in.Text = in.Expansion.Text
	}
	return event.UserMessage{ID: in.ID, Delivery: d, Message: llm.UserText(in.Text, in.Blocks...), Expansion: in.Expansion}
}

// Prompt prompts the session and waits for the end of the run. Once the run has begun, the
// Result is not nil, even with an error. The error is nil if the run ended as completed,
// tool_ended or max_tokens. Otherwise it is an [*EndError] or a failure of the session
// store. A text of white space alone, without blocks, is refused with [ErrEmptyPrompt]. A prompt closes a run that was interrupted before it. To continue such a run, call
// Resume instead.
func (s *Session) Prompt(ctx context.Context, text string, more ...llm.Block) (*Result, error) {
	return s.Do(ctx, Input{Text: text, Blocks: more})
}

// Stream is like Prompt, but yields events while they happen, facts and signals. The last
// fact is an [event.RunEnd]. If Prompt would return an error, a pair of a zero Event and
// that error follows. Leaving the loop cancels the run and waits for its end. A slow reader
// does not slow the run.
func (s *Session) Stream(ctx context.Context, text string, more ...llm.Block) iter.Seq2[event.Event, error] {
	return s.StreamInput(ctx, Input{Text: text, Blocks: more})
}

// Do is Prompt with an Input. If the session knows the input's ID, Do returns the result of
// that prompt, with the error that its run ended with. If that run is unfinished, Do
// continues it as [Session.Resume] does, and returns its result.
func (s *Session) Do(ctx context.Context, in Input) (*Result, error) {
	l, err := s.start(ctx, &in, false)
	if err == nil && l == nil { // a known input
		var run recordedRun
		if run, l, err = s.again(ctx, in.ID, false); l == nil {
			return run.end, err
		}
	}
	if err != nil {
		return nil, err
	}
	<-l.Done()
	if !l.Began() {
		return nil, l.err
	}
	return l.result, l.err
}

// StreamInput is Stream with an Input. If the session knows the input's ID, StreamInput
// yields the recorded facts of that prompt's run, and the error that the run ended with. If
// that run is unfinished, it continues, and its new events follow.
func (s *Session) StreamInput(ctx context.Context, in Input) iter.Seq2[event.Event, error] {
	return s.stream(ctx, &in)
}

// Resume continues a run that a crash cut short, or that was detached or suspended, see
// [Session.Detach] and [ErrSuspended]. A run that was interrupted has ended: prompt again.
// Resume does not repeat calls that may have changed something when the program died. The
// model learns that their outcome is unknown. A question whose time is over is denied. The
// run keeps the Budget that it began with; [Session.SetBudget] changes it.
//
// Resume fails with [ErrNotResumable] if there is no such run, with [ErrBusy] if the session
// is in use, with [ErrSuspended] if a question still waits, and otherwise like
// [Session.Prompt].
func (s *Session) Resume(ctx context.Context) iter.Seq2[event.Event, error] {
	return s.stream(ctx, nil)
}

// CanResume reports whether the last run can be resumed: a crash cut it short, or it was
// detached or suspended. A run that was interrupted by its context, by Interrupt or by Close
// has ended. During a run it fails with [ErrBusy].
func (s *Session) CanResume(ctx context.Context) (bool, error) {
	if err := s.lockIdle(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return false, err
	}
	return s.state.State.Running() || s.state.State.Pending(), nil
}

// Result returns the result of the session's last prompt. It is nil before the first one,
// and before the session is opened.
func (s *Session) Result() *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Messages returns the conversation so far. Do not change the messages.
func (s *Session) Messages(ctx context.Context) ([]llm.Message, error) {
	if err := s.lockIdle(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return nil, err
	}
	return slices.Clip(s.state.Transcript.Messages), nil
}

// Fork returns a new session with the past of s up to and including the fact with the given
// sequence number. 0 means all of it.
func (s *Session) Fork(ctx context.Context, through int64) (*Session, error) {
	s.mu.Lock()
	store := s.store()
	f := s.definition().Session("")
	*f.overrides() = *s.overrides()
	f.lazyOverrides.gone, f.lazyOverrides.agents = nil, nil
	if f.lazyOverrides.mode == "" && s.prompted && !s.running && s.state != nil {
		f.lazyOverrides.mode = s.state.State.SessionMode()
	}
	s.mu.Unlock() // a run may continue during the copy
	if err := session.Fork(ctx, store, s.ID, f.ID, through); err != nil {
		return nil, fmt.Errorf("agent: forking session %s: %w", s.ID, err)
	}
	return f, nil
}

// Rewind lets the conversation continue from the fact with the given sequence number.
// Later facts stay on record and no longer count.
func (s *Session) Rewind(ctx context.Context, to int64) error {
	if err := s.lockIdle(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return err
	}
	if to < 1 || to > s.state.Last {
		return fmt.Errorf("agent: session %s has no fact %d to rewind to; it has 1 to %d", s.ID, to, s.state.Last)
	}
	if err := s.append(ctx, to, event.Rewound{}); err != nil {
		return err
	}
	return s.restore(ctx, s.state.log)
}

// Close cancels a running prompt and waits for its end. To resume the prompt later, call
// [Session.Detach] instead. Close ends the shell and the
// background commands of the session, and releases its lock. You may close twice. Do not
// call it from a tool, a hook or a callback of the session, because it waits for them.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	l := s.active
	s.mu.Unlock()
	if l != nil {
		l.Cancel(ErrClosed)
		<-l.Done()
	}
	s.stopSubagents()
	s.end()
	s.publishEnd()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	tools := s.definition().Tools
	if s.lazyOverrides != nil {
		tools = slices.Concat(tools, s.lazyOverrides.gone)
	}
	if s.active != nil {
		tools = slices.Concat(tools, s.active.x.EveryTool())
	}
	for _, t := range tools {
		if e, ok := t.(sessionEnder); ok {
			errs = append(errs, e.EndSession(s.ID))
		}
	}
	if s.state != nil {
		errs = append(errs, s.state.log.Close())
		s.state = nil
	}
	return errors.Join(errs...)
}

// A sessionEnder is a tool that has state for each session, such as a shell. EndSession may
// be called more than once.
type sessionEnder interface{ EndSession(session string) error }

// open takes the session's lock and replays its facts, unless it is open already. dir is
// the folder of a new session; "" is the agent's working directory. The caller holds s.mu.
func (s *Session) open(ctx context.Context, dir string) (err error) {
	if s.closed {
		return ErrClosed
	}
	if s.state != nil {
		return nil
	}
	if dir == "" {
		if dir, err = s.definition().dir(); err != nil {
			return err
		}
	}
	log, err := s.store().Open(ctx, s.ID, session.Header{Session: s.ID, Created: now(), Dir: dir, Agent: s.definition().parentRef()})
	if err != nil {
		return fmt.Errorf("agent: %w", err) // stores say which session it is
	}
	if err := s.restore(ctx, log); err != nil {
		s.state = nil
		return errors.Join(err, log.Close())
	}
	if l, ok := log.(interface{ Torn() int64 }); ok {
		s.state.torn = l.Torn()
	}
	if s.state.torn > 0 {
		s.definition().logger().Warn("an unfinished last record was cut off the journal", "session", s.ID, "bytes", s.state.torn)
	}
	return nil
}

// definition returns the current agent. Do not change it once other goroutines have the session.
func (s *Session) definition() *Agent { return s.agent.Load() }

// store returns the store of the session.
func (s *Session) store() session.Store { return s.definition().Sessions }

// restore replays the facts on the path to the last one.
func (s *Session) restore(ctx context.Context, log session.Log) error {
	facts, err := s.facts(ctx)
	if err != nil {
		return err
	}
	var before *Result
	var named *event.SessionNamed
	rewound := false
	for _, e := range facts {
		switch d := e.Data.(type) {
		case event.Rewound:
			rewound = true
		case event.SessionNamed:
			named = new(d) // also if the conversation was rewound past it
		case event.RunEnd:
			if s.last == nil {
				before = &Result{Session: s.ID, RunEnd: d}
			}
		}
	}
	if s.last == nil {
		s.last = before
	}
	torn := int64(0)
	if s.state != nil {
		torn = s.state.torn
	}
	s.state = &sessionState{Conversation: conversation.New(), log: log, torn: torn}
	if rewound {
		last := facts[len(facts)-1].Seq
		facts = conversation.Path(facts)
		s.state.Last = last
	}
	back := int64(0) // where the last rewind went
	for _, e := range facts {
		if _, is := e.Data.(event.Rewound); is {
			back = max(back, e.Prev)
		}
		s.state.Apply(e)
	}
	s.state.Named = named
	if s.state.State.Running() || s.state.State.Pending() {
		s.state.Forked = max(s.forkedAt(ctx), back)
	}
	return nil
}

// forkedAt returns the sequence number of the last fact that was copied from the session
// that this one was forked from, 0 if there was none.
func (s *Session) forkedAt(ctx context.Context) int64 {
	if info, err := session.Stat(ctx, s.store(), s.ID); err == nil && info.Parent != nil {
		return info.Parent.Seq
	}
	return 0
}

// facts returns all facts of the session, in the order of the store.
func (s *Session) facts(ctx context.Context) (all []event.Event, err error) {
	for e, err := range s.store().Read(ctx, s.ID, 0) {
		if err != nil {
			return nil, fmt.Errorf("agent: reading session %s: %w", s.ID, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// reread yields the facts after the given one from the store, for a slow reader of a
// stream.
func (s *Session) reread(after int64) iter.Seq2[event.Event, error] {
	return s.store().Read(context.Background(), s.ID, after)
}

// A sessionState is the replayed state of an open session, and its log.
type sessionState struct {
	conversation.Conversation
	log  session.Log
	torn int64 // bytes cut off the journal that no event has reported yet
}

func (s *Session) callback() CanUseToolFunc {
	a := s.definition()
	if a.parentLink != nil {
		return a.parentLink.parent.callback()
	}
	return a.CanUseTool
}

// stream runs a prompt, or resumes the last run when in is nil.
func (s *Session) stream(ctx context.Context, in *Input) iter.Seq2[event.Event, error] {
	var mu sync.Mutex
	used := false
	return func(yield func(event.Event, error) bool) {
		mu.Lock()
		again := used
		used = true
		mu.Unlock()
		if again {
			yield(event.Event{}, ErrUsed)
			return
		}
		l, err := s.start(ctx, in, true)
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		var known recordedRun
		if l == nil { // a known input
			known, l, err = s.again(ctx, in.ID, true)
		}
		if l != nil {
			defer func() { <-l.Done() }()
			defer l.Cancel(context.Canceled)
		}
		for _, e := range known.facts {
			if !yield(e, nil) {
				return
			}
		}
		if l == nil {
			if err != nil {
				yield(event.Event{}, err)
			}
			return
		}
		for {
			e, ok := l.Events().Next()
			if !ok {
				break
			}
			if !yield(e, nil) {
				return
			}
		}
		<-l.Done()
		if err := errors.Join(l.err, l.Events().Err()); err != nil {
			yield(event.Event{}, err)
		}
	}
}

// now returns the time for a record, in UTC.
func now() time.Time { return time.Now().UTC() }
