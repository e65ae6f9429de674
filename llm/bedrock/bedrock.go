// Package bedrock reaches Claude on Amazon Bedrock. It uses the Messages API by
// InvokeModel and InvokeModelWithResponseStream
// (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-invoke.html), and signs
// requests itself, without an SDK of AWS.
//
//	m := bedrock.Model("us.anthropic.claude-sonnet-4-6") // region and credentials as AWS's programs find them
package bedrock

import (
	"context"
	"time"

	aws "github.com/openagent-go/agent/internal/bedrock"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
)

// A Client reaches the models of a region. The zero Client is ready to use: it finds region
// and credentials in the same places as AWS's own programs. Its fields must not change once
// a model of it is in use. It never retries.
//
// The embedded Client holds the common settings: HTTP client, headers, catalogue, limiter,
// time limits. Requests go to its BaseURL, else to AWS_ENDPOINT_URL_BEDROCK_RUNTIME, else
// to the region's public host. Its Key or APIKey, or else AWS_BEARER_TOKEN_BEDROCK, is a
// Bedrock API key; it is used if no Credentials are set.
//
// Prices are those that the catalogue has for the model at Anthropic. Surcharges of a
// region or an inference profile are not known: a catalogue may have its own entries with
// the provider bedrock and the id of a model or profile.
type Client struct {
	anthropic.Client
	Region string // "": AWS_REGION, AWS_DEFAULT_REGION, else that of the profile
	// Credentials gives the credentials of requests. It is asked again 5 minutes before they
	// expire, and when AWS refuses them. An error ends the request. Nil: Key, APIKey,
	// AWS_BEARER_TOKEN_BEDROCK, else the places where AWS's own programs look: the
	// environment, the profile of AWS_PROFILE, the container, the instance.
	Credentials func(ctx context.Context) (Credentials, error)
}

// Credentials are those of an AWS identity.
type Credentials struct {
	AccessKeyID     string    // names the key to AWS
	SecretAccessKey string    // signs the requests
	SessionToken    string    // of temporary credentials
	Expires         time.Time // zero: never
}

// Model returns a model by its id (anthropic.claude-sonnet-4-6), by that of an
// inference profile (us.…, eu.…, apac.…, global.…), or by an ARN. It is reached through the
// zero Client.
func Model(id string) llm.Model { return new(Client).Model(id) }

// Model returns a model by its id, by that of an inference profile or by an ARN. It
// has a method Info, see [llm.InfoOf].
func (c *Client) Model(id string) llm.Model {
	inner := &aws.Client{Client: c.Client, Region: c.Region}
	if c.Credentials != nil {
		inner.Credentials = func(ctx context.Context) (aws.Credentials, error) {
			got, err := c.Credentials(ctx)
			return aws.Credentials{AccessKeyID: got.AccessKeyID, SecretAccessKey: got.SecretAccessKey, SessionToken: got.SessionToken, Expires: got.Expires}, err
		}
	}
	return inner.Model(id)
}
