package claudelog

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/session"
)

// Export writes a session and its sub-agents, as their conversations now stand, below the
// folder config. It replaces files of an earlier export. Secrets, and the values of
// environment variables whose names say that they are secret, become ***. It returns the
// session's file.
func Export(ctx context.Context, config string, s session.Store, id string, secrets []string) (string, error) {
	hide := Hidden(secrets)
	info, err := session.Stat(ctx, s, id)
	if err != nil {
		return "", err
	}
	path, err := Path(config, info.Dir, id)
	if err != nil {
		return "", err
	}
	named := Names(id, event.SessionNamed{Title: info.Title, Tag: info.Tag}, hide)
	calls, err := write(ctx, path, s, id, NewLines(id, "", info.Header, hide), named)
	if err != nil {
		return "", err
	}
	return path, agents(ctx, path, session.Under(s, id), parent{session: id, calls: calls}, info.Header, hide)
}

// A parent is the session that agents work for.
type parent struct {
	session, agent string         // agent is "" if it is the main session
	calls          map[string]use // of its agents
}

// agents writes the agents of a session, and theirs.
func agents(ctx context.Context, path string, s session.Store, p parent, main session.Header, hide redact.Values) error {
	infos, err := s.List(ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		file := AgentPath(path, info.Session)
		header := info.Header
		if header.Dir == "" {
			header.Dir = main.Dir
		}
		calls, err := write(ctx, file, s, info.Session, NewLines(p.session, info.Session, header, hide), nil)
		if err != nil {
			return err
		}
		about := map[string]string{}
		if info.Agent != nil {
			about["agentType"] = hide.Text(info.Agent.Kind)
			if u, ok := p.calls[info.Agent.Call]; ok {
				about["toolUseId"] = u.id
			}
		}
		if p.agent != "" {
			about["parentAgentId"] = p.agent
		}
		data, err := json.Marshal(about)
		if err != nil {
			return err
		}
		meta := file[:len(file)-len(".jsonl")] + ".meta.json"
		if err := (safefile.Replacement{}).Bytes(meta, append(data, '\n')); err != nil {
			return err
		}
		if err := agents(ctx, path, session.Under(s, info.Session), parent{p.session, info.Session, calls}, main, hide); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file, and returns the calls in it.
func write(ctx context.Context, path string, s session.Store, id string, l *Lines, more []json.RawMessage) (map[string]use, error) {
	counts, err := fact.OnPath(s.Read(ctx, id, 0))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the session's file: %w", err)
	}
	return l.uses, safefile.Replacement{}.Stream(path, func(w io.Writer) error {
		b := bufio.NewWriter(w)
		put := func(lines []json.RawMessage) {
			for _, line := range lines {
				b.Write(line)
				b.WriteByte('\n')
			}
		}
		for e, err := range s.Read(ctx, id, 0) {
			if err != nil {
				return err
			}
			if e.Seq > int64(len(counts)) {
				break // written since
			}
			if !counts[e.Seq-1] {
				continue
			}
			lines, err := l.Add(e)
			if err != nil {
				return err
			}
			put(lines)
		}
		put(more)
		return b.Flush()
	})
}
