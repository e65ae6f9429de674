package effects

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed variables.txt
var variablesTable string

// Variables holds the lists of variables.txt. Comments there explain each.
type variables struct {
	inert, steering, computed        set
	steeringPrefixes, programEndings []string
}

func readVariables() variables {
	l := readLists("variables.txt", variablesTable)
	v := variables{
		inert: l.takeSet("inert"), steering: l.takeSet("steering"), computed: l.takeSet("computed"),
		steeringPrefixes: l.take("steering-prefixes"), programEndings: l.take("program-endings"),
	}
	l.done("variables.txt")
	return v
}

// IsInert reports whether a variable changes no program that runs.
func IsInert(name string) bool {
	if known().inert[name] || strings.HasPrefix(name, "LC_") {
		return true
	}
	return name != "" && strings.ToLower(name) == name && !strings.HasSuffix(name, "_proxy") && !strings.HasPrefix(name, "npm_") && name != "_"
}

// IsComputed reports whether bash computes the value of a variable.
func IsComputed(name string) bool { return known().computed[name] }

// Steers reports whether a variable decides which program runs or what it loads.
func Steers(name string) bool {
	if IsInert(name) {
		return false
	}
	return known().steering[name] || slices.ContainsFunc(known().steeringPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		strings.HasSuffix(strings.ToLower(name), "_proxy") || strings.Contains(name, "PRELOAD")
}

// SteersProgram reports whether a variable says, by its name, which program another
// one starts.
func SteersProgram(name string) bool {
	return slices.ContainsFunc(known().programEndings, func(end string) bool { return strings.HasSuffix(name, end) })
}
