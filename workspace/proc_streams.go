package workspace

import (
	"io"
	"os"
	"time"
)

// streams are our ends of a process's standard streams. A process that writes its errors to
// its output has no stream for errors; one without input has none for input.
type streams struct {
	input, output, errors *os.File
	fed, read             chan struct{} // closed: nothing is copied any more
}

// pipes makes the streams of c, and the ends that its process gets. Nothing is
// left open after an error.
func pipes(c Command) (ours streams, theirs streams, err error) {
	defer func() {
		if err != nil {
			ours.close()
			theirs.close()
		}
	}()
	if ours.output, theirs.output, err = os.Pipe(); err != nil {
		return ours, theirs, err
	}
	if c.Errors != nil {
		if ours.errors, theirs.errors, err = os.Pipe(); err != nil {
			return ours, theirs, err
		}
	}
	if c.Input != nil {
		theirs.input, ours.input, err = os.Pipe()
	}
	return ours, theirs, err
}

func (s *streams) close() {
	for _, f := range []*os.File{s.input, s.output, s.errors} {
		if f != nil {
			f.Close()
		}
	}
}

// copy begins to copy between the streams and the readers and writers of c.
func (s *streams) copy(c Command) {
	s.fed, s.read = make(chan struct{}), make(chan struct{})
	if s.input == nil {
		close(s.fed)
	} else {
		go func() {
			defer close(s.fed)
			copyInput(s.input, c.Input)
		}()
	}
	errorsRead := make(chan struct{})
	go func() {
		defer close(s.read)
		copyOutput(c.Output, s.output)
		<-errorsRead
	}()
	if s.errors == nil {
		close(errorsRead)
	} else {
		go func() {
			defer close(errorsRead)
			copyOutput(c.Errors, s.errors)
		}()
	}
}

// finish ends the copying for a process that has ended. All its output has been passed on.
// An Input whose Read still waits is left to its owner.
func (s *streams) finish(c Command) {
	if s.input != nil {
		s.input.Close()
		closeInput(c.Input)
	}
	for _, f := range []*os.File{s.output, s.errors} {
		if f == nil {
			continue
		}
		if err := f.SetReadDeadline(time.Now().Add(draining)); err != nil {
			f.Close() // no deadlines here: the reader ends with the pipe
		}
	}
	<-s.read
	late := time.NewTimer(draining)
	defer late.Stop()
	select {
	case <-s.fed:
	case <-late.C:
	}
	s.close()
}

// copyInput copies until r ends, or no reader is left.
func copyInput(w *os.File, r io.Reader) {
	defer w.Close()
	defer func() { _ = recover() }() // the reader's trouble ends the input, not the command
	_, _ = io.Copy(w, r)
}

func closeInput(r io.Reader) {
	defer func() { _ = recover() }()
	if c, ok := r.(io.Closer); ok {
		_ = c.Close() // it was only read
	}
}

// copyOutput copies until the end of r. It continues when w fails or panics, so that the
// process never waits for a reader.
func copyOutput(w io.Writer, r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			write(w, buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func write(w io.Writer, b []byte) {
	defer func() { _ = recover() }() // the writer's trouble is not the command's
	_, _ = w.Write(b)
}
