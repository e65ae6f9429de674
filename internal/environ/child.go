package environ

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Child returns the environment of a process that the program starts, as
// "NAME=value": the program's own, less its secrets, with vars. The names in pass
// are passed on although they are secret. A variable of the program itself, and one
// that looks like a key, is a secret too; users and passwords are taken out of
// addresses, such as those of proxies.
func Child(pass []string, vars map[string]string) []string {
	env := []string{}
	own := os.Environ()
	for _, kv := range own {
		name, value, ok := strings.Cut(kv, "=")
		if _, given := vars[name]; given || !ok {
			continue
		}
		switch {
		case slices.Contains(pass, name):
			env = append(env, kv)
		case Secret(name), Own(name), SecretValue(value):
		case strings.HasPrefix(strings.ToUpper(name), gitValue):
			env = append(env, name+"="+gitSetting(own, name, value))
		default:
			env = append(env, name+"="+withoutUsers(value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// Git fails where one of its numbered settings is missing.
const gitKey, gitValue = "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"

// gitSetting is the value of a setting of git, empty if it is secret.
func gitSetting(own []string, name, value string) string {
	number := name[len(gitValue):]
	if _, err := strconv.Atoi(number); err != nil {
		return ""
	}
	for _, kv := range own {
		if key, ok := strings.CutPrefix(kv, gitKey+number+"="); ok {
			last := key[strings.LastIndexByte(key, '.')+1:]
			if Secret(last) || strings.HasSuffix(strings.ToUpper(last), "HEADER") {
				return ""
			}
		}
	}
	return withoutUsers(value)
}

// known are the secrets of the environment as it was when they were last asked for.
var known struct {
	sync.Mutex
	env, values []string
}

// Secrets returns the values of the program's own variables that must not be shown. You
// must not change the list: it is the same one until the environment changes.
func Secrets() []string {
	env := os.Environ()
	known.Lock()
	defer known.Unlock()
	if !slices.Equal(env, known.env) {
		known.env, known.values = env, secretsIn(env)
	}
	return known.values
}

func secretsIn(env []string) []string {
	var out []string
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			continue
		}
		if (Secret(name) || SecretValue(value)) && Telling(value) {
			out = append(out, value)
		}
		out = append(out, Passwords(value)...)
	}
	return slices.Clip(out)
}

// Named returns the values of variables of the program that must not be shown.
func Named(names []string) []string {
	vars := map[string]string{}
	for _, name := range names {
		vars[name] = os.Getenv(name)
	}
	return Given(vars)
}

// Hidden returns the values of the variables that [Child] gives which must not be shown: all
// of vars and those that pass names, but for common words and paths that exist.
func Hidden(pass []string, vars map[string]string) []string {
	return append(Given(vars), Named(pass)...)
}

// Given returns those values of variables that a user gives to children which must
// not be shown.
func Given(vars map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if value := vars[name]; Telling(value) {
			out = append(out, value)
		}
		out = append(out, Passwords(vars[name])...)
	}
	return out
}
