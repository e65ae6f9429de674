package parts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// A ServerDocument is a parsed server file. Unknown members are preserved.
type ServerDocument struct {
	project string                     // the entry of the project is meant; "": the whole file
	top     map[string]json.RawMessage // of the file
	Servers map[string]json.RawMessage // that are meant
	places  map[string]json.RawMessage // by project
}

// DecodeServers parses a server file; nil means an empty file. With a project, the servers are those
// of the project's entry.
func DecodeServers(data []byte, project string) (*ServerDocument, error) {
	d := &ServerDocument{project: project, top: map[string]json.RawMessage{}, Servers: map[string]json.RawMessage{}, places: map[string]json.RawMessage{}}
	if len(data) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(data, &d.top); err != nil {
		return nil, err
	}
	from := d.top
	if project != "" {
		if raw := d.top["projects"]; raw != nil {
			if err := json.Unmarshal(raw, &d.places); err != nil {
				return nil, fmt.Errorf("projects: %w", err)
			}
		}
		from = map[string]json.RawMessage{}
		if raw := d.places[project]; raw != nil {
			if err := json.Unmarshal(raw, &from); err != nil {
				return nil, fmt.Errorf("projects: %w", err)
			}
		}
	}
	if raw := from["mcpServers"]; raw != nil {
		if err := json.Unmarshal(raw, &d.Servers); err != nil {
			return nil, fmt.Errorf("mcpServers: %w", err)
		}
	} else if project == "" && len(d.top) > 0 {
		return nil, errors.New("the file has no member mcpServers; add it")
	}
	return d, nil
}

// Encode returns the content of the file with the servers.
func (d *ServerDocument) Encode() ([]byte, error) {
	servers, err := json.Marshal(d.Servers)
	if err != nil {
		return nil, err
	}
	if d.project != "" {
		if len(d.Servers) == 0 {
			delete(d.places, d.project)
		} else {
			d.places[d.project] = json.RawMessage(`{"mcpServers":` + string(servers) + `}`)
		}
		if d.top["projects"], err = json.Marshal(d.places); err != nil {
			return nil, err
		}
	} else {
		d.top["mcpServers"] = servers
	}
	data, err := json.MarshalIndent(d.top, "", "  ")
	return append(data, '\n'), err
}

// ReadServers reads a server file. A missing file has no servers.
func ReadServers(path, project string) (*ServerDocument, error) {
	data, err := readFile(path, MaxServersFile)
	if _, missing := os.Lstat(path); errors.Is(missing, fs.ErrNotExist) || errors.Is(missing, syscall.ENOTDIR) {
		data, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := DecodeServers(data, project)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return d, nil
}
