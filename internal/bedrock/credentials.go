package bedrock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/command"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/llm"
)

// Credentials are those of an AWS identity.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string    // of temporary ones
	Expires         time.Time // zero: never
	Source          string    // where they were found, for people: holds no secret
}

// A Provider gives credentials. It is asked again 5 minutes before they expire,
// and when they were refused.
type Provider func(ctx context.Context) (Credentials, error)

// Static returns a Provider of credentials that never change.
func Static(accessKeyID, secretAccessKey, sessionToken string) Provider {
	return func(context.Context) (Credentials, error) {
		return Credentials{AccessKeyID: accessKeyID, SecretAccessKey: secretAccessKey, SessionToken: sessionToken, Source: "the program"}, nil
	}
}

// ErrNone is matched by the error of a Provider that has none and stands back for
// the next one.
var ErrNone = errors.New("no AWS credentials")

// noneError names the sources that were tried.
type noneError struct{ text string }

func (e *noneError) Error() string        { return e.text }
func (e *noneError) Is(target error) bool { return target == ErrNone }

func none(format string, args ...any) (Credentials, error) {
	return Credentials{}, &noneError{fmt.Sprintf(format, args...)}
}

// Chain returns a Provider that asks each of list until one has credentials. Any
// error but [ErrNone] ends the search.
func Chain(list ...Provider) Provider {
	return func(ctx context.Context) (Credentials, error) {
		var looked []string
		for _, p := range list {
			c, err := p(ctx)
			if !errors.Is(err, ErrNone) {
				return c, err
			}
			looked = append(looked, err.Error())
		}
		return none("no AWS credentials: %s", strings.Join(looked, "; "))
	}
}

// Default looks at the variables, the profile in ~/.aws, the container and the
// instance, in this order, as AWS's own programs do.
func Default() Provider {
	return Chain(Environment(), Profile(""), Container(nil), Instance(nil))
}

// Environment returns a Provider of AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN.
func Environment() Provider {
	return func(context.Context) (Credentials, error) {
		id, secret := env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY")
		switch {
		case id == "" && secret == "":
			return none("AWS_ACCESS_KEY_ID is not set")
		case id == "" || secret == "":
			return Credentials{}, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together: only one is set")
		}
		return Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: env("AWS_SESSION_TOKEN"), Source: "AWS_ACCESS_KEY_ID"}, nil
	}
}

func env(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// Profile returns a Provider of a profile in ~/.aws/credentials and ~/.aws/config
// (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE): its keys, or the output of its
// credential_process. "": AWS_PROFILE, else default. For a profile that needs SSO or
// another role it fails with advice.
func Profile(name string) Provider {
	return func(ctx context.Context) (Credentials, error) {
		name, named := name, name != ""
		if name == "" {
			name = env("AWS_PROFILE")
			named = name != ""
		}
		if name == "" {
			name = "default"
		}
		p, err := readProfile(name)
		if err != nil {
			return Credentials{}, err
		}
		switch {
		case p["aws_access_key_id"] != "" && p["aws_secret_access_key"] != "":
			return Credentials{AccessKeyID: p["aws_access_key_id"], SecretAccessKey: p["aws_secret_access_key"], SessionToken: p["aws_session_token"], Source: "profile " + name}, nil
		case p["credential_process"] != "":
			return process(ctx, p["credential_process"], name)
		case p["sso_session"] != "" || p["sso_start_url"] != "":
			return Credentials{}, fmt.Errorf("the AWS profile %s logs in by SSO, which is not supported here; run: aws sso login --profile %s, and set credential_process = aws configure export-credentials --profile %s in another profile", name, name, name)
		case p["role_arn"] != "":
			return Credentials{}, fmt.Errorf("the AWS profile %s assumes a role, which is not supported here; set credential_process = aws configure export-credentials --profile %s in another profile", name, name)
		case named && p == nil:
			return Credentials{}, fmt.Errorf("there is no AWS profile %s in %s or %s", name, credentialsFile(), configFile())
		}
		return none("profile %s has no keys", name)
	}
}

func credentialsFile() string { return awsFile("AWS_SHARED_CREDENTIALS_FILE", "credentials") }
func configFile() string      { return awsFile("AWS_CONFIG_FILE", "config") }

func awsFile(variable, name string) string {
	if f := env(variable); f != "" {
		return f
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".aws", name)
}

// readProfile returns the settings of a profile, those of the file of credentials
// before those of the other; nil if neither has it.
func readProfile(name string) (map[string]string, error) {
	section := "profile " + name
	if name == "default" {
		section = name
	}
	var all map[string]string
	for _, f := range []struct{ path, section string }{{configFile(), section}, {credentialsFile(), name}} {
		found, err := readSection(f.path, f.section)
		if err != nil {
			return nil, err
		}
		for k, v := range found {
			if all == nil {
				all = map[string]string{}
			}
			all[k] = v
		}
	}
	return all, nil
}

const maxFile = 1 << 20

// readSection reads a section of an INI file, nil if there is none.
func readSection(path, section string) (map[string]string, error) {
	data, err := plainfile.ReadFile(path, maxFile)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || path == "" {
			return nil, nil
		}
		return nil, fmt.Errorf("reading AWS's files: %w", err)
	}
	var found map[string]string
	inside := false
	for line := range strings.Lines(string(data)) {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || text[0] == '#' || text[0] == ';':
		case text[0] == '[':
			title, _, _ := strings.Cut(text[1:], "]")
			if inside = strings.Join(strings.Fields(title), " ") == section; inside && found == nil {
				found = map[string]string{}
			}
		case inside && line[0] != ' ' && line[0] != '\t': // an indented line belongs to the line before
			if k, v, ok := strings.Cut(text, "="); ok {
				found[strings.ToLower(strings.TrimSpace(k))] = strings.TrimSpace(v)
			}
		}
	}
	return found, nil
}

// region returns the region that variables or the profile name, "" if none does.
func region() string {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if v := env(name); v != "" {
			return v
		}
	}
	name := env("AWS_PROFILE")
	if name == "" {
		name = "default"
	}
	p, _ := readProfile(name) // mistakes in it are reported with its credentials
	return p["region"]
}

// issued are credentials as credential_process, containers and instances write them.
type issued struct {
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string `json:"SecretAccessKey"`
	SessionToken    string `json:"SessionToken"`
	Token           string `json:"Token"`
	Expiration      time.Time
}

func read(data []byte, source string) (Credentials, error) {
	var i issued
	if err := json.Unmarshal(data, &i); err != nil {
		return Credentials{}, fmt.Errorf("%s: its answer is not valid credentials", source) // not the bytes: they may hold secrets
	}
	if i.AccessKeyID == "" || i.SecretAccessKey == "" {
		return Credentials{}, fmt.Errorf("%s: its answer has no AccessKeyId and SecretAccessKey", source)
	}
	if i.SessionToken == "" {
		i.SessionToken = i.Token
	}
	return Credentials{AccessKeyID: i.AccessKeyID, SecretAccessKey: i.SecretAccessKey, SessionToken: i.SessionToken, Expires: i.Expiration, Source: source}, nil
}

const processTime = time.Minute

// process runs a credential_process.
func process(ctx context.Context, line, profile string) (Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, processTime)
	defer cancel()
	out, err := command.Run(ctx, command.Command{Line: line})
	source := "credential_process of profile " + profile
	switch {
	case err != nil:
		return Credentials{}, fmt.Errorf("%s: %w", source, err)
	case out.More:
		return Credentials{}, fmt.Errorf("%s: it printed more than %d KB, too much for credentials", source, command.MaxOutput>>10)
	}
	return read([]byte(out.Text), source)
}

const maxAnswer = 64 << 10

// Container returns a Provider of the credentials that
// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI serves to a
// container of ECS or EKS. nil: a client without proxy.
func Container(client *http.Client) Provider {
	return func(ctx context.Context) (Credentials, error) {
		address := env("AWS_CONTAINER_CREDENTIALS_FULL_URI")
		if path := env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
			address = "http://169.254.170.2" + path
		}
		if address == "" {
			return none("this is not a container of AWS")
		}
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" && !inside(u.Hostname()) {
			return Credentials{}, errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or on this machine")
		}
		token := env("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		if f := env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); f != "" {
			data, err := plainfile.ReadFile(f, maxAnswer)
			if err != nil {
				return Credentials{}, fmt.Errorf("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: %w", err)
			}
			token = strings.TrimSpace(string(data))
		}
		header := http.Header{}
		if token != "" {
			header.Set("Authorization", token)
		}
		data, err := fetch(ctx, client, http.MethodGet, address, header)
		if err != nil {
			return Credentials{}, fmt.Errorf("credentials of the container: %w", err)
		}
		return read(data, "the container")
	}
}

// inside reports whether a host is where containers are given credentials.
func inside(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsLoopback() || host == "169.254.170.2" || host == "169.254.170.23" || host == "fd00:ec2::23")
}

// Instance returns a Provider of the role of an EC2 instance, by its metadata service
// (IMDSv2, at AWS_EC2_METADATA_SERVICE_ENDPOINT). Without an answer within a second there
// is none. nil: a client without proxy.
func Instance(client *http.Client) Provider {
	return func(ctx context.Context) (Credentials, error) {
		if strings.EqualFold(env("AWS_EC2_METADATA_DISABLED"), "true") {
			return none("the instance may not be asked")
		}
		base := env("AWS_EC2_METADATA_SERVICE_ENDPOINT")
		if base == "" {
			base = "http://169.254.169.254"
		}
		base = strings.TrimRight(base, "/") + "/latest/"
		short, cancel := context.WithTimeout(ctx, time.Second)
		token, err := fetch(short, client, http.MethodPut, base+"api/token", http.Header{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": {"300"}})
		cancel()
		if err != nil {
			if ctx.Err() != nil {
				return Credentials{}, ctx.Err()
			}
			return none("this is not an instance of EC2")
		}
		header := http.Header{"X-Aws-Ec2-Metadata-Token": {string(token)}}
		role, err := fetch(ctx, client, http.MethodGet, base+"meta-data/iam/security-credentials/", header)
		name, _, _ := strings.Cut(strings.TrimSpace(string(role)), "\n")
		if err != nil || name == "" {
			return none("the instance has no role")
		}
		data, err := fetch(ctx, client, http.MethodGet, base+"meta-data/iam/security-credentials/"+url.PathEscape(name), header)
		if err != nil {
			return Credentials{}, fmt.Errorf("the role of the instance: %w", err)
		}
		return read(data, "the instance's role "+name)
	}
}

var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func fetch(ctx context.Context, client *http.Client, method, address string, header http.Header) ([]byte, error) {
	if client == nil {
		client = direct
	}
	here := *client // a redirect would take the token elsewhere
	here.CheckRedirect = direct.CheckRedirect
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header = header
	resp, err := here.Do(r)
	if err != nil {
		return nil, &llm.APIError{Class: llm.Network, Message: err.Error(), RetryAfter: -1, Err: err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, &llm.APIError{Class: llm.Network, Message: err.Error(), RetryAfter: -1, Err: err}
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return data, nil
}
