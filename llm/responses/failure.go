package responses

import (
	"errors"
	"strings"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// classes are the classes of a failed response's codes, if these say more than the words
// that all providers share.
var classes = map[string]llm.Class{
	"server_is_overloaded": llm.Overloaded, "slow_down": llm.Overloaded, "overloaded": llm.Overloaded,
	"rate_limit_exceeded": llm.RateLimit, "usage_limit_reached": llm.RateLimit,
	"invalid_prompt": llm.Invalid, "bio_policy": llm.Invalid, "cyber_policy": llm.Invalid, "data_residency_mismatch": llm.Forbidden,
	"invalid_encrypted_content": llm.Invalid, "image_content_policy_violation": llm.Invalid, "unsupported_image_media_type": llm.Invalid,
	"failed_to_download_image": llm.Invalid, "model_not_found": llmconst.NotFound,
}

func classOf(c wire.Complaint, class llm.Class) llm.Class {
	if class == llmconst.Billing || class == llm.TooLong {
		return class
	}
	if known, ok := classes[c.Code]; ok {
		return known
	}
	if strings.Contains(c.Code, "image") { // invalid_image_url, image_too_large …
		return llm.Invalid
	}
	return class
}

// complaint returns the error that came inside a reply.
func (d *decoder) complaint(c wire.Complaint) error {
	if c.Kind == "error" {
		c.Kind = c.Code
	}
	err := d.Complaint(c)
	var e *llm.APIError
	if errors.As(err, &e) {
		e.Class = classOf(c, e.Class)
	}
	return err
}
