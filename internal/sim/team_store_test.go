package sim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/teamtest"
	"github.com/openagent-go/agent/team"
)

// shared is what the world knows of teams. The world's mutex guards all fields but the first two.
type shared struct {
	folder  string
	ledger  teamtest.Ledger
	mail    map[sentTo]bool   // that a store has acknowledged
	tasks   map[taskOf]duty   // as a store has acknowledged them last
	latest  map[string]string // the session of the agent that had a name last
	names   map[string]string // of agents, by session
	stopped map[string]bool   // agents, by session
	asked   int               // requests of all agents
	written int               // messages of all agents
}

func (s *shared) init() {
	s.mail, s.tasks = map[sentTo]bool{}, map[taskOf]duty{}
	s.latest, s.names, s.stopped = map[string]string{}, map[string]string{}, map[string]bool{}
}

// sentTo names a message in the mailbox of an agent, by its last words.
type sentTo struct{ space, agent, message string }

// lastWord returns the last word of a message, which no other has.
func lastWord(m teamstore.Message) string { return m.Content[strings.LastIndex(m.Content, " ")+1:] }

// taskOf names a task of a session.
type taskOf struct{ space, id string }

// A duty is a task, and the program that has changed it last.
type duty struct {
	teamstore.Task
	by     *teamDisk
	unsure bool // its program has ended, or a change may have been made
}

// forgetful reports whether what agents share ends with their session.
func (w *world) forgetful() bool {
	return w.fault.disk == nil && w.Disk != "folder" && w.number("team")%2 == 1
}

// openTeam opens the store of teams of a program: on its disk, in a ledger of a database, or in
// its memory.
func (w *world) openTeam(l *life) *teamDisk {
	var s *team.Store
	d := &teamDisk{w: w, life: l}
	switch {
	case w.fault.disk != nil:
		d.program = w.fault.program
		s = team.Dir(d.program.Path("teams"), nil)
	case w.Disk == "folder":
		if w.team.folder == "" {
			w.team.folder = folder(w.t)
		}
		s = team.Dir(filepath.Join(w.team.folder, "teams"), nil)
	case w.forgetful():
		s = team.Memory()
	default:
		s = team.Shared(&w.team.ledger)
	}
	d.Shared = (*teamstore.Store)(s).Shared()
	l.closers = append(l.closers, func() error {
		d.bury()
		d.leave("")
		return s.Close()
	})
	return d
}

// A teamDisk is a store of teams as a program has it. It shows all changes to the world.
type teamDisk struct {
	teamstore.Shared
	w       *world
	life    *life
	program *faultdisk.Program // nil: it needs none
}

// begin lets an operation begin at a time of its own.
func (d *teamDisk) begin(words ...any) error {
	time.Sleep(d.w.pause(time.Millisecond, append(words, d.life.n, "team")...))
	if d.life.dead.Load() {
		return errDead
	}
	d.w.steps.Add(1)
	return nil
}

// bury keeps a dead program from its files.
func (d *teamDisk) bury() {
	if d.life.dead.Load() && d.program != nil {
		d.program.Kill()
	}
}

// leave notes that the tasks of a session, or of all, are no longer those of this program.
func (d *teamDisk) leave(space string) {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	for at, t := range d.w.team.tasks {
		if t.by == d && (space == "" || at.space == space) {
			t.unsure = true
			d.w.team.tasks[at] = t
		}
	}
}

func (d *teamDisk) EndSession(session string) error {
	d.bury()
	d.leave(session)
	if d.w.forgetful() {
		d.w.mu.Lock()
		for at := range d.w.team.mail {
			if at.space == session {
				delete(d.w.team.mail, at)
			}
		}
		for at := range d.w.team.tasks {
			if at.space == session {
				delete(d.w.team.tasks, at)
			}
		}
		d.w.mu.Unlock()
	}
	return d.Shared.EndSession(session)
}

func (d *teamDisk) AddTask(ctx context.Context, space string, t teamstore.Task) (teamstore.Task, error) {
	if err := d.begin("add", space, t.Subject); err != nil {
		return t, err
	}
	made, err := d.Shared.AddTask(ctx, space, t)
	if err == nil {
		d.changed(space, duty{}, made)
	}
	return made, err
}

func (d *teamDisk) Tasks(ctx context.Context, space string, f teamstore.Filter) ([]teamstore.Task, error) {
	if err := d.begin("tasks", space, f); err != nil {
		return nil, err
	}
	return d.Shared.Tasks(ctx, space, f)
}

func (d *teamDisk) UpdateTask(ctx context.Context, space, id string, c teamstore.Change) (teamstore.Task, error) {
	owner := ""
	if c.Owner != nil {
		owner = *c.Owner
	}
	if err := d.begin("update", space, id, c.Status, owner, c.Holder); err != nil {
		return teamstore.Task{}, err
	}
	d.w.mu.Lock()
	before := d.w.team.tasks[taskOf{space, id}]
	d.w.mu.Unlock()
	t, err := d.Shared.UpdateTask(ctx, space, id, c)
	switch {
	case errors.Is(err, teamstore.ErrTaken):
		d.w.meet("task taken")
	case err == nil:
		if c.Status == teamstore.InProgress {
			d.w.meet("task claimed")
		}
		d.changed(space, before, t)
	default:
		d.w.mu.Lock()
		before.unsure = true
		d.w.team.tasks[taskOf{space, id}] = before
		d.w.mu.Unlock()
	}
	return t, err
}

// changed checks a change of a task that the store has acknowledged.
func (d *teamDisk) changed(space string, before duty, t teamstore.Task) {
	w := d.w
	w.trace("task %s of %s is %s, of %q", t.ID, space, t.Status, t.Owner)
	w.mu.Lock()
	w.team.tasks[taskOf{space, t.ID}] = duty{Task: t, by: d}
	w.mu.Unlock()
	switch {
	case before.ID == "":
	case before.Status.Final() && t.Status != before.Status && !w.forgetful():
		w.wrong("team", "%s of %s was %s and is %s", t.ID, space, before.Status, t.Status)
	case before.Status == teamstore.InProgress && t.Status == teamstore.InProgress && before.Owner != t.Owner && !before.unsure:
		w.wrong("team", "%s of %s is %s's, who is at work, and %s gets it", t.ID, space, before.Owner, t.Owner)
	}
	if t.Status != teamstore.InProgress && t.Status != teamstore.Completed {
		return
	}
	for _, id := range t.BlockedBy {
		w.mu.Lock()
		b, known := w.team.tasks[taskOf{space, id}]
		w.mu.Unlock()
		if known && !b.unsure && b.Status != teamstore.Completed {
			w.wrong("team", "%s of %s is %s before %s, which is %s", t.ID, space, t.Status, id, b.Status)
		}
	}
}

func (d *teamDisk) CreateTeam(ctx context.Context, space, name, leader string, members []string, task string) (teamstore.Team, error) {
	if err := d.begin("create", space, name, leader); err != nil {
		return teamstore.Team{}, err
	}
	t, err := d.Shared.CreateTeam(ctx, space, name, leader, members, task)
	if err == nil {
		d.w.meet("team")
	}
	return t, err
}

func (d *teamDisk) Disband(ctx context.Context, space, team string) (teamstore.Team, error) {
	if err := d.begin("disband", space, team); err != nil {
		return teamstore.Team{}, err
	}
	return d.Shared.Disband(ctx, space, team)
}

func (d *teamDisk) Register(ctx context.Context, space string, a teamstore.Agent) error {
	if err := d.begin("register", space, a.Name); err != nil {
		return err
	}
	return d.Shared.Register(ctx, space, a)
}

func (d *teamDisk) Unregister(ctx context.Context, space, name string) error {
	if err := d.begin("unregister", space, name); err != nil {
		return err
	}
	return d.Shared.Unregister(ctx, space, name)
}

func (d *teamDisk) Send(ctx context.Context, space string, m teamstore.Message) ([]string, error) {
	if err := d.begin("send", space, m.From, m.To, m.Content); err != nil {
		return nil, err
	}
	reached, err := d.Shared.Send(ctx, space, m)
	if !d.life.dead.Load() && strings.HasPrefix(m.Content, prompts) { // else the library has written it
		d.w.mu.Lock()
		for _, to := range reached {
			d.w.team.mail[sentTo{space, to, lastWord(m)}] = true
		}
		d.w.mu.Unlock()
	}
	d.w.trace("%s sends %q to %s, reaches %q: %v", m.From, m.Content, m.To, reached, shortened(err))
	switch {
	case err != nil:
		d.w.meet("mail bounces")
	case len(reached) > 1:
		d.w.meet("mail to all")
	}
	if err == nil && m.Type == teamstore.ShutdownResponse {
		d.w.meet("shutdown")
	}
	return reached, err
}

func (d *teamDisk) Take(ctx context.Context, space, agent string, keep func([]teamstore.Message) error) error {
	if err := d.begin("take", space, agent); err != nil {
		return err
	}
	var kept []teamstore.Message
	err := d.Shared.Take(ctx, space, agent, func(mail []teamstore.Message) error {
		if d.life.dead.Load() {
			return errDead
		}
		err := keep(mail)
		time.Sleep(d.w.pause(time.Millisecond, "kept", space, agent, d.life.n)) // the run continues with the mail
		if err == nil {
			kept = mail
		}
		return err
	})
	if err == nil && len(kept) > 0 && !d.life.dead.Load() {
		d.w.meet("mail")
		d.w.trace("%s takes %d messages", agent, len(kept))
		for _, m := range kept {
			if strings.HasPrefix(m.Content, prompts) && !d.w.onRecord(space, agent, lastWord(m)) {
				d.w.wrong("mail", "%s of %s has taken message %s, which is in no conversation of it", agent, space, lastWord(m))
			}
		}
	}
	return err
}

// Watch tells of mail a little later, so that no two agents begin to read at once.
func (d *teamDisk) Watch(ctx context.Context, space, agent string) (<-chan struct{}, error) {
	in, err := d.Shared.Watch(ctx, space, agent)
	if err != nil {
		return nil, err
	}
	out := make(chan struct{}, 1)
	go func() {
		defer close(out)
		n := 0
		for range in {
			n++
			time.Sleep(d.w.pause(time.Millisecond, "mail", space, agent, n, d.life.n))
			select {
			case out <- struct{}{}:
			default:
			}
		}
		time.Sleep(d.w.pause(time.Millisecond, "no mail", space, agent, d.life.n))
	}()
	return out, nil
}

// onRecord reports whether a message is in a conversation of an agent, also in a part that a rewind
// has taken back.
func (w *world) onRecord(space, agent, message string) bool {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for p, j := range w.facts.of {
		if (agent == "main") != (p == space) || p != space && !strings.HasPrefix(p, space+"/") {
			continue
		}
		for _, e := range j.all {
			if slices.Contains(mailIn(e), message) {
				return true
			}
		}
	}
	return false
}

// checkTeam checks what is left of teams when all programs have ended: each message that was
// acknowledged is on record or waits, and tasks are as they were.
func (w *world) checkTeam() {
	if !w.has("team") || w.forgetful() || w.fault.errors.syncFailed {
		return
	}
	time.Sleep(2 * teamstore.DefaultLease) // the tasks of programs that have died are free
	if w.fault.disk != nil {
		w.fault.open()
	}
	l := &life{w: w}
	d := w.openTeam(l)
	ctx := context.Background()
	for at := range w.team.mail {
		if w.onRecord(at.space, at.agent, at.message) {
			continue
		}
		waits, looking := false, errors.New("only looking")
		err := d.Shared.Take(ctx, at.space, at.agent, func(mail []teamstore.Message) error {
			waits = slices.ContainsFunc(mail, func(m teamstore.Message) bool { return lastWord(m) == at.message })
			return looking
		})
		switch {
		case err != nil && !errors.Is(err, looking):
			w.wrong("mail", "reading the mailbox of %s of %s: %v", at.agent, at.space, err)
		case !waits:
			w.wrong("mail", "message %s to %s of %s is lost", at.message, at.agent, at.space)
		}
	}
	for at, was := range w.team.tasks {
		t, err := d.Shared.Task(ctx, at.space, at.id)
		switch {
		case was.ID == "": // it was never acknowledged
		case err != nil:
			w.wrong("team", "%s of %s: %v", at.id, at.space, err)
		case t.Subject != was.Subject || was.Status.Final() && t.Status != was.Status:
			w.wrong("team", "%s of %s was %q, %s, and is %q, %s", at.id, at.space, was.Subject, was.Status, t.Subject, t.Status)
		case t.Status == teamstore.InProgress:
			w.wrong("team", "%s of %s is %s's, and its program has ended", at.id, at.space, t.Owner)
		}
		for _, id := range t.BlockedBy {
			if b, err := d.Shared.Task(ctx, at.space, id); err != nil || !slices.Contains(b.Blocks, t.ID) {
				w.wrong("team", "%s of %s waits for %s, which does not block it: %v", t.ID, at.space, id, fmt.Sprint(err))
			}
		}
	}
	for _, c := range l.closers {
		w.expect(c(), "closing a store of teams")
	}
}
