package config

import (
	"encoding/json"
	"slices"
	"strings"
)

// serverMembers are the members of a language server with the types of their values.
// The type of initOptions is "": any JSON.
var serverMembers = []Key{
	{Name: "name", Type: Text}, {Name: "command", Type: Text}, {Name: "args", Type: Texts}, {Name: "extensions", Type: Table},
	{Name: "rootMarkers", Type: Texts}, {Name: "initOptions"}, {Name: "env", Type: Table},
}

// acceptsServers checks a list of language servers.
func (k Key) acceptsServers(data []byte, n *node) error {
	if n.kind != isList {
		return k.expected(n, "a "+string(k.Type))
	}
	var names []string
	for _, item := range n.items {
		if item.kind != isObject {
			return wrongAt(item.line, "%s: a server must be an object, not %s", k.Name, item.kind)
		}
		for _, m := range item.members {
			if err := k.acceptsMember(data, m); err != nil {
				return err
			}
		}
		var name string
		if m := item.member("name"); m == nil || json.Unmarshal(data[m.value.start:m.value.end], &name) != nil {
			return wrongAt(item.line, "%s: a server has no name", k.Name)
		}
		if slices.Contains(names, name) {
			return wrongAt(item.line, "%s: there are two servers called %.100q", k.Name, name)
		}
		names = append(names, name)
	}
	return nil
}

func (k Key) acceptsMember(data []byte, m member) error {
	i := slices.IndexFunc(serverMembers, func(s Key) bool { return s.Name == m.name })
	if i < 0 {
		var known []string
		for _, s := range serverMembers {
			known = append(known, s.Name)
		}
		return wrongAt(m.line, "%s: %.100q is not a member of a server; use %s", k.Name, m.name, strings.Join(known, ", "))
	}
	member := serverMembers[i]
	if member.Type == "" {
		return nil
	}
	if member.Name = k.Name + "." + m.name; m.name != "extensions" {
		return member.accepts(data, m.value)
	}
	if err := member.accepts(data, m.value); err != nil {
		return err
	}
	for _, e := range m.value.members {
		if !strings.HasPrefix(e.name, ".") || e.name != strings.ToLower(e.name) {
			return wrongAt(e.line, "%s: %.100q must be the end of a file's name in lower case, such as .go", member.Name, e.name)
		}
	}
	return nil
}

// hideServers replaces the values of the servers' variables.
func hideServers(value json.RawMessage) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return json.RawMessage(`"***"`)
	}
	for _, server := range list {
		if env, ok := server["env"]; ok {
			server["env"] = hideTable(env)
		}
	}
	return encode(list)
}

func hideTable(value json.RawMessage) json.RawMessage {
	var table map[string]string
	if json.Unmarshal(value, &table) != nil {
		return json.RawMessage(`"***"`)
	}
	for name := range table {
		table[name] = "***"
	}
	return encode(table)
}
