package serve

import (
	"encoding/hex"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// This file finds conversations on record, such as after a restart of the server. The id of a session ends
// with a mark of the first words of its conversation, so that few sessions have to be read. The id of a
// prompt begins with a mark of the conversation up to it, and the answer must be the one that the client has.

const (
	maxRecalled = 16   // sessions that are read for one conversation
	maxPrompts  = 1000 // prompts of a session, from its end
)

// mark returns a part of a hash as text.
func mark(hash [32]byte) string { return hex.EncodeToString(hash[:16]) }

// sessionMark returns the end of the ids of sessions whose conversations begin as that of the request.
func (o *completion) sessionMark() string {
	n := 0
	for n < len(o.turns) && o.turns[n].role == "user" {
		n++
	}
	return "-" + mark(chatKey(o.c.user, o.person, o.turns[:n]))
}

// promptMark returns the beginning of the ids of prompts that end a conversation.
func (o *completion) promptMark(turns []turn) string {
	return mark(chatKey(o.c.user, o.person, turns)) + "-"
}

// promptID returns the id of the prompt. It tells recall the instructions that the session has then.
func (o *completion) promptID() string {
	return o.promptMark(o.turns) + mark(o.system) + "-" + session.NewID()
}

// recall finds the session of a conversation on record. It prefers a session that has gone no other way since.
func (o *completion) recall(past []turn) (at head, known bool) {
	n := len(past)
	if n < 2 || past[n-1].role != "assistant" || past[n-2].role != "user" || len(past[n-1].blocks) > 0 {
		return head{}, false
	}
	infos, err := o.s.store(o.c.user).List(o.c.ctx())
	if err != nil {
		o.s.log().Warn("a conversation was not looked for on record", "error", err)
		return head{}, false
	}
	read, end := 0, o.sessionMark()
	for _, info := range infos {
		if !strings.HasSuffix(info.Session, end) {
			continue
		}
		if read++; read > maxRecalled {
			break
		}
		found, ok, last := o.recallIn(info.Session, o.promptMark(past[:n-1]), past[n-1].text)
		if !ok || known && !last {
			continue
		}
		if at, known = found, true; last {
			break
		}
	}
	return at, known
}

// recallIn finds the end of a conversation in a session: of the last run whose prompt has the mark and whose
// answer is the given one. last: the session has had no prompt since.
func (o *completion) recallIn(id, prompt, answer string) (at head, known, last bool) {
	store := o.s.store(o.c.user)
	prompts, err := session.Last(o.c.ctx(), store, id, maxPrompts, func(typ string) bool { return typ == "user_message" })
	if err != nil {
		return head{}, false, false
	}
	for i := len(prompts) - 1; i >= 0; i-- {
		d, ok := prompts[i].Data.(event.UserMessage)
		if !ok || !strings.HasPrefix(d.ID, prompt) {
			continue
		}
		end, ok := o.answered(store, id, prompts[i].Seq, d.ID, answer)
		if !ok {
			continue
		}
		system, _, _ := strings.Cut(strings.TrimPrefix(d.ID, prompt), "-")
		return head{id, end, system}, true, i == len(prompts)-1
	}
	return head{}, false, false
}

// answered returns the fact at the end of a run if a client has got the given answer by it.
func (o *completion) answered(store session.Store, id string, prompt int64, message, answer string) (end int64, ok bool) {
	t := &telling{prompt: message}
	var all []piece
	for e, err := range store.Read(o.c.ctx(), id, prompt-1) {
		if err != nil {
			return 0, false
		}
		pieces := t.apply(e)
		all = append(all, pieces...)
		if n := len(pieces); n == 0 || pieces[n-1].kind != ended {
			continue
		}
		run := pieces[len(pieces)-1]
		a := chatAnswer{tools: o.req.option("tools"), schema: run.end.Output != nil}
		for _, p := range all {
			a.add(p)
		}
		return run.seq, runError(run.end) == nil && a.text.Len() > 0 && strings.TrimSpace(a.text.String()) == strings.TrimSpace(answer)
	}
	return 0, false
}
