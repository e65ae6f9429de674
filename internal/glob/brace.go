package glob

import (
	"errors"
	"fmt"
	"slices"
)

// expand returns the alternatives that the braces of a pattern stand for, in
// the order in which they are written.
func expand(pattern string) ([]string, error) {
	var done []string
	todo := []string{pattern}
	for len(todo) > 0 {
		if len(todo)+len(done) > maxAlts {
			return nil, fmt.Errorf("the braces stand for more than %d patterns", maxAlts)
		}
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		head, choices, tail, err := firstBrace(p)
		if err != nil {
			return nil, err
		}
		if choices == nil {
			done = append(done, head)
			continue
		}
		for _, c := range slices.Backward(choices) {
			todo = append(todo, head+c+tail)
		}
	}
	return done, nil
}

// firstBrace splits p at its first pair of braces. choices is nil if it has none.
func firstBrace(p string) (head string, choices []string, tail string, err error) {
	depth, open, from := 0, 0, 0
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			if depth++; depth == 1 {
				open, from = i, i+1
			}
		case ',':
			if depth == 1 {
				choices = append(choices, p[from:i])
				from = i + 1
			}
		case '}':
			if depth--; depth < 0 {
				return "", nil, "", errors.New(`a "}" has no "{" before it (write \} for a literal brace)`)
			}
			if depth == 0 {
				return p[:open], append(choices, p[from:i]), p[i+1:], nil
			}
		}
	}
	if depth > 0 {
		return "", nil, "", errors.New(`a "{" is not closed (write \{ for a literal brace)`)
	}
	return p, nil, "", nil
}
