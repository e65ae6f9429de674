package event

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/openagent-go/agent/internal/eventtable"
)

// Type returns the name that d has in JSON, such as "tool_result".
//
//go:noinline // called from many places: every program stays smaller
func Type(d Data) string {
	if u, ok := d.(unread); ok {
		return u.name
	}
	return eventtable.Names[reflect.TypeOf(d)]
}

// An unread fact is one of internal/fact in a program without that package.
type unread struct {
	Bookkeeping
	name string
	raw  json.RawMessage
}

// MarshalJSON writes what was read.
func (u unread) MarshalJSON() ([]byte, error) { return u.raw, nil }

// decode makes the Data of the given type from its JSON.
func decode(typ string, data []byte) (Data, error) {
	switch {
	case eventtable.Zero[typ] != nil:
		d, err := eventtable.Decode(typ, data)
		if err != nil {
			return nil, err
		}
		return d.(Data), nil
	case slices.Contains(hidden, typ):
		return unread{name: typ, raw: data}, nil
	}
	return nil, fmt.Errorf("event: unknown type %q", typ)
}

type wire struct {
	Seq     int64           `json:"seq,omitzero"`
	Prev    int64           `json:"prev,omitzero"`
	Time    time.Time       `json:"time"`
	Session string          `json:"session,omitempty"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
}

// MarshalJSON writes an object {seq, prev, time, session, type, data}.
func (e Event) MarshalJSON() ([]byte, error) {
	if Type(e.Data) == "" {
		return nil, fmt.Errorf("event: unknown type %T", e.Data)
	}
	data, err := json.Marshal(e.Data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wire{e.Seq, e.Prev, e.Time, e.Session, Type(e.Data), data})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Event) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	d, err := decode(w.Type, w.Data)
	if err != nil {
		return err
	}
	*e = Event{Seq: w.Seq, Prev: w.Prev, Time: w.Time, Session: w.Session, Data: d}
	return nil
}

// UUID returns the fact's identifier outside of its session: a UUID of version
// 8 (RFC 9562) made of a hash of the session's id and the sequence number.
func (e Event) UUID() string {
	sum := sha256.Sum256([]byte(e.Session))
	var u [16]byte
	copy(u[:8], sum[:8])
	binary.BigEndian.PutUint64(u[8:], uint64(e.Seq))
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// Types returns the names of all types of events, sorted.
func Types() []string {
	names := slices.AppendSeq(slices.Clone(hidden), maps.Keys(eventtable.Zero))
	slices.Sort(names)
	return slices.Compact(names)
}
