package effects

import "github.com/openagent-go/agent/internal/rules/shellword"

// findReads accepts a find that only prints.
func findReads(words []shellword.Word) (files []shellword.Word, ok bool) {
	i := 0
	for ; i < len(words); i++ {
		t := words[i].Text
		if t == "-P" || t == "-E" {
			continue
		}
		if t == "" || words[i].Hidden() || t[0] == '-' || t == "(" || t == "!" || t == "," || t == ")" {
			break
		}
		files = append(files, words[i])
	}
	for ; i < len(words); i++ {
		if words[i].Hidden() {
			return nil, false
		}
		if t := words[i].Text; t == "-newer" || t == "-anewer" || t == "-cnewer" {
			if i++; i == len(words) || words[i].Hidden() {
				return nil, false
			}
			files = append(files, words[i])
			continue
		}
		test := words[i].Text
		takesValue := known().findTestsWithValue[test]
		if takesValue {
			i++
		}
		if !takesValue && !known().findTests[test] || i >= len(words) || words[i].Hidden() {
			return nil, false
		}
	}
	return files, true
}
