package permission

import (
	"strings"
	"sync/atomic"
)

// A commandLine is a command line of a call, as far as calls are judged by it: a [*site],
// or unread.
type commandLine interface {
	whyNotRead(secrets bool) string
	writes() bool
	touches(x *rule) bool
	mayTouch(x *rule) string
	walksAmong(kept []string) string
	runs(x *rule) bool
	uncertain(x *rule, tool string) string
	doubtful(files bool) bool
	allowedBy(set *ruleSet, tool string) (*rule, bool)
	coveredBy(set *ruleSet, tool string, all bool) (*rule, bool)
	danger() string
	opened(read, written *[]string) (all bool)
	opensAmong(kept []string) string
	opening(found []int, b *bucket) []int
	programs() []string
	suggest(tool string, width Breadth) ([]Rule, bool)
	unclear() string
	parts(tool string, p *Compiled, deny, ask []int) []Part
}

// understand is newSite once [UnderstandShell] was called. Nothing else refers to that, so that
// programs whose tools run no commands are linked without a shell's parser and all that
// is known of programs, six hundred kilobytes.
var understand atomic.Pointer[func(*pathContext, string) commandLine]

// UnderstandShell lets command lines be judged by what they do. Importing package tools
// or package sandbox calls it. A program whose own tools have an [Access] of kind
// [RunCommand] and that imports neither has to call it itself, before any call is judged:
// until then every line is one that is not understood, which no rule with a pattern allows.
func UnderstandShell() { understand.Store(new(newShellLine)) }

func lineOf(g *pathContext, line string) commandLine {
	if read := understand.Load(); read != nil {
		return (*read)(g, line)
	}
	return unread(line)
}

// An unread line is judged as one that is not understood.
type unread string

const notRead = "this program does not understand command lines: it has to call permission.UnderstandShell, which importing package tools does"

func (unread) whyNotRead(bool) string                         { return notUnderstood + notRead }
func (unread) danger() string                                 { return notUnderstood + notRead }
func (unread) unclear() string                                { return notRead }
func (unread) mayTouch(*rule) string                          { return notRead }
func (unread) walksAmong([]string) string                     { return "" }
func (unread) doubtful(bool) bool                             { return true }
func (unread) writes() bool                                   { return true }
func (unread) touches(*rule) bool                             { return false }
func (unread) programs() []string                             { return nil }
func (unread) opensAmong([]string) string                     { return "" }
func (unread) opened(read, written *[]string) (all bool)      { return false }
func (unread) allowedBy(*ruleSet, string) (*rule, bool)       { return nil, false }
func (unread) coveredBy(*ruleSet, string, bool) (*rule, bool) { return nil, false }
func (unread) suggest(string, Breadth) ([]Rule, bool)         { return nil, false }
func (unread) parts(string, *Compiled, []int, []int) []Part   { return nil }
func (unread) opening(found []int, b *bucket) []int           { return append(found, b.scoped...) }
func (u unread) runs(x *rule) bool {
	return x.matchesText(strings.TrimSpace(string(u)))
}

func (unread) uncertain(x *rule, tool string) string {
	if x.tool == "Read" || x.tool == "Edit" || x.names(tool) || x.forbidsCommands(RunCommand) {
		return notRead
	}
	return ""
}
