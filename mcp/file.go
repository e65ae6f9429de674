package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

const (
	maxFile    = 1 << 20 // bytes of a file of servers
	maxServers = 200     // of a file
)

// Parse reads the servers of a file such as .mcp.json: an object with the member mcpServers,
// or that member's value itself. In the command, args, env, cwd, url, headers and
// oauth of a server ${NAME} becomes the variable's value. ${NAME:-text} becomes text if the
// variable is missing or empty; a ${NAME} that is not set is an error. If some servers
// cannot be used, the error lists them and the others are returned with it. If nothing can
// be read, the result is nil.
func Parse(data []byte, getenv func(string) string) (map[string]Config, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("the file is larger than %d KB", maxFile>>10)
	}
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, wrong(data, err)
	}
	if file.Servers == nil {
		if err := json.Unmarshal(data, &file.Servers); err != nil {
			return nil, wrong(data, err)
		}
	}
	if len(file.Servers) > maxServers {
		return nil, fmt.Errorf("the file has more than %d servers", maxServers)
	}
	configs := make(map[string]Config, len(file.Servers))
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		var c Config
		err := json.Unmarshal(file.Servers[name], &c)
		if err == nil {
			err = c.expand(getenv)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the server %q: %w", text.Bytes(name, 100), err))
			continue
		}
		configs[name] = c
	}
	return configs, errors.Join(errs...)
}

// wrong adds the line to an error of syntax.
func wrong(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("line %d: %w", 1+strings.Count(string(data[:min(int(syntax.Offset), len(data))]), "\n"), err)
	}
	return err
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

func (c *Config) expand(getenv func(string) string) error {
	var missing error
	text := func(s *string) {
		*s = variable.ReplaceAllStringFunc(*s, func(ref string) string {
			m := variable.FindStringSubmatch(ref)
			if value := getenv(m[1]); value != "" {
				return value
			}
			if m[2] == "" {
				missing = fmt.Errorf("the variable %s is not set; set it, or write ${%s:-default}", m[1], m[1])
			}
			return m[3]
		})
	}
	table := func(t map[string]string) {
		for k, v := range t {
			text(&v)
			t[k] = v
		}
	}
	for _, s := range []*string{&c.Command, &c.Dir, &c.URL} {
		text(s)
	}
	for i := range c.Args {
		text(&c.Args[i])
	}
	table(c.Env)
	table(c.Headers)
	if c.OAuth != nil {
		for _, s := range []*string{&c.OAuth.Grant, &c.OAuth.ClientID, &c.OAuth.ClientSecret, &c.OAuth.ClientMetadataURL, &c.OAuth.Issuer, &c.OAuth.Scopes} {
			text(s)
		}
	}
	return missing
}
