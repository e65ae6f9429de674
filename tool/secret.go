package tool

import (
	"slices"
	"strings"
)

var secretSuffixes = []string{
	"APIKEY", "API_KEY", "ACCESS_KEY", "ACCESS_KEY_ID", "SECRET_KEY", "PRIVATE_KEY", "_KEY_BASE",
	"TOKEN", "SECRET", "PASSWORD", "PASSWD", "_PWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "_PAT", "_AUTH",
}

// SecretName reports whether an environment variable of this name is taken for
// a secret: API keys, tokens, passwords and credentials. Case does not matter.
// The rule is by name alone: better a variable too many than a key shown.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
