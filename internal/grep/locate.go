package grep

import "regexp/syntax"

// Matches in a text that is searched as one. Package regexp says where they begin and
// end, and is slow; the machine says where it has to look.

// matches calls yield with the bounds of the matches in the text, those that
// FindAllIndex returns, at most n, until it returns false.
func (s *searcher) matches(n int, yield func(loc []int) bool) {
	from := 0
	if m := s.machine(); m.traces() {
		for ; n > 0; n-- {
			start, ok := m.locate(s.data, from)
			if !ok {
				break
			}
			if start < 0 {
				return
			}
			loc := s.Pattern.re.FindIndex(s.data[start:])
			if loc == nil {
				break
			}
			from = start + loc[1]
			if !yield([]int{start + loc[0], from}) {
				return
			}
		}
	}
	for _, loc := range s.Pattern.re.FindAllIndex(s.data[from:], n) {
		if !yield([]int{from + loc[0], from + loc[1]}) {
			return
		}
	}
}

// traces reports whether locate is the way for the pattern: nothing that it asks of
// the characters around a place, no match without a character, and whatever is under
// way can be seen in the state.
func (m *machine) traces() bool {
	if !m.whole || m.looks != 0 || m.begin < special {
		return false
	}
	first := m.reached(uint32(m.prog.Start))
	for pc := range m.prog.Inst {
		if inst := &m.prog.Inst[pc]; consumes(inst.Op) {
			hidden := true
			for next := range m.reached(inst.Out) {
				hidden = hidden && first[next]
			}
			if hidden {
				return false
			}
		}
	}
	return true
}

// reached returns the places from pc on that take a character or are a match.
func (m *machine) reached(pc uint32) map[uint32]bool {
	m.next.clear()
	m.follow(&m.next, pc, 0)
	set := map[uint32]bool{}
	for _, pc := range m.next.list {
		if op := m.prog.Inst[pc].Op; consumes(op) || op == syntax.InstMatch {
			set[pc] = true
		}
	}
	return set
}

func consumes(op syntax.InstOp) bool {
	switch op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// locate returns a place at or after from, and not after the beginning of the next
// match, where nothing is under way: the match is the first one from there. -1: there
// is none. Not ok: it has become too expensive, and stays so.
func (m *machine) locate(data []byte, from int) (start int, ok bool) {
	if m.work < 0 {
		return -1, false
	}
	start = from
	s := m.begin
	for i := from; i < len(data); {
		next, size := m.table[s][data[i]], 1
		if next == unknown {
			next, size = m.step(s, data[i:])
		}
		switch next {
		case matched:
			m.work = min(m.work+i-from, maxWork)
			return start, true
		case spent:
			return -1, false
		case dead:
			return -1, true
		}
		s = next
		if i += size; s == m.idle {
			start = i
		}
	}
	m.work = min(m.work+len(data)-from, maxWork)
	return -1, true
}
