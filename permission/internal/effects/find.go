package effects

import (
	"strings"

	"github.com/openagent-go/agent/permission/internal/shellword"
)

var findTests = map[string]int{}

func init() {
	for _, t := range strings.Fields("-empty -print -print0 -prune -not -and -or -a -o ! ( ) , -readable -writable -executable -true -false -depth -d -mount -xdev -ls -daystart -quit -noleaf") {
		findTests[t] = 0
	}
	for _, t := range strings.Fields("-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -perm -user -group -uid -gid -links -inum -lname -printf -regextype") {
		findTests[t] = 1
	}
}

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
		n, known := findTests[words[i].Text]
		if i += n; !known || i >= len(words) || words[i].Hidden() {
			return nil, false
		}
	}
	return files, true
}
