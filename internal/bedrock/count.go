package bedrock

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/claude"
)

// tally returns how CountTokens is asked
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html):
// with the body of an InvokeModel. It costs nothing and needs the permission
// bedrock:CountTokens. Not all models are counted; of profiles none is, so the model
// behind them is asked about, in the same region.
func (s *session) tally(model string) (claude.Tally, error) {
	url, err := s.at(foundation(model), "/count-tokens")
	return claude.Tally{URL: url, Wrap: wrap, Member: "inputTokens"}, err
}

// foundation returns the id of the model behind the profile of a geography. The ARN of an
// application's own profile does not name its model.
func foundation(id string) string {
	if parts := strings.SplitN(id, ":", 6); len(parts) == 6 && parts[0] == "arn" {
		kind, rest, _ := strings.Cut(parts[5], "/")
		if kind != "foundation-model" && kind != "inference-profile" {
			return id
		}
		id = rest
	}
	return profile.ReplaceAllString(id, "")
}

func wrap(sent [][]byte) [][]byte {
	data := slices.Concat(sent...)
	b := append(make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))+64), `{"input":{"invokeModel":{"body":"`...)
	return [][]byte{append(base64.StdEncoding.AppendEncode(b, data), `"}}}`...)}
}
