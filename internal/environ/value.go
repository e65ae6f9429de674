package environ

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	// keyShaped is how keys of well-known services look.
	keyShaped = regexp.MustCompile(`^(sk-|sk_live_|sk_test_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xai-|gsk_|hf_|npm_|pypi-|AIza|SG\.)[A-Za-z0-9._-]{12,}$|^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$|-----BEGIN [A-Z ]*PRIVATE KEY`)
	// userPart is the user and the password of an address.
	userPart = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^/\s?#"'@]*)@`)
)

// SecretValue reports whether a value is taken for a key by its form.
func SecretValue(value string) bool { return keyShaped.MatchString(value) }

// withoutUsers takes users and passwords out of the addresses in a value.
func withoutUsers(value string) string { return userPart.ReplaceAllString(value, "$1") }

// Passwords returns the passwords, and users without one, of the addresses in a value.
func Passwords(value string) []string {
	var out []string
	for _, m := range userPart.FindAllStringSubmatch(value, -1) {
		if _, password, ok := strings.Cut(m[2], ":"); ok {
			out = append(out, password)
		} else if m[2] != "git" {
			out = append(out, m[2])
		}
	}
	return out
}

// Address returns the secrets in a URL: passwords, and the values of parameters whose
// names, or whose form, mark them as keys.
func Address(raw string) []string {
	out := Passwords(raw)
	_, query, _ := strings.Cut(raw, "?")
	query, fragment, _ := strings.Cut(query, "#")
	for _, part := range strings.FieldsFunc(query+"&"+fragment, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil {
			plain = value
		}
		if SecretParameter(name) || SecretValue(plain) {
			out = append(out, value)
			if plain != value {
				out = append(out, plain)
			}
		}
	}
	path, _, _ := strings.Cut(raw, "?")
	for _, step := range strings.Split(path, "/") {
		if SecretValue(step) {
			out = append(out, step)
		}
	}
	return out
}

// SecretParameter reports whether a parameter of a URL, or a flag, of this name is taken
// for a secret.
func SecretParameter(name string) bool {
	name = strings.TrimLeft(name, "-")
	return Secret(name) || slices.Contains([]string{"sig", "signature", "code"}, strings.ToLower(name))
}

// Arguments returns the secrets in the arguments of a command.
func Arguments(args []string) []string {
	var out []string
	for i, a := range args {
		name, value, given := strings.Cut(a, "=")
		switch {
		case SecretValue(a):
			out = append(out, a)
		case given && SecretParameter(name):
			out = append(out, value)
		case !given && strings.HasPrefix(a, "-") && SecretParameter(a) && i+1 < len(args):
			out = append(out, args[i+1])
		case strings.Contains(a, "://"):
			out = append(out, Address(a)...)
		}
	}
	return out
}

// commonWords are values that say nothing to anybody.
var commonWords = strings.Fields(`production development staging testing localhost disabled enabled required optional anonymous verbose warning default`)

// Telling reports whether a value may be masked in texts: not a word that is
// everywhere, nor the path of something that is there.
func Telling(value string) bool {
	if slices.Contains(commonWords, strings.ToLower(value)) {
		return false
	}
	for _, path := range filepath.SplitList(value) {
		if !filepath.IsAbs(path) {
			return true
		}
		if _, err := os.Lstat(path); err != nil {
			return true
		}
	}
	return false
}

// Server returns the values in the configuration of an MCP server that must not be shown:
// of variables, keys in the URL and the arguments, the secret of its login, and headers.
func Server(env map[string]string, url string, args []string, headers map[string]string, secret string) []string {
	var list []string
	list = append(list, Given(env)...)
	list = append(append(list, Address(url)...), Arguments(args)...)
	if secret != "" {
		list = append(list, secret)
	}
	for _, value := range headers {
		list = append(list, value)
		if _, token, ok := strings.Cut(value, " "); ok { // Bearer …
			list = append(list, token)
		}
	}
	return list
}
