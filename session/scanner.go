package session

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

var errChecksum = errors.New("the checksum does not match")

// errTorn is met where a journal ends in an unfinished line.
var errTorn = errors.New("the last record is not finished")

// A scanner reads a journal line by line and checks it.
type scanner struct {
	path string
	in   *bufio.Reader
	long []byte // a line that does not fit in's buffer
	line int    // number of the line read last
	end  int64  // where it ends
	last int64  // number of the fact read last
	from int    // version of the journal
}

func newScanner(path string, r io.Reader, buffer int) *scanner {
	return &scanner{path: path, in: bufio.NewReaderSize(r, buffer), from: version}
}

// next returns the next line without its newline, checked and valid until the
// next call. It fails with io.EOF, errTorn, an [ErrCorrupt], or as reading does.
func (s *scanner) next() ([]byte, error) {
	line, err := s.read()
	if err != nil {
		return nil, err
	}
	s.line++
	body, finished := bytes.CutSuffix(line, []byte("\n"))
	switch {
	case finished && sealed(body):
		s.end += int64(len(line))
		return body, nil
	case !finished && tornLine(body, s.line == 1):
		return nil, errTorn
	case s.line == 1:
		if _, _, err := parseHeader(body); errors.Is(err, ErrVersion) {
			return body, nil // other versions may be sealed in other ways
		}
	}
	return nil, s.corrupt(errChecksum)
}

// tornLine reports whether rest, the end of a journal without a newline, can be the
// remainder of an interrupted write: the beginning of a line, zeros of unwritten blocks, or
// the one before the other. Anything else is damage.
func tornLine(rest []byte, header bool) bool {
	rest = bytes.TrimRight(rest, "\x00")
	begin := recordBegin
	if header {
		begin = headerBegin
	}
	n := min(len(rest), len(begin))
	if string(rest[:n]) != begin[:n] || bytes.IndexByte(rest, 0) >= 0 {
		return false
	}
	whole := wholeRecord(rest)
	return whole == 0 || whole == len(rest) // else its newline was altered
}

// read returns the bytes up to the next newline, or to the end if there is none.
func (s *scanner) read() ([]byte, error) {
	s.long = s.long[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		if len(s.long)+len(part) > maxLine {
			s.line++
			return nil, s.corrupt(fmt.Errorf("it is longer than %d bytes", maxLine))
		}
		if err == nil && len(s.long) == 0 {
			return part, nil
		}
		s.long = append(s.long, part...)
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(s.long) == 0:
			return nil, io.EOF
		case err == nil || err == io.EOF:
			return s.long, nil
		default:
			return nil, err
		}
	}
}

// header reads the first line of the journal of the session named id.
func (s *scanner) header(id string) (Header, error) {
	line, err := s.next()
	if err != nil {
		return Header{}, err
	}
	h, from, err := parseHeader(line)
	switch {
	case errors.Is(err, ErrVersion):
		return h, err
	case err != nil:
		return Header{}, s.corrupt(err)
	case h.Session != id:
		return Header{}, s.corrupt(fmt.Errorf("it belongs to session %q", h.Session))
	}
	s.from = from
	return h, nil
}

// record reads the next fact.
func (s *scanner) record() (record, error) {
	line, err := s.next()
	if err != nil {
		return record{}, err
	}
	r, err := parseRecord(line, s.last+1)
	if err == nil {
		err = r.migrate(s.from)
	}
	if err != nil {
		return record{}, s.corrupt(err)
	}
	s.last++
	return r, nil
}

// corrupt returns an error for the line read last.
func (s *scanner) corrupt(err error) error {
	return &corruptError{path: s.path, line: s.line, err: err}
}
