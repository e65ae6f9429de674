package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxMessage is the size in bytes of the longest message that is read.
	maxMessage = 32 << 20
	// maxHeader is the size in bytes of the longest header of a message.
	maxHeader = 4 << 10
)

// readFrame reads one message: lines of a header, an empty line, the content
// ("Base Protocol" of the specification).
func readFrame(r *bufio.Reader) ([]byte, error) {
	length := -1
	for left := maxHeader; ; {
		line, err := r.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, io.EOF) && len(line) == 0 && left == maxHeader {
				return nil, io.EOF
			}
			return nil, fmt.Errorf("reading the header of a message: %w", err)
		}
		if left -= len(line); left < 0 {
			return nil, fmt.Errorf("reading the header of a message: it is longer than %d bytes", maxHeader)
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("reading the header of a message: %.80q is not a header line", text)
		}
		if strings.EqualFold(name, "Content-Length") {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil || n < 0 || n > maxMessage {
				return nil, fmt.Errorf("reading the header of a message: its length is %.40q; at most %d bytes are read", value, maxMessage)
			}
			length = n
		}
	}
	if length < 0 {
		return nil, errors.New("reading the header of a message: it has no Content-Length")
	}
	// Memory is taken for the data received, not for the announced length.
	content, err := io.ReadAll(io.LimitReader(r, int64(length)))
	if err == nil && len(content) < length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	return content, nil
}

// writeFrame writes one message.
func writeFrame(w io.Writer, content []byte) error {
	if _, err := fmt.Fprintf(w, "Content-Length: %d\r\n\r\n", len(content)); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
