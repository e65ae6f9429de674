package grep

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

const (
	maxStates = 1024
	maxPlaces = 1 << 18 // in all states together
	// maxWork bounds the work on making states, in steps through the program; each byte
	// read gives one back. A text that leads to ever new states is better left to package
	// regexp.
	maxWork = 1 << 21
)

// A machine tells which lines match. It is the deterministic automaton of a pattern, built
// lazily: a state is the set of all partial matches of a line so far, and is computed when
// it is first reached. Unlike package regexp it does not tell where in the line the match
// is.
type machine struct {
	prog  *syntax.Prog
	looks syntax.EmptyOp // the program's conditions on the characters around a place
	once  syntax.EmptyOp // those that hold at the beginning or never
	whole bool           // the text is one and not lines

	table  [][256]uint16 // the state after a byte, by state; unknown for those beyond ASCII, and for "\r" in lines
	states []state
	begin  uint16 // the state at the beginning of a line
	idle   uint16 // the state in which nothing is under way; see locate
	index  map[string]uint16
	runes  map[uint64]uint16 // the state after a character that table does not have, by state and character
	places int
	resets int
	work   int // that may still be spent; negative: no more
	now    places
	next   places
	key    []byte
}

// Values in table in place of a state.
const (
	unknown uint16 = iota // to be worked out
	matched               // the line matches, whatever follows
	dead                  // the line does not
	spent                 // no work is left to spend
	special               // states begin here
)

// A state is the set of partial matches so far, and the kind of the last character.
type state struct {
	places []uint32
	before rune // the character before, or one that is as good; -1: none
}

func newMachine(prog *syntax.Prog, whole bool) *machine {
	m := &machine{prog: prog, whole: whole, work: maxWork, once: syntax.EmptyBeginText}
	if !whole {
		m.once |= syntax.EmptyBeginLine
	}
	for _, inst := range prog.Inst {
		if inst.Op == syntax.InstEmptyWidth {
			m.looks |= syntax.EmptyOp(inst.Arg)
		}
	}
	m.now.at = make([]uint32, len(prog.Inst))
	m.next.at = make([]uint32, len(prog.Inst))
	m.reset()
	return m
}

// reset forgets all states but the first.
func (m *machine) reset() {
	m.table = append(m.table[:0], make([][256]uint16, special)...)
	m.states = append(m.states[:0], make([]state, special)...)
	m.index, m.runes, m.places = map[string]uint16{}, map[uint64]uint16{}, 0
	m.resets++
	m.next.clear()
	m.begin = m.enter(-1)
	m.next.clear()
	m.idle = m.enter(m.like(' '))
}

// find looks for the first line that matches at or after from, where a line
// begins and which is not the end, and returns an index in it or at its end; -1
// if there is none. Not ok: it has become too expensive, and stays so.
func (m *machine) find(data []byte, from int) (at int, ok bool) {
	if m.work < 0 {
		return -1, false
	}
	at, ok = m.run(data, from)
	if read := at - from; ok {
		if at < 0 {
			read = len(data) - from
		}
		m.work = min(m.work+read, maxWork)
	}
	return at, ok
}

// run is find without the bound on work.
func (m *machine) run(data []byte, from int) (at int, ok bool) {
	open := m.whole || data[len(data)-1] != '\n'
	if !m.whole && data[len(data)-1] == '\r' {
		data = data[:len(data)-1]
	}
	switch m.begin {
	case matched:
		return from, true
	case dead:
		return -1, true
	}
	table, s := m.table, m.begin
	for i := from; i < len(data); {
		next, size := table[s][data[i]], 1
		for next >= special {
			s = next
			if i++; i == len(data) {
				break
			}
			next = table[s][data[i]]
		}
		if i == len(data) {
			break
		}
		if next == unknown {
			next, size = m.step(s, data[i:])
			table = m.table
		}
		switch next {
		case matched:
			return i, true
		case spent:
			return -1, false
		case dead:
			n := bytes.IndexByte(data[i:], '\n')
			if n < 0 || m.whole {
				return -1, true
			}
			i += n + 1
			s = m.begin
		default:
			s = next
			i += size
		}
	}
	if open && m.move(s, -1) == matched {
		return len(data), true
	}
	return -1, m.work >= 0
}

// step returns the state after the character that data begins with, and its size.
// In lines, "\r\n" is as "\n".
func (m *machine) step(s uint16, data []byte) (next uint16, size int) {
	c := data[0]
	switch {
	case !m.whole && c == '\n':
		return m.learn(s, c, -1), 1
	case !m.whole && bytes.HasPrefix(data, []byte("\r\n")):
		if next = m.table[s]['\n']; next == unknown {
			next = m.learn(s, '\n', -1)
		}
		return next, 2
	case c < utf8.RuneSelf && (m.whole || c != '\r'):
		return m.learn(s, c, rune(c)), 1
	}
	r, size := utf8.DecodeRune(data)
	key := uint64(s)<<32 | uint64(r)
	if next, ok := m.runes[key]; ok {
		return next, size
	}
	resets := m.resets
	if next = m.move(s, r); m.resets == resets && next != spent {
		m.runes[key] = next
	}
	return next, size
}

// learn works out the state after the byte c, which is the character r or, if r
// is negative, the end of the line.
func (m *machine) learn(s uint16, c byte, r rune) uint16 {
	resets := m.resets
	next := m.move(s, r)
	if m.resets == resets && next != spent {
		m.table[s][c] = next
	}
	return next
}

// move returns the state after r, or if r is negative after the end of the line,
// which is the beginning of the next one.
func (m *machine) move(s uint16, r rune) uint16 {
	from := &m.states[s]
	around := syntax.EmptyOpContext(from.before, r)
	m.now.clear()
	for _, pc := range from.places {
		m.follow(&m.now, pc, around)
	}
	m.next.clear()
	for _, pc := range m.now.list {
		inst := &m.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstMatch:
			return matched
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if r >= 0 && inst.MatchRune(r) {
				m.follow(&m.next, inst.Out, 0)
			}
		}
	}
	if m.work -= len(m.now.list) + len(m.next.list) + 64; m.work < 0 {
		return spent
	}
	if r < 0 {
		return m.begin
	}
	return m.enter(m.like(r))
}

// follow adds the places that are reached from pc without a character, where the
// conditions around hold.
func (m *machine) follow(to *places, pc uint32, around syntax.EmptyOp) {
	for to.add(pc) {
		inst := &m.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			m.follow(to, inst.Out, around)
			pc = inst.Arg
		case syntax.InstCapture, syntax.InstNop:
			pc = inst.Out
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^around != 0 {
				return
			}
			pc = inst.Out
		default:
			return
		}
	}
}

// like returns a character that is as good as r for the conditions after it, so
// that few states differ in nothing else.
func (m *machine) like(r rune) rune {
	switch {
	case r == '\n' && m.looks&syntax.EmptyBeginLine != 0:
		return '\n'
	case m.looks&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 && syntax.IsWordChar(r):
		return 'a'
	}
	return ' '
}

// enter returns the state of the places in m.next, and of a match that begins
// here, after the character before.
func (m *machine) enter(before rune) uint16 {
	m.follow(&m.next, uint32(m.prog.Start), 0)
	var list []uint32
	for _, pc := range m.next.list {
		inst := &m.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstMatch:
			return matched
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			list = append(list, pc)
		case syntax.InstEmptyWidth:
			if before < 0 || syntax.EmptyOp(inst.Arg)&m.once == 0 {
				list = append(list, pc)
			}
		}
	}
	if len(list) == 0 {
		return dead
	}
	slices.Sort(list)
	m.key = binary.NativeEndian.AppendUint32(m.key[:0], uint32(before))
	for _, pc := range list {
		m.key = binary.NativeEndian.AppendUint32(m.key, pc)
	}
	if s, ok := m.index[string(m.key)]; ok {
		return s
	}
	if len(m.states) >= maxStates || m.places+len(list) > maxPlaces || len(m.runes) > maxPlaces {
		key := string(m.key)
		m.reset()
		if s, ok := m.index[key]; ok {
			return s
		}
		m.key = append(m.key[:0], key...)
	}
	s := uint16(len(m.states))
	m.index[string(m.key)] = s
	m.states = append(m.states, state{list, before})
	m.table = append(m.table, [256]uint16{})
	m.places += len(list)
	return s
}

// places is a set of places in a program, which [syntax.Prog] calls pc.
type places struct {
	list []uint32
	at   []uint32 // where a place is in list, if it is
}

func (p *places) clear() { p.list = p.list[:0] }

// add reports whether pc is new.
func (p *places) add(pc uint32) bool {
	if i := p.at[pc]; int(i) < len(p.list) && p.list[i] == pc {
		return false
	}
	p.at[pc] = uint32(len(p.list))
	p.list = append(p.list, pc)
	return true
}
