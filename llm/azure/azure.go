// Package azure reaches OpenAI's models on Azure. It gives the clients of llm/openai and
// llm/responses the address of a resource, in both styles.
//
//	c := &azure.Client{Endpoint: "https://my-resource.openai.azure.com"}
//	m, err := c.Model("my-deployment")
package azure

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/openai"
)

// BaseURL returns the base URL of the clients for a resource. endpoint is that of the
// resource (https://my-resource.openai.azure.com). With an apiVersion requests go to
// the deployment's own address, …/openai/deployments/D?api-version=V; without one to
// …/openai/v1, where the deployment is named as the model
// (https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle).
func BaseURL(endpoint, apiVersion, deployment string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(endpoint))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", errors.New("the endpoint of the Azure resource is not a URL; one is https://my-resource.openai.azure.com")
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	base := u.Scheme + "://" + u.Host + strings.TrimSuffix(strings.TrimSuffix(path, "/v1"), "/openai") + "/openai"
	if apiVersion == "" {
		return base + "/v1", nil
	}
	if deployment == "" {
		return "", fmt.Errorf("with the api-version %s a deployment is needed", apiVersion)
	}
	return base + "/deployments/" + url.PathEscape(deployment) + "?api-version=" + url.QueryEscape(apiVersion), nil
}

// A Client reaches the deployments of a resource by Chat Completions. Its fields must
// not change once a model of it is in use. It never retries.
//
// The embedded Client holds the common settings: keys, HTTP client, headers, limiter, time
// limits. A key or Key is the resource's (api-key), or a token of Microsoft Entra, which is
// recognised by its form: az account get-access-token --resource
// https://cognitiveservices.azure.com --query accessToken -o tsv.
type Client struct {
	openai.Client
	Endpoint   string // https://my-resource.openai.azure.com
	APIVersion string // "": the address without one, …/openai/v1
}

// Model returns a deployment. Its window and price are those of the model whose name
// the deployment has; a catalogue may have its own entry for another name, with
// the provider openai.
func (c *Client) Model(deployment string) (llm.Model, error) {
	base, err := BaseURL(c.Endpoint, c.APIVersion, deployment)
	if err != nil {
		return nil, err
	}
	inner := c.Client
	inner.BaseURL = base
	if inner.Profile == nil {
		inner.Profile = &openai.Profile{Like: "azure"} // for every name of the host
	}
	return inner.Model(deployment), nil
}
