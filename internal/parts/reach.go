package parts

import (
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/llm/helper"
	"github.com/openagent-go/agent/llm/transport"
)

// Transport returns how the settings say that models are reached: the proxy and certificates.
func Transport(s *config.Settings) (o transport.Options) {
	s.Decode("proxy", &o.Proxy)
	s.Decode("caFile", &o.CAFile)
	s.Decode("clientCert", &o.CertFile)
	s.Decode("clientKey", &o.KeyFile)
	return o
}

// KeyHelper returns the command of the settings that prints API keys, nil if there is none.
func KeyHelper(s *config.Settings) *helper.Helper {
	command := ""
	if s.Decode("apiKeyHelper", &command); command == "" {
		return nil
	}
	return &helper.Helper{Command: command, TTL: s.Duration("apiKeyHelperTTL")}
}
