package gitignore

import "strings"

// special are the characters that begin something other than themselves.
const special = `*?[\`

// A kind is the kind of a token.
type kind uint8

const (
	one   kind = iota // a byte of set
	star              // any bytes but a slash
	deep              // nothing, or any bytes up to and with a slash: "**/"
	every             // any bytes
)

type token struct {
	kind kind
	lit  byte // the only byte that matches, where set is nil
	set  *set
}

// A set is a set of bytes, as git matches bytes and not characters.
type set [4]uint64

func (s *set) add(lo, hi byte) {
	for c := int(lo); c <= int(hi); c++ {
		s[c>>6] |= 1 << (c & 63)
	}
}

func (s *set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func (s *set) invert() {
	for i := range s {
		s[i] = ^s[i]
	}
}

func (s *set) remove(c byte) { s[c>>6] &^= 1 << (c & 63) }

func (t token) has(c byte) bool {
	if t.set == nil {
		return t.lit == c
	}
	return t.set.has(c)
}

// compile reads the pattern p, the part of a line after its literal prefix. "**" at its
// beginning counts as if a slash stood before it, also after a prefix as in "foo**/bar":
// git does the same. Not ok: it can match nothing.
func compile(p string) (tokens []token, ok bool) {
	for i := 0; i < len(p); {
		switch c := p[i]; c {
		case '*':
			n := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
			t, used := stars(p, i, n)
			tokens = append(tokens, t)
			i += used
		case '?':
			any := &set{}
			any.invert()
			any.remove('/')
			tokens = append(tokens, token{set: any})
			i++
		case '[':
			s, used := class(p[i:])
			if used == 0 {
				return nil, false
			}
			tokens = append(tokens, token{set: s})
			i += used
		case '\\':
			if i++; i == len(p) {
				return nil, false
			}
			tokens = append(tokens, token{lit: p[i]})
			i++
		default:
			tokens = append(tokens, token{lit: c})
			i++
		}
	}
	return tokens, true
}

// stars reads the n stars at i and the slashes around them.
func stars(p string, i, n int) (t token, used int) {
	rest := p[i+n:]
	alone := n > 1 && (i == 0 || p[i-1] == '/')
	switch {
	case alone && strings.HasPrefix(rest, "/"):
		return token{kind: deep}, n + 1
	case alone && (rest == "" || strings.HasPrefix(rest, `\/`)):
		return token{kind: every}, n
	}
	return token{kind: star}, n
}

// match reports whether the tokens match all of s. Going back to the last star
// and the last "**" is enough, so the time is at most that of their product.
func match(tokens []token, s string) bool {
	type point struct{ token, pos int }
	none := point{-1, 0}
	lastStar, lastDeep := none, none
	for t, pos := 0, 0; ; {
		if t < len(tokens) {
			switch k := tokens[t]; {
			case k.kind == star:
				t++
				lastStar = point{t, pos}
				continue
			case k.kind != one:
				t++
				lastStar, lastDeep = none, point{t, pos}
				continue
			case pos < len(s) && k.has(s[pos]):
				t++
				pos++
				continue
			}
		} else if pos == len(s) {
			return true
		}
		switch {
		case lastStar.token >= 0 && lastStar.pos < len(s) && s[lastStar.pos] != '/':
			lastStar.pos++
			t, pos = lastStar.token, lastStar.pos
		case lastDeep.token >= 0 && lastDeep.pos < len(s):
			step := 1
			if tokens[lastDeep.token-1].kind == deep {
				if step = strings.IndexByte(s[lastDeep.pos:], '/') + 1; step == 0 {
					return false
				}
			}
			lastDeep.pos += step
			lastStar = none
			t, pos = lastDeep.token, lastDeep.pos
		default:
			return false
		}
	}
}

// class reads a bracket expression, which p begins with, and returns its length;
// 0 if it has no end or names an unknown class. It never matches a slash.
func class(p string) (*set, int) {
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	s := &set{}
	low := 0 // the character before, which "-" makes the begin of a range; 0: none
	for first := true; ; first = false {
		if i >= len(p) {
			return nil, 0
		}
		c := p[i]
		switch {
		case c == ']' && !first:
			if negated {
				s.invert()
			}
			s.remove('/')
			return s, i + 1
		case c == '\\':
			if i++; i == len(p) {
				return nil, 0
			}
			s.add(p[i], p[i])
			low = int(p[i])
		case c == '-' && low != 0 && i+1 < len(p) && p[i+1] != ']':
			i++
			if p[i] == '\\' {
				if i++; i == len(p) {
					return nil, 0
				}
			}
			s.add(byte(low), p[i])
			low = 0
		case c == '[' && i+1 < len(p) && p[i+1] == ':':
			name, n, ok := className(p[i:])
			if !ok {
				return nil, 0
			}
			if n == 0 { // no ":]": an ordinary bracket
				s.add('[', '[')
				low = '['
				break
			}
			if !s.addClass(name) {
				return nil, 0
			}
			i += n - 1
			low = 0
		default:
			s.add(c, c)
			low = int(c)
		}
		i++
	}
}

// className reads "[:name:]"; n is 0 if the next "]" does not end it. Not ok: there is no
// such class.
func className(p string) (name string, n int, ok bool) {
	end := strings.IndexByte(p[2:], ']')
	if end < 0 {
		return "", 0, false
	}
	name, ok = strings.CutSuffix(p[2:2+end], ":")
	if !ok {
		return "", 0, true
	}
	return name, end + 3, true
}

// addClass adds the ASCII characters of a POSIX class.
func (s *set) addClass(name string) bool {
	switch name {
	case "alnum":
		s.add('0', '9')
		s.add('A', 'Z')
		s.add('a', 'z')
	case "alpha":
		s.add('A', 'Z')
		s.add('a', 'z')
	case "blank":
		s.add(' ', ' ')
		s.add('\t', '\t')
	case "cntrl":
		s.add(0, 31)
		s.add(127, 127)
	case "digit":
		s.add('0', '9')
	case "graph":
		s.add(33, 126)
	case "lower":
		s.add('a', 'z')
	case "print":
		s.add(32, 126)
	case "punct":
		s.add(33, 47)
		s.add(58, 64)
		s.add(91, 96)
		s.add(123, 126)
	case "space": // git's own table of characters has no others
		s.add(' ', ' ')
		s.add('\t', '\n')
		s.add('\r', '\r')
	case "upper":
		s.add('A', 'Z')
	case "xdigit":
		s.add('0', '9')
		s.add('A', 'F')
		s.add('a', 'f')
	default:
		return false
	}
	return true
}
