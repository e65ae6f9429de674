package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// offered returns an error unless the server says that it offers something.
func (s *Server) offered(p provider, what string) error {
	if !p {
		return fmt.Errorf("%s: %w (%s)", s.config.Name, ErrUnsupported, what)
	}
	return nil
}

// at is the question about a place in a document.
func at(path string, p Position) map[string]any {
	return map[string]any{"textDocument": map[string]string{"uri": URI(path)}, "position": p}
}

// Definition returns where the name at a place is defined.
func (s *Server) Definition(ctx context.Context, path string, p Position) ([]Location, error) {
	if err := s.offered(s.capabilities.Definition, "definitions"); err != nil {
		return nil, err
	}
	return s.locations(ctx, "textDocument/definition", at(path, p))
}

// TypeDefinition returns where the type of the name at a place is defined.
func (s *Server) TypeDefinition(ctx context.Context, path string, p Position) ([]Location, error) {
	if err := s.offered(s.capabilities.TypeDefinition, "definitions of types"); err != nil {
		return nil, err
	}
	return s.locations(ctx, "textDocument/typeDefinition", at(path, p))
}

// Implementation returns where the name at a place is implemented.
func (s *Server) Implementation(ctx context.Context, path string, p Position) ([]Location, error) {
	if err := s.offered(s.capabilities.Implementation, "implementations"); err != nil {
		return nil, err
	}
	return s.locations(ctx, "textDocument/implementation", at(path, p))
}

// References returns where the name at a place is used, including its declaration.
func (s *Server) References(ctx context.Context, path string, p Position) ([]Location, error) {
	if err := s.offered(s.capabilities.References, "references"); err != nil {
		return nil, err
	}
	params := at(path, p)
	params["context"] = map[string]bool{"includeDeclaration": true}
	return s.locations(ctx, "textDocument/references", params)
}

// locations sends a request that is answered by a Location, several, or LocationLinks.
func (s *Server) locations(ctx context.Context, method string, params any) ([]Location, error) {
	var found []Location
	var answer json.RawMessage
	var bad error
	err := s.ask(ctx, method, params, &answer, func() bool {
		found, bad = readLocations(answer)
		return len(found) == 0 && bad == nil
	})
	if err == nil {
		err = bad
	}
	return found, err
}

func readLocations(answer json.RawMessage) ([]Location, error) {
	type link struct {
		Location
		TargetURI   string `json:"targetUri"`
		TargetRange Range  `json:"targetSelectionRange"`
	}
	var links []link
	if strings.HasPrefix(string(answer), "{") {
		answer = append(append(json.RawMessage("["), answer...), ']')
	}
	if len(answer) > 0 {
		if err := json.Unmarshal(answer, &links); err != nil {
			return nil, fmt.Errorf("reading locations: %w", err)
		}
	}
	var found []Location
	for _, l := range links {
		if l.TargetURI != "" {
			l.Location = Location{l.TargetURI, l.TargetRange}
		}
		found = append(found, l.Location)
	}
	return found, nil
}

// Hover returns the server's text about a place, Markdown; "" if there is none.
func (s *Server) Hover(ctx context.Context, path string, p Position) (string, error) {
	if err := s.offered(s.capabilities.Hover, "hover"); err != nil {
		return "", err
	}
	var text string
	var bad error
	var answer struct {
		Contents json.RawMessage `json:"contents"`
	}
	err := s.ask(ctx, "textDocument/hover", at(path, p), &answer, func() bool {
		text, bad = readMarked(answer.Contents)
		return text == "" && bad == nil
	})
	if err == nil {
		err = bad
	}
	return text, err
}

// readMarked reads MarkupContent, or one or several MarkedStrings.
func readMarked(contents json.RawMessage) (string, error) {
	if len(contents) == 0 || string(contents) == "null" {
		return "", nil
	}
	parts := []json.RawMessage{contents}
	if contents[0] == '[' {
		if err := json.Unmarshal(contents, &parts); err != nil {
			return "", fmt.Errorf("reading a hover text: %w", err)
		}
	}
	var texts []string
	for _, part := range parts {
		var marked struct{ Language, Value string }
		var err error
		if strings.HasPrefix(string(part), `"`) {
			err = json.Unmarshal(part, &marked.Value)
		} else {
			err = json.Unmarshal(part, &marked)
		}
		if err != nil {
			return "", fmt.Errorf("reading a hover text: %w", err)
		}
		if marked.Language != "" {
			marked.Value = "```" + marked.Language + "\n" + marked.Value + "\n```"
		}
		if marked.Value != "" {
			texts = append(texts, marked.Value)
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

// A Symbol is something that has a name.
type Symbol struct {
	Name      string
	Kind      string // as the protocol names it, in lower case: "function", "enum member"
	Detail    string // its type or signature; "" if the server does not say
	Container string // what it is in; "" if it is in nothing or the server does not say
	Depth     int    // how many symbols it is in
	Location  Location
}

// symbolKinds are the protocol's, from 1.
var symbolKinds = [...]string{"symbol", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor",
	"enum", "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
	"enum member", "struct", "event", "operator", "type parameter"}

type symbolKind int

func (k symbolKind) String() string {
	if k < 1 || int(k) >= len(symbolKinds) {
		k = 0
	}
	return symbolKinds[k]
}

// rawSymbol is a DocumentSymbol, a SymbolInformation or a WorkspaceSymbol.
type rawSymbol struct {
	Name      string      `json:"name"`
	Detail    string      `json:"detail"`
	Kind      symbolKind  `json:"kind"`
	Container string      `json:"containerName"`
	Selection *Range      `json:"selectionRange"`
	Location  Location    `json:"location"`
	Children  []rawSymbol `json:"children"`
}

// DocumentSymbols returns the symbols of a document in its order, each before
// those in it.
func (s *Server) DocumentSymbols(ctx context.Context, path string) ([]Symbol, error) {
	if err := s.offered(s.capabilities.DocumentSymbol, "symbols of a document"); err != nil {
		return nil, err
	}
	var raw []rawSymbol
	params := map[string]any{"textDocument": map[string]string{"uri": URI(path)}}
	if err := s.ask(ctx, "textDocument/documentSymbol", params, &raw, func() bool { return len(raw) == 0 }); err != nil {
		return nil, err
	}
	return flatten(nil, raw, URI(path), "", 0), nil
}

func flatten(list []Symbol, raw []rawSymbol, uri, container string, depth int) []Symbol {
	for _, r := range raw {
		l := r.Location
		if r.Selection != nil {
			l = Location{uri, *r.Selection}
		}
		in := container
		if in == "" {
			in = r.Container
		}
		list = append(list, Symbol{Name: r.Name, Kind: r.Kind.String(), Detail: r.Detail, Container: in, Depth: depth, Location: l})
		list = flatten(list, r.Children, uri, r.Name, depth+1)
	}
	return list
}

// WorkspaceSymbols returns the symbols that the server finds for a query.
func (s *Server) WorkspaceSymbols(ctx context.Context, query string) ([]Symbol, error) {
	if err := s.offered(s.capabilities.WorkspaceSymbol, "symbols of the workspace"); err != nil {
		return nil, err
	}
	var raw []rawSymbol
	if err := s.ask(ctx, "workspace/symbol", map[string]string{"query": query}, &raw, func() bool { return len(raw) == 0 }); err != nil {
		return nil, err
	}
	return flatten(nil, raw, "", "", 0), nil
}

// A Caller is an item of a call hierarchy.
type Caller struct {
	Symbol
	raw json.RawMessage // as the server wants to see it again
}

func (c *Caller) UnmarshalJSON(data []byte) error {
	var item struct {
		rawSymbol
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(data, &item); err != nil {
		return err
	}
	c.raw = append(json.RawMessage(nil), data...)
	c.Symbol = Symbol{Name: item.Name, Kind: item.Kind.String(), Detail: item.Detail, Location: Location{URI: item.URI}}
	if item.Selection != nil {
		c.Location.Range = *item.Selection
	}
	return nil
}

// A CallSite is a Caller or a callee, with the places of the calls. These are in the
// caller's document.
type CallSite struct {
	Other Caller
	Calls []Range
}

// PrepareCalls returns the functions at a place whose calls can be asked about.
func (s *Server) PrepareCalls(ctx context.Context, path string, p Position) ([]Caller, error) {
	if err := s.offered(s.capabilities.CallHierarchy, "the call hierarchy"); err != nil {
		return nil, err
	}
	var items []Caller
	err := s.ask(ctx, "textDocument/prepareCallHierarchy", at(path, p), &items, func() bool { return len(items) == 0 })
	return items, err
}

// Incoming returns who calls c.
func (s *Server) Incoming(ctx context.Context, c Caller) ([]CallSite, error) {
	var answer []struct {
		From   Caller  `json:"from"`
		Ranges []Range `json:"fromRanges"`
	}
	err := s.ask(ctx, "callHierarchy/incomingCalls", map[string]json.RawMessage{"item": c.raw}, &answer, nil)
	var sites []CallSite
	for _, a := range answer {
		sites = append(sites, CallSite{a.From, a.Ranges})
	}
	return sites, err
}

// Outgoing returns the functions that c calls.
func (s *Server) Outgoing(ctx context.Context, c Caller) ([]CallSite, error) {
	var answer []struct {
		To     Caller  `json:"to"`
		Ranges []Range `json:"fromRanges"`
	}
	err := s.ask(ctx, "callHierarchy/outgoingCalls", map[string]json.RawMessage{"item": c.raw}, &answer, nil)
	var sites []CallSite
	for _, a := range answer {
		sites = append(sites, CallSite{a.To, a.Ranges})
	}
	return sites, err
}

// cleanText makes text of the server's fit to be shown.
func cleanText(data []byte) string {
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
}
