package sharetext

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/openagent-go/agent/internal/environ"
)

// In this file each pattern decides about a word by the text before it and by the word itself, never by
// what follows it: so a [Stream] can release a word when it is complete.

// shapes are how keys of services begin, and how long the part after that is at least.
var shapes = []struct {
	prefix string
	least  int
}{
	{"sk-", 16}, {"sk_live_", 12}, {"sk_test_", 12}, {"rk_live_", 12}, {"rk_test_", 12}, {"whsec_", 12}, // OpenAI, Anthropic, OpenRouter, Stripe and others
	{"gsk_", 16}, {"xai-", 16}, {"hf_", 16}, {"r8_", 16}, {"pplx-", 16}, {"nvapi-", 16}, {"fw_", 20}, {"tgp_v1_", 16}, {"csk-", 16}, {"jina_", 16}, {"tvly-", 12}, {"fc-", 24},
	{"AIza", 30}, {"ya29.", 16}, {"GOCSPX-", 16}, // Google
	{"AKIA", 16}, {"ASIA", 16}, {"ABSK", 30}, // AWS
	{"ghp_", 20}, {"gho_", 20}, {"ghu_", 20}, {"ghs_", 20}, {"ghr_", 20}, {"github_pat_", 20}, {"glpat-", 16}, {"gldt-", 16}, {"glrt-", 16}, {"ATATT3", 20}, {"ATBB", 20},
	{"xoxb-", 10}, {"xoxp-", 10}, {"xoxa-", 10}, {"xoxr-", 10}, {"xoxs-", 10}, {"xoxe-", 10}, {"xapp-", 10},
	{"npm_", 20}, {"pypi-", 20}, {"rubygems_", 20}, {"dckr_pat_", 16}, {"dop_v1_", 20}, {"doo_v1_", 20}, {"shpat_", 16}, {"shpss_", 16}, {"SG.", 20}, {"key-", 32},
	{"sntrys_", 20}, {"lin_api_", 16}, {"secret_", 20}, {"ntn_", 20}, {"sbp_", 20}, {"eyJ", 30}, {"AGE-SECRET-KEY-1", 20}, {"hvs.", 16}, {"hvb.", 16}, {"dapi", 28}, {"EAAC", 30},
}

// hideKeys hides what has the shape of a key.
func hideKeys(line string, found func()) string {
	for _, s := range shapes {
		for from := 0; ; {
			i := strings.Index(line[from:], s.prefix)
			if i < 0 {
				break
			}
			i += from
			end := i + len(s.prefix)
			for end < len(line) && inKey(line[end]) {
				end++
			}
			for end > i && (line[end-1] == '.' || line[end-1] == '-') { // the end of a sentence, a dash
				end--
			}
			if i > 0 && alphanumeric(line[i-1]) || end-i-len(s.prefix) < s.least || !random(line[i+len(s.prefix):end]) {
				from = i + len(s.prefix)
				continue
			}
			line = line[:i] + Hidden + line[end:]
			from = i + len(Hidden)
			found()
		}
	}
	return line
}

// random reports whether a text does not look like words.
func random(s string) bool {
	return strings.ContainsAny(s, "0123456789") || strings.ContainsFunc(s, unicode.IsLower) && strings.ContainsFunc(s, unicode.IsUpper)
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func inKey(c byte) bool { return alphanumeric(c) || strings.IndexByte("_-.+/=", c) >= 0 }

var (
	address   = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s"'<>` + "`" + `]*)@`)
	parameter = regexp.MustCompile(`([?&;]|&amp;)([A-Za-z0-9_.-]+)=([^&\s"'<>#` + "`" + `]+)`)
)

// hideAddresses hides users and passwords in addresses, and parameters with names of secrets.
func hideAddresses(line string, found func()) string {
	if strings.Contains(line, "://") {
		line = replace(address, line, found, func(g []string) (string, bool) {
			user, password, both := strings.Cut(g[2], ":")
			port, _, _ := strings.Cut(password, "/")
			switch {
			case strings.ContainsAny(user, "/?"), both && digits(port) && port != password: // the @ is in a path
				return "", false
			case !both && len(user) < minSecret: // a user, as in ssh://git@host
				return "", false
			}
			return g[1] + Hidden + "@", true
		})
	}
	if strings.ContainsRune(line, '=') && strings.ContainsAny(line, "?&;") {
		line = replace(parameter, line, found, func(g []string) (string, bool) {
			return g[1] + g[2] + "=" + Hidden, secretName(g[2]) || strings.EqualFold(g[2], "sig") || strings.EqualFold(g[2], "signature") || strings.EqualFold(g[2], "code")
		})
	}
	return line
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

var (
	header      = regexp.MustCompile(`(?i)(\b(?:proxy-)?(?:authorization|cookie|set-cookie|x-api-key|x-auth-token|api-key)\\*["']?\s*[:=]\s*\\*["'` + "`" + `]?)([^"'` + "`" + `\\]+)`)
	headerWords = []string{"authorization", "cookie", "api-key", "auth-token", "bearer"}
	bearer      = regexp.MustCompile(`(?i)\b(bearer\s+)([A-Za-z0-9._~+/=-]{8,})`)
)

// hideHeaders hides the values of headers, and what follows "Bearer".
func hideHeaders(line string, found func()) string {
	if lower := strings.ToLower(line); !slices.ContainsFunc(headerWords, func(w string) bool { return strings.Contains(lower, w) }) {
		return line
	}
	line = replace(header, line, found, func(g []string) (string, bool) {
		return g[1] + Hidden, strings.TrimSpace(g[2]) != "" && strings.TrimSpace(g[2]) != Hidden
	})
	return replace(bearer, line, found, func(g []string) (string, bool) {
		return g[1] + Hidden, len(g[2]) >= 20 || strings.ContainsAny(g[2], "0123456789")
	})
}

// hideNamed hides the values of what has the name of a secret: password: x, --api-key x, "token": "x".
func hideNamed(line string, found func()) string {
	var out strings.Builder
	last := 0
	for i := 0; i < len(line); i++ {
		name, at, flag := "", i+1, false
		switch line[i] {
		case ':', '=':
			if at < len(line) && (line[at] == '=' || line[at] == '>') {
				at++
			}
			name = nameBefore(strings.TrimRight(strings.TrimRight(line[:i], " \t"), "\\\"'"))
		case ' ', '\t':
			name = nameBefore(line[:i])
			begin := strings.TrimLeft(name, "-")
			flag = begin != name
			name = begin
			if !flag {
				continue
			}
		default:
			continue
		}
		if name = strings.TrimLeft(name, "-."); !secretName(name) {
			continue
		}
		for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
			at++
		}
		begin, end, quoted := value(line, at)
		if bare := line[begin:end]; bare == "" || bare == Hidden || !certain(name) && !quoted && !flag && !likeToken(bare) {
			continue
		}
		out.WriteString(line[last:begin] + Hidden)
		found()
		last, i = end, end-1
	}
	if last == 0 {
		return line
	}
	return out.String() + line[last:]
}

// nameBefore returns the name at the end of a text.
func nameBefore(s string) string {
	i := len(s)
	for i > 0 && (alphanumeric(s[i-1]) || strings.IndexByte("_.-", s[i-1]) >= 0) {
		i--
	}
	return s[i:]
}

// value returns where the value is that begins in a line, without its quotes. One without an end takes
// the rest of the line.
func value(line string, at int) (begin, end int, quoted bool) {
	begin = at
	for begin < len(line) && line[begin] == '\\' {
		begin++
	}
	depth := begin - at // of the quotes within other quotes
	if begin == len(line) || strings.IndexByte("\"'`", line[begin]) < 0 {
		for end = at; end < len(line) && strings.IndexByte(" \t\r\"'`", line[end]) < 0; end++ {
		}
		return at, at + len(strings.TrimRight(line[at:end], ",;)}]\\")), false
	}
	quote := line[begin]
	begin++
	escapes := 0
	for end = begin; end < len(line); end++ {
		switch {
		case line[end] == '\\':
			escapes++
			continue
		case line[end] == quote && (depth > 0 && escapes <= depth || depth == 0 && escapes%2 == 0):
			return begin, end - min(escapes, depth), true
		}
		escapes = 0
	}
	return begin, len(line), true
}

// secretName reports whether something with this name is a secret.
func secretName(name string) bool {
	var words strings.Builder // apiKey is api_Key
	lower := false
	for _, r := range name {
		if lower && unicode.IsUpper(r) {
			words.WriteByte('_')
		}
		lower = unicode.IsLower(r)
		words.WriteRune(r)
	}
	return certain(name) || environ.Secret(words.String())
}

// certain reports whether a name is of a password.
func certain(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"password", "passwd", "passphrase", "passwort", "secret", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "pwd" || name == "pass" || strings.HasSuffix(name, "_pwd") || strings.HasSuffix(name, "_pass")
}

// likeToken reports whether a word looks like a token, not like a word of a language or code.
func likeToken(s string) bool {
	if len(s) < minSecret || strings.ContainsAny(s, "()[]{}<>$") {
		return false
	}
	return len(s) >= 20 || strings.ContainsAny(s, "0123456789") && strings.ContainsFunc(s, unicode.IsLetter)
}

// variable is the begin of a line of a file of variables, perhaps with a file, a number or a mark of a diff
// before it.
var variable = regexp.MustCompile(`^\s*(?:[^\s:="']+:)?(?:\d+\s*[\t|:→-]\s*)?[-+> ]?\s*(?:export\s+|set\s+|ENV\s+|declare\s+-x\s+)?([A-Z][A-Z0-9_]+)\s?=\s?`)

// hideVariables hides the values of variables that are set at the begin of a line.
func hideVariables(line string, found func()) string {
	at := variable.FindStringSubmatchIndex(line)
	if at == nil || at[1] == len(line) {
		return line
	}
	secret := environ.Secret(line[at[2]:at[3]])
	begin, end, quoted := value(line, at[1])
	if secret && !quoted { // the value may have several words
		end = len(line)
	}
	if bare := line[begin:end]; bare == "" || bare == Hidden {
		return line
	}
	found()
	return line[:begin] + Hidden + line[end:]
}

var mail = regexp.MustCompile(`[\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+`)

// hideMail hides e-mail addresses.
func hideMail(line string, found func()) string {
	if !strings.ContainsRune(line, '@') {
		return line
	}
	return replace(mail, line, found, func(g []string) (string, bool) { return "[e-mail]", !strings.HasPrefix(g[0], "git@") })
}

// homes returns the rule that shows home folders as ~.
func homes(home string) rule {
	paths := `/home/[^/\s"'` + "`" + `:;,)\\]+|/Users/[^/\s"'` + "`" + `:;,)\\]+|(?i:[a-z]:(?:\\+|/)Users(?:\\+|/))[^\\/\s"'` + "`" + `:;,)]+`
	if home = strings.TrimRight(home, `/\`); len(home) > 1 {
		paths = regexp.QuoteMeta(home) + "|" + paths
	}
	re := regexp.MustCompile(`(^|[^\pL\pN_.-])(` + paths + `)($|[^\pL\pN_.-])`)
	return rule{"home folders", func(line string, found func()) string {
		if !strings.Contains(line, "home") && !strings.Contains(line, "sers") && !strings.Contains(line, "SERS") && (home == "" || !strings.Contains(line, home)) {
			return line
		}
		for range 2 { // neighbours share the character between them
			line = replace(re, line, found, func(g []string) (string, bool) { return g[1] + "~" + g[3], true })
		}
		return line
	}}
}
