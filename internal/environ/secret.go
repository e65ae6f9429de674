// Package environ decides which environment variables are secret, and makes the
// environment of every process that the program starts for a model, a hook, a tool
// or a server:
//
//	cmd.Env = environ.Child(nil, map[string]string{"LANG": "C"})
package environ

import (
	"slices"
	"strings"
)

// The words of names that mark a secret variable. Characters other than letters and digits
// separate words. Digits at the end of a word do not count.
var (
	secretWords = strings.Fields(`KEY KEYS PASS PWD PAT AUTH AUTHORIZATION AUTHENTICATION BEARER JWT COOKIE COOKIES DSN CRED CREDS SID SAS
		UNSEAL WEBHOOK WEBHOOKS SALT PEM OTP TOTP MNEMONIC PASSCODE HEADER HEADERS CONNSTR CONNECTIONSTRING DBURL`)
	// secretParts count anywhere in a word. PGPASSFILE and PGSERVICEFILE lead to passwords.
	secretParts = strings.Fields(`TOKEN SECRET PASSW PASSPHRASE PASSFILE SERVICEFILE CREDENTIAL APIKEY`)
	// secretEnds count at the end of a word.
	secretEnds = strings.Fields(`KEY PASS PWD AUTH JWT COOKIE`)
	// plainWords end like secrets but are not secret.
	plainWords = strings.Fields(`MONKEY TURKEY HOTKEY ASKPASS BYPASS COMPASS`)
	// stores are services that have the password in their address.
	stores  = strings.Fields(`DATABASE DB REDIS MONGO MONGODB POSTGRES POSTGRESQL PG MYSQL MARIADB AMQP CLOUDAMQP RABBITMQ KAFKA BROKER CELERY ELASTICSEARCH SMTP MAILER SENTRY CLOUDINARY JDBC CONNECTION CONN`)
	located = strings.Fields(`URL URLS URI URIS STRING STR`)
)

// plainNames are not secret although they are made of such words.
var plainNames = strings.Fields(`PWD OLDPWD SSH_AUTH_SOCK`)

// Secret reports whether a variable of this name is taken for a secret: keys,
// tokens, passwords, credentials, cookies, addresses of databases. Case does not
// matter. The rule is by name alone: better a variable too many than a key shown.
func Secret(name string) bool {
	name = strings.ToUpper(name)
	if slices.Contains(plainNames, name) || strings.HasPrefix(name, "GIT_CONFIG_KEY_") {
		return false
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	store := false
	for i, w := range words {
		w = strings.TrimRight(w, "0123456789")
		last := i == len(words)-1
		switch {
		case secretWord(w), last && i > 0 && w == "API":
			return true
		case slices.Contains(stores, w):
			store = true
		case store && slices.Contains(located, w), endsAsAddress(w):
			return true
		}
	}
	return false
}

func secretWord(w string) bool {
	switch {
	case slices.Contains(plainWords, w):
		return false
	case slices.Contains(secretWords, w):
		return true
	}
	w = strings.ReplaceAll(w, "TOKENIZ", "") // separators of words in texts
	return slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(w, p) }) ||
		slices.ContainsFunc(secretEnds, func(e string) bool { return strings.HasSuffix(w, e) })
}

// endsAsAddress reports whether a word is the address of a store, as in DATABASEURL.
func endsAsAddress(w string) bool {
	return slices.ContainsFunc(located, func(l string) bool {
		front, ok := strings.CutSuffix(w, l)
		return ok && slices.Contains(stores, front)
	})
}

// ownPrefixes are those of the variables that configure the program.
var ownPrefixes = []string{"ANTHROPIC_", "OPENAI_", "OPENAGENT_", "CODEANY_"}

// Own reports whether a variable of this name configures the program.
func Own(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(ownPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
