package serve

import (
	"encoding/json"
	"flag"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/eventtable"
	"github.com/openagent-go/agent/internal/golden"
	"github.com/openagent-go/agent/llm"
)

var update = flag.Bool("update", false, "write openapi.json")

// TestOpenAPI holds openapi.json against the routes and their Go types: it is made of them.
func TestOpenAPI(t *testing.T) {
	schemas := map[string]any{"Error": failureSchema(t)}
	paths := map[string]map[string]any{}
	for _, at := range routes {
		if paths[at.path] == nil {
			paths[at.path] = map[string]any{}
		}
		paths[at.path][strings.ToLower(at.method)] = operation(t, at, schemas)
	}
	events := []any{}
	for _, name := range slices.Sorted(maps.Keys(eventtable.Zero)) {
		if !visible(name) {
			continue
		}
		schemas["event_"+name] = schemaOf(t, reflect.TypeOf(eventtable.Zero[name]))
		events = append(events, map[string]any{"properties": map[string]any{"type": map[string]any{"const": name}, "data": ref("event_" + name)}})
	}
	schemas["Event"] = map[string]any{
		"type": "object", "description": "What happened in a session. Facts have a number in seq, signals have none. docs/events.md describes the types.",
		"properties": map[string]any{
			"seq": map[string]any{"type": "integer"}, "prev": map[string]any{"type": "integer"}, "time": map[string]any{"type": "string", "format": "date-time"},
			"session": map[string]any{"type": "string"}, "type": map[string]any{"type": "string"}, "data": map[string]any{"type": "object"},
		},
		"required": []string{"time", "type", "data"}, "anyOf": events,
	}
	doc := map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": "openagent", "version": "1", "description": "Sessions of agents: see docs/serve.md."},
		"paths":   paths,
		"components": map[string]any{"schemas": schemas, "securitySchemes": map[string]any{
			"token":  map[string]any{"type": "http", "scheme": "bearer"},
			"cookie": map[string]any{"type": "apiKey", "in": "cookie", "name": "openagent_…"},
		}},
		"security": []any{map[string]any{"token": []string{}}, map[string]any{"cookie": []string{}}},
	}
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "openapi.json", string(b)+"\n", *update)
}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/components/schemas/" + name} }

var inPath = regexp.MustCompile(`\{(\w+)\}`)

func operation(t *testing.T, at route, schemas map[string]any) map[string]any {
	params := []any{}
	for _, m := range inPath.FindAllStringSubmatch(at.path, -1) {
		params = append(params, map[string]any{"name": m[1], "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
	}
	for _, q := range at.query {
		params = append(params, map[string]any{"name": q.name, "in": "query", "description": q.about, "schema": map[string]any{"type": q.kind}})
	}
	ok := map[string]any{"description": "Success."}
	if at.out != nil {
		ok["content"] = map[string]any{"application/json": map[string]any{"schema": named(t, reflect.TypeOf(at.out), schemas)}}
	}
	if strings.HasSuffix(at.path, "/events") {
		content, _ := ok["content"].(map[string]any)
		if content == nil {
			content = map[string]any{}
			ok["content"] = content
		}
		content["text/event-stream"] = map[string]any{}
	}
	success := "200"
	if at.status == 201 || at.status == 202 {
		success = map[int]string{201: "201", 202: "202"}[at.status]
	}
	op := map[string]any{
		"summary": at.summary, "parameters": params,
		"responses": map[string]any{success: ok, "default": map[string]any{"description": "Failure.", "content": map[string]any{"application/json": map[string]any{"schema": ref("Error")}}}},
	}
	if at.in != nil {
		op["requestBody"] = map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": named(t, reflect.TypeOf(at.in), schemas)}}}
	}
	if at.open {
		op["security"] = []any{}
	}
	return op
}

func named(t *testing.T, typ reflect.Type, schemas map[string]any) map[string]any {
	name := strings.ToUpper(typ.Name()[:1]) + typ.Name()[1:]
	schemas[name] = schemaOf(t, typ)
	return ref(name)
}

func schemaOf(t *testing.T, typ reflect.Type) any {
	anything := func(about string) *jsonschema.Schema { return &jsonschema.Schema{Description: about} }
	s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{IgnoreInvalidTypes: true, TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[event.Event]():     {Ref: "#/components/schemas/Event"},
		reflect.TypeFor[json.RawMessage](): anything("any JSON"),
		reflect.TypeFor[llm.Blocks]():      {Type: "array", Items: anything("a block of content, such as {\"type\":\"text\",\"text\":\"…\"}")},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[time.Duration]():   {Type: "integer", Description: "nanoseconds"},
	}})
	if err != nil {
		t.Fatal(typ, err)
	}
	return s
}

func failureSchema(t *testing.T) any { return schemaOf(t, reflect.TypeFor[failure]()) }
