// Package sharetext takes out of texts what a person who shares a session would not show: keys,
// passwords, e-mail addresses, and names of the person and the machine.
//
// Patterns can miss things. What the caller names in [Options] is found for certain.
package sharetext

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/text"
)

// Hidden stands in the place of a secret.
const Hidden = "***"

// Options say what is to be found beside the patterns.
type Options struct {
	Secrets []string // values of 8 bytes or more, wherever they stand
	Own     []string // regular expressions, each looked for within one line
	Home    string   // the person's folder, shown as ~
	Users   []string // names of the person
	Hosts   []string // names of the machine
}

// Rules hide texts. They are safe for concurrent use.
type Rules struct {
	secrets redact.Values
	spaced  []string // secrets and names with white space, which come in several words
	lines   []rule
	byLine  bool // own rules need whole lines
	note    func(Found)
}

// A rule finds something in a line.
type rule struct {
	name string
	// hide returns the line without what the rule finds, and calls found for each.
	hide func(line string, found func()) string
}

// The names of the rules, as a preview lists them.
const (
	ofSecrets = "known secrets"
	ofPEM     = "PEM blocks"
	ofNames   = "named secrets"
)

// Names returns the names of all rules, in the order in which they are applied.
func (r *Rules) Names() []string {
	out := []string{ofSecrets, ofPEM}
	for _, l := range r.lines {
		out = append(out, l.name)
	}
	return out
}

// Standard returns the rules without options: for texts that must hold no keys and passwords.
var Standard = sync.OnceValue(func() *Rules {
	rules, err := New(Options{})
	if err != nil {
		panic(err) // no rule of ours is wrong
	}
	return rules
})

// New returns the rules. An error is about one of the own rules.
func New(o Options) (*Rules, error) {
	secrets := slices.Clone(o.Secrets)
	for _, s := range o.Secrets {
		if strings.Contains(s, "\n") { // a tool may show it in one line, or with numbers of lines
			secrets = append(secrets, text.OneLine(s))
			for line := range strings.Lines(s) {
				if line = strings.TrimSpace(line); len(line) >= 2*minSecret {
					secrets = append(secrets, line)
				}
			}
		}
	}
	r := &Rules{secrets: redact.New(encoded(secrets)), byLine: len(o.Own) > 0}
	for _, s := range secrets {
		if len(s) >= minSecret && strings.ContainsFunc(s, unicode.IsSpace) {
			r.spaced = append(r.spaced, s, strings.Trim(text.QuoteJSON(s), `"`))
		}
	}
	r.lines = []rule{
		{"passwords in addresses", hideAddresses},
		{"headers with credentials", hideHeaders},
		{"keys of services", hideKeys},
		{"passwords of commands", hideCommands},
		{ofNames, hideNamed},
		{"values of variables", hideVariables},
	}
	for i, own := range o.Own {
		re, err := regexp.Compile(own)
		if err != nil {
			return nil, fmt.Errorf("own rule %d: %w", i+1, err)
		}
		if re.MatchString("") {
			return nil, fmt.Errorf("own rule %d, %s, matches the empty text; write one that matches only what to hide", i+1, text.Runes(own, 60))
		}
		r.lines = append(r.lines, rule{"own rule " + text.Runes(own, 60), func(line string, found func()) string {
			return replace(re, line, found, func([]string) (string, bool) { return Hidden, true })
		}})
	}
	r.lines = append(r.lines, rule{mailRule, hideMail}, homes(o.Home))
	for _, n := range []struct {
		rule, mark string
		names      []string
	}{{"user names", "[user]", o.Users}, {"host names", "[host]", o.Hosts}} {
		if names := telling(n.names); len(names) > 0 {
			re := regexp.MustCompile(`(?i)(^|[^\pL\pN])(` + strings.Join(names, "|") + `)($|[^\pL\pN])`)
			r.lines = append(r.lines, rule{n.rule, func(line string, found func()) string {
				lower := strings.ToLower(line)
				if !slices.ContainsFunc(n.names, func(name string) bool { return strings.Contains(lower, strings.ToLower(strings.TrimSpace(name))) }) {
					return line
				}
				return hideNames(re, n.mark, line, found)
			}})
		}
		for _, name := range n.names {
			if strings.ContainsFunc(name, unicode.IsSpace) {
				r.spaced = append(r.spaced, name)
			}
		}
	}
	return r, nil
}

// minSecret is how long a known secret has to be: shorter ones would be found everywhere.
const minSecret = 8

// common are names that say nothing about a person or a machine.
var common = strings.Fields(`root user users admin administrator ubuntu debian runner app node dev test guest nobody daemon vscode
	ec2-user docker localhost localhost.localdomain container build ci agent openagent`)

// telling returns the names that say something, quoted for a regular expression, the longest first.
func telling(names []string) []string {
	var out []string
	for _, n := range names {
		if n = strings.TrimSpace(n); utf8.RuneCountInString(n) >= 3 && !slices.Contains(common, strings.ToLower(n)) {
			out = append(out, regexp.QuoteMeta(n))
		}
	}
	longer := func(i, j int) bool { return len(out[i]) > len(out[j]) || len(out[i]) == len(out[j]) && out[i] < out[j] }
	sort.Sort(order.By(len(out), longer, func(i, j int) { out[i], out[j] = out[j], out[i] }))
	return slices.Compact(out)
}

// Text returns a text without what the rules find.
func (r *Rules) Text(s string) string { return r.apply(visible(text.Clean(visible(s)))) }

// A Found is what one rule finds in a line.
type Found struct {
	Rule  string
	Line  string // without what the rules hide
	Count int
}

const mailRule = "e-mail addresses"

// SecretIn names the rule that finds a key or a password in a text, "" for none. A mail address is
// no secret.
func (r *Rules) SecretIn(s string) string {
	found := ""
	r.Noting(func(f Found) {
		if f.Rule != mailRule {
			found = f.Rule
		}
	}).Text(s)
	return found
}

// Noting returns rules that call note with what they find.
func (r *Rules) Noting(note func(Found)) *Rules {
	own := *r
	own.note = note
	return &own
}

// apply hides a clean text.
func (r *Rules) apply(s string) string {
	s = r.literally(s)
	s = hidePEM(s, r.note)
	s, _ = hideBelow(s, r.named)
	var out strings.Builder
	out.Grow(len(s))
	for line := range strings.Lines(s) {
		end := ""
		if strings.HasSuffix(line, "\n") {
			line, end = line[:len(line)-1], "\n"
		}
		var found []Found
		for _, rule := range r.lines {
			n := 0
			line = rule.hide(line, func() { n++ })
			if n > 0 && r.note != nil {
				found = append(found, Found{Rule: rule.name, Count: n})
			}
		}
		for _, f := range found {
			f.Line = line
			r.note(f)
		}
		out.WriteString(line)
		out.WriteString(end)
	}
	return out.String()
}

// literally hides the known secrets.
func (r *Rules) literally(s string) string {
	hidden := r.secrets.Text(s)
	if r.note != nil && hidden != s {
		n := strings.Count(hidden, Hidden) - strings.Count(s, Hidden)
		line := ""
		for l := range strings.Lines(hidden) {
			if strings.Contains(l, Hidden) && !strings.Contains(s, l) {
				line = strings.TrimSuffix(l, "\n")
				break
			}
		}
		r.note(Found{Rule: ofSecrets, Line: r.rest(line), Count: max(n, 1)})
	}
	return hidden
}

// rest applies the patterns to a line for a preview.
func (r *Rules) rest(line string) string {
	for _, rule := range r.lines {
		line = rule.hide(line, func() {})
	}
	return line
}

var (
	pemBegin = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]+-----`)
	pemEnd   = regexp.MustCompile(`-----END [A-Z0-9 ]+-----`)
)

// hidePEM hides what PEM blocks hold. One without an end holds the rest of the text.
func hidePEM(s string, note func(Found)) string {
	var out strings.Builder
	for {
		at := pemBegin.FindStringIndex(s)
		if at == nil {
			if out.Len() == 0 {
				return s
			}
			out.WriteString(s)
			return out.String()
		}
		out.WriteString(s[:at[1]])
		header, body := s[at[0]:at[1]], s[at[1]:]
		end := len(body)
		if e := pemEnd.FindStringIndex(body); e != nil {
			end = e[0]
		}
		out.WriteString(Hidden)
		if note != nil {
			note(Found{Rule: ofPEM, Line: header + Hidden, Count: 1})
		}
		s = body[end:]
	}
}

// inPEM reports whether a text ends in a PEM block.
func inPEM(s string) bool {
	for {
		at := pemBegin.FindStringIndex(s)
		if at == nil {
			return false
		}
		s = s[at[1]:]
		if at = pemEnd.FindStringIndex(s); at == nil {
			return true
		}
		s = s[at[1]:]
	}
}

// replace replaces the matches for which with returns true.
func replace(re *regexp.Regexp, line string, found func(), with func(groups []string) (string, bool)) string {
	all := re.FindAllStringSubmatchIndex(line, -1)
	if all == nil {
		return line
	}
	var out strings.Builder
	last := 0
	for _, at := range all {
		groups := make([]string, len(at)/2)
		for i := range groups {
			if at[2*i] >= 0 {
				groups[i] = line[at[2*i]:at[2*i+1]]
			}
		}
		by, ok := with(groups)
		if !ok || by == groups[0] {
			continue
		}
		out.WriteString(line[last:at[0]])
		out.WriteString(by)
		last = at[1]
		found()
	}
	out.WriteString(line[last:])
	return out.String()
}

// hideNames hides names that stand alone. Neighbours may share the character between them.
func hideNames(re *regexp.Regexp, mark, line string, found func()) string {
	for range 2 {
		line = replace(re, line, found, func(g []string) (string, bool) { return g[1] + mark + g[3], true })
	}
	return line
}

// JSON returns JSON whose strings, names of members and numbers are hidden, nil if raw is not valid.
func (r *Rules) JSON(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil
	}
	out, err := json.Marshal(r.value(v, false))
	if err != nil {
		return nil
	}
	return redact.Plain(out)
}

// secretFlag reports whether a word is a flag whose value, in the next word, is a secret.
func secretFlag(word string) bool {
	name := strings.TrimLeft(visible(word), "-")
	return strings.HasPrefix(word, "-") && !strings.ContainsAny(name, "= \t\r\n") && secretName(name)
}

// named notes a member with the name of a secret.
func (r *Rules) named() {
	if r.note != nil {
		r.note(Found{Rule: ofNames, Line: `"…": "` + Hidden + `"`, Count: 1})
	}
}

// value hides a decoded value. secret: its member has the name of a secret.
func (r *Rules) value(v any, secret bool) any {
	switch v := v.(type) {
	case string:
		if secret && v != "" && v != Hidden {
			r.named()
			return Hidden
		}
		return r.Text(v)
	case json.Number:
		if hidden := r.Text(v.String()); hidden != v.String() {
			return hidden
		}
		if secret && len(v) >= minSecret {
			r.named()
			return Hidden
		}
		return v
	case []any:
		flag := false // the element before is a flag with the name of a secret
		for i := range v {
			word, _ := v[i].(string)
			v[i] = r.value(v[i], secret || flag)
			flag = secretFlag(word)
		}
		return v
	case map[string]any:
		pair := false // the value of this object is what another member names
		for name, member := range v {
			word, ok := member.(string)
			pair = pair || ok && (strings.EqualFold(name, "name") || strings.EqualFold(name, "key")) && secretName(visible(word))
		}
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[r.Text(name)] = r.value(member, secret || secretName(visible(name)) || pair && strings.EqualFold(name, "value"))
		}
		return out
	}
	return v
}
