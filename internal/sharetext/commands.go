package sharetext

import (
	"regexp"
	"strings"
)

var (
	curl       = regexp.MustCompile(`\bcurl\s`)
	curlUser   = regexp.MustCompile(`(\s(?:-u\s*|--user[ =])\\*)("[^":\s]+:[^"]*"?|'[^':\s]+:[^']*'?|[^\s:"'` + "`" + `]+:[^\s"'` + "`" + `]+)`)
	mysql      = regexp.MustCompile(`\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|mariadb-admin)\s[^;|]*$`)
	mysqlValue = regexp.MustCompile(`(\s-p\\*)("[^"]*"?|'[^']*'?|[^\s"'` + "`" + `]+)`)
)

// hideCommands hides passwords of commands whose flags have no telling name.
func hideCommands(line string, found func()) string {
	if strings.Contains(line, "curl") {
		line = hideAfter(curl, curlUser, line, found)
	}
	if strings.Contains(line, "mysql") || strings.Contains(line, "mariadb") {
		line = hideAfter(mysql, mysqlValue, line, found)
	}
	return line
}

// hideAfter hides the second groups of the matches of a flag that come after a command.
func hideAfter(command, flag *regexp.Regexp, line string, found func()) string {
	var out strings.Builder
	last := 0
	for _, at := range flag.FindAllStringSubmatchIndex(line, -1) {
		if line[at[4]:at[5]] == Hidden || !command.MatchString(line[:at[0]+1]) {
			continue
		}
		out.WriteString(line[last:at[4]] + Hidden)
		last = at[5]
		found()
	}
	return out.String() + line[last:]
}

var (
	numbered = regexp.MustCompile(`^(?:\s*\d+\s*[\t|:→])?\+?`) // of a file that a tool shows, and of a diff
	opening  = regexp.MustCompile(`^(?:- +)?["']?([A-Za-z0-9_.-]+)["']?:\s*(?:[|>][-+0-9]*)?\s*$`)
	member   = regexp.MustCompile(`^(?:- +)?["']?[A-Za-z0-9_.-]+["']?:(?:\s|$)`)
)

// hideBelow hides the lines that belong to a name of a secret by being indented below it, as in YAML. open:
// the next line may belong to one.
func hideBelow(s string, found func()) (_ string, open bool) {
	if !strings.Contains(s, ":") {
		return s, false
	}
	var out strings.Builder
	depth, sure := 0, false
	for line := range strings.Lines(s) {
		text := strings.TrimRight(line, "\r\n")
		rest := text[len(numbered.FindString(text)):]
		inner := strings.TrimLeft(rest, " \t")
		indent := len(rest) - len(inner)
		switch {
		case open && inner == "":
		case open && indent > depth:
			if (sure || !member.MatchString(inner)) && strings.TrimSpace(inner) != Hidden {
				found()
				line = text[:len(text)-len(inner)] + Hidden + line[len(text):]
			}
		default:
			name := opening.FindStringSubmatch(inner)
			if open = name != nil && secretName(name[1]); open {
				depth, sure = indent, certain(name[1])
			}
		}
		out.WriteString(line)
	}
	return out.String(), open
}
