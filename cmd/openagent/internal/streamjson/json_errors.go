package streamjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// mismatch explains an error of decoding a line: the member, its type, and the expected type.
func mismatch(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		kind.Field = strings.TrimPrefix(kind.Field, "Budget.") // the embedded struct
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the line is not JSON: %w", err)
	}
	return text.JSONMismatch(err, "the message")
}
