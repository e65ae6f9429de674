//lint:file-ignore SA1019 Sampling is deprecated in the newest version of the protocol; servers of the others have it.

package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/llm"
)

// Bounds of a request to the model.
const (
	maxSampledText     = 256 << 10 // bytes, of the system prompt and the messages together
	maxSampledMessages = 100
	maxSampledImages   = 5
	maxStops           = 4 // the limit of OpenAI
	maxHints           = 5
)

// codeRejected is the protocol's code for a request that the user does not permit.
const codeRejected = -1

// sample has the run of a call answer a request to the model. Time that this takes is
// not the call's.
func (ses *session) sample(ctx context.Context, s *server, p *sdk.CreateMessageWithToolsParams) (*sdk.CreateMessageWithToolsResult, error) {
	w := ses.behind(ctx)
	if w == nil {
		return nil, rejected("a request to the model belongs to a call of one of the server's tools, and it has to be clear to which")
	}
	q, err := s.sampling(p)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "sampling: " + err.Error()}
	}
	asks := w.hold()
	defer w.release()
	if asks > maxAsks {
		return nil, rejected(fmt.Sprintf("a call may ask %d times", maxAsks))
	}
	within, cancel := context.WithCancel(w.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	answer, err := toolhost.Sample(within, *q)
	switch {
	case errors.Is(err, toolhost.ErrDeclined):
		return nil, rejected("the request is declined") // why is not the server's business
	case err != nil:
		s.all.options.log().Warn("a request of an MCP server to the model came to nothing", "server", s.name, "error", s.sanitize(err.Error()))
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "sampling: the model gave no answer"}
	}
	return &sdk.CreateMessageWithToolsResult{Role: "assistant", Model: answer.Model, StopReason: stopReason(answer.Stop),
		Content: []sdk.Content{&sdk.TextContent{Text: answer.Text}}}, nil
}

func rejected(why string) error {
	return &jsonrpc.Error{Code: codeRejected, Message: "sampling: " + why}
}

// stopReason is the protocol's word for why an answer ended.
func stopReason(r llm.StopReason) string {
	switch r {
	case llm.MaxTokens:
		return "maxTokens"
	case llmconst.StopSequence:
		return "stopSequence"
	}
	return "endTurn"
}

// sampling makes a request to the run from a server's request, within bounds.
func (s *server) sampling(p *sdk.CreateMessageWithToolsParams) (*toolhost.Sampling, error) {
	switch {
	case p == nil || len(p.Messages) == 0:
		return nil, errors.New("messages is empty")
	case len(p.Tools) > 0 || p.ToolChoice != nil:
		return nil, errors.New("tools are not offered (the capability sampling.tools was not declared); send the request without tools and toolChoice")
	case p.MaxTokens < 1:
		return nil, errors.New("maxTokens must be at least 1")
	case len(p.Messages) > maxSampledMessages:
		return nil, fmt.Errorf("there are %d messages; the limit is %d", len(p.Messages), maxSampledMessages)
	case len(p.StopSequences) > maxStops:
		return nil, fmt.Errorf("there are %d stopSequences; the limit is %d", len(p.StopSequences), maxStops)
	}
	q := &toolhost.Sampling{Server: s.name, Tool: names(s.name, []string{"sampling"})[0], System: s.foreign(p.SystemPrompt), MaxTokens: int(min(p.MaxTokens, 1<<30))}
	for _, stop := range p.StopSequences {
		if stop == "" || len(stop) > maxLine {
			return nil, fmt.Errorf("a stop sequence must have 1 to %d bytes", maxLine)
		}
		q.Stop = append(q.Stop, strings.ToValidUTF8(stop, "�"))
	}
	if p.ModelPreferences != nil {
		for _, hint := range p.ModelPreferences.Hints[:min(len(p.ModelPreferences.Hints), maxHints)] {
			// A text before a colon can select where a model is reached: the server must
			// not choose that.
			if hint != nil && hint.Name != "" && len(hint.Name) <= maxLine && !strings.Contains(hint.Name, ":") {
				q.Models = append(q.Models, hint.Name)
			}
		}
	}
	size, images := len(p.SystemPrompt), 0
	for i, given := range p.Messages {
		m, err := s.message(given, &size, &images)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		q.Messages = append(q.Messages, m)
	}
	return q, nil
}

// message converts a message of a request; size and images count over all of them.
func (s *server) message(given *sdk.SamplingMessageV2, size, images *int) (m llm.Message, err error) {
	switch {
	case given == nil || len(given.Content) == 0:
		return m, errors.New("it has no content")
	case given.Role != "user" && given.Role != "assistant":
		return m, fmt.Errorf("the role is %q; it must be user or assistant", text.Bytes(string(given.Role), 50))
	}
	m.Role = llm.Role(given.Role)
	for _, c := range given.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			*size += len(c.Text)
			m.Content = append(m.Content, llm.Text{Text: s.foreign(c.Text)})
		case *sdk.ImageContent:
			*images++
			kind := imageKind(c.Data)
			if kind == "" || len(c.Data) > maxImage {
				return m, fmt.Errorf("an image must be PNG, JPEG, GIF or WebP of at most %d bytes", maxImage)
			}
			m.Content = append(m.Content, llm.Image{MediaType: kind, Data: c.Data})
		default:
			return m, errors.New("only texts and images are supported")
		}
		if *size > maxSampledText {
			return m, fmt.Errorf("the texts have more than %d bytes, which is the limit", maxSampledText)
		}
		if *images > maxSampledImages {
			return m, fmt.Errorf("there are more than %d images, which is the limit", maxSampledImages)
		}
	}
	return m, nil
}

// foreign is a text of the server, fit for a model.
func (s *server) foreign(text string) string {
	return s.sanitize(text)
}
