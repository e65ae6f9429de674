// Package confine is the inside of the native sandbox: the first process of its
// namespaces, which is the program itself, executed once more. Importing it
// makes that possible: a program that is started by the name [Name] becomes that
// process while it is initialized and never reaches its main. The package
// imports little, so that it is initialized before most others.
package confine

import (
	"encoding/binary"
	"errors"
)

// Name is the first argument of a program that is to be the first process of a
// sandbox. The second is the number of the descriptor that the [Plan] is read from.
const Name = "openagent-sandbox"

// ExitFailed is the exit code when the program could not be started confined.
const ExitFailed = 125

// A Plan is the work of the first process. Paths are absolute and clean and must not lead
// through symlinks.
type Plan struct {
	Path  string // of the program; "": only try the confinement out
	Args  []string
	Env   []string
	Dir   string
	Files int // descriptors that the program inherits after the standard ones

	// Of these the longest path that covers a file counts; of equal ones Hidden, then
	// ReadOnly. Missing paths are skipped, except in ReadOnly, where they are an error.
	Write, ReadOnly, Hidden, Read []string
	ReadAll                       bool // Read does not count
	// Proxy is the path of the UNIX socket that connections to a port of the
	// loopback are passed on to. The port is put into the environment.
	Proxy string
	// Loopback lists targets on the host's loopback, localhost or an address with a
	// port. Connections to that port of the namespace's own loopback are passed on to
	// the target by the proxy.
	Loopback []string
	// Direct lists the hosts to which programs connect without the proxy.
	Direct []string
	// Memory is how many bytes the processes may take together, 0 for any.
	Memory       int
	Network      bool
	UnixSockets  bool
	LocalBinding bool
	Weaker       bool
	Nested       bool
	// Landlock: confined by Landlock and the filter of system calls, in the
	// namespaces of the host. The program takes the place of the first process.
	Landlock bool
}

// fields lists where the parts of a plan are, in the order of their encoding.
func (p *Plan) fields() (texts []*string, lists []*[]string, flags []*bool) {
	return []*string{&p.Path, &p.Dir, &p.Proxy},
		[]*[]string{&p.Args, &p.Env, &p.Write, &p.ReadOnly, &p.Hidden, &p.Read, &p.Loopback, &p.Direct},
		[]*bool{&p.ReadAll, &p.Network, &p.UnixSockets, &p.LocalBinding, &p.Weaker, &p.Nested, &p.Landlock}
}

// Encode returns the form that decode reads: each part with its length before it.
func (p Plan) Encode() []byte {
	texts, lists, flags := p.fields()
	var b []byte
	text := func(s string) { b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...) }
	for _, s := range texts {
		text(*s)
	}
	for _, list := range lists {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(*list)))
		for _, s := range *list {
			text(s)
		}
	}
	for _, flag := range flags {
		if *flag {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(b, uint32(p.Files)), uint64(p.Memory))
}

var errPlan = errors.New("the plan is malformed")

// Decode is the inverse of Encode.
func Decode(b []byte) (p Plan, err error) {
	number := func() int {
		if len(b) < 4 {
			err = errPlan
			return 0
		}
		n := binary.LittleEndian.Uint32(b)
		b = b[4:]
		return int(n)
	}
	text := func() string {
		n := number()
		if n > len(b) {
			err, n = errPlan, 0
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	texts, lists, flags := p.fields()
	for _, s := range texts {
		*s = text()
	}
	for _, list := range lists {
		for n := number(); n > 0 && err == nil; n-- {
			*list = append(*list, text())
		}
	}
	for _, flag := range flags {
		if len(b) == 0 {
			return p, errPlan
		}
		*flag, b = b[0] == 1, b[1:]
	}
	p.Files = number()
	if err == nil && len(b) >= 8 {
		p.Memory, b = int(binary.LittleEndian.Uint64(b)), b[8:]
	} else {
		err = errPlan
	}
	if err == nil && len(b) != 0 {
		err = errPlan
	}
	return p, err
}

// A Report replaces the plan when the first process ends.
type Report struct {
	Left   int // processes that the program left behind
	Signal int // that ended the program, 0 for none
}

const reportMagic = 0x0a6e7e0d

// Encode returns the form that DecodeReport reads.
func (r Report) Encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, reportMagic)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Left))
	return binary.LittleEndian.AppendUint32(b, uint32(r.Signal))
}

// DecodeReport is the inverse of Encode; invalid data is an empty report.
func DecodeReport(b []byte) (r Report) {
	if len(b) >= 12 && binary.LittleEndian.Uint32(b) == reportMagic {
		r.Left = int(binary.LittleEndian.Uint32(b[4:]))
		r.Signal = int(binary.LittleEndian.Uint32(b[8:]))
	}
	return r
}
