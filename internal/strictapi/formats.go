package strictapi

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Rules of schemas for answers, from the providers' documentation of structured
// outputs (late 2026), their words from memory.

// grammar is a schema under examination by a provider that compiles it.
type grammar struct {
	all     bool     // every member is required
	refused []string // keywords
	root    Object
	reason  string // the first thing found
}

func (g *grammar) find(path, format string, args ...any) {
	if g.reason == "" {
		g.reason = "In context=(" + path + "), " + fmt.Sprintf(format, args...)
	}
}

// check walks a schema. seen are the definitions that it stands in.
func (g *grammar) check(v any, path string, seen []string) {
	s := ObjectOf(v)
	if s == nil {
		g.find(path, "a schema must be an object")
		return
	}
	if len(path) > 2000 {
		g.find(path, "the schema is too deep")
		return
	}
	for _, k := range g.refused {
		if _, ok := s[k]; ok {
			g.find(path, "'%s' is not permitted.", k)
		}
	}
	if ref := TextOf(s["$ref"]); ref != "" {
		g.follow(ref, path, seen)
		return
	}
	kinds := Words(s["type"])
	if len(kinds) == 0 && s["anyOf"] == nil {
		g.find(path, "schema must have a 'type' key.")
	}
	if slices.Contains(kinds, "object") {
		g.object(s, path, seen)
	}
	if slices.Contains(kinds, "array") {
		g.check(s["items"], path+"/items", seen)
	}
	for i, a := range ListOf(s["anyOf"]) {
		g.check(a, fmt.Sprint(path, "/anyOf/", i), seen)
	}
}

func (g *grammar) object(s Object, path string, seen []string) {
	if s["additionalProperties"] != false {
		g.find(path, "'additionalProperties' is required to be supplied and to be false.")
	}
	properties := ObjectOf(s["properties"])
	for _, name := range Words(s["required"]) {
		if properties[name] == nil {
			g.find(path, "Extra required key '%s' supplied.", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if g.all && !slices.Contains(Words(s["required"]), name) {
			g.find(path, "'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", name)
		}
		g.check(properties[name], path+"/"+name, seen)
	}
}

func (g *grammar) follow(ref, path string, seen []string) {
	if slices.Contains(seen, ref) {
		if !g.all { // Anthropic
			g.find(path, "recursive schemas are not supported.")
		}
		return
	}
	target := any(g.root)
	for _, name := range strings.Split(strings.TrimPrefix(ref, "#"), "/") {
		if name != "" {
			target = ObjectOf(target)[name]
		}
	}
	g.check(target, path, append(slices.Clone(seen), ref))
}

func badSchema(schema any, all bool, refused ...string) string {
	g := &grammar{all: all, refused: refused, root: ObjectOf(schema)}
	if g.root["type"] != "object" {
		return `schema must be a JSON Schema of 'type: "object"'.`
	}
	g.check(schema, "", []string{"#"})
	return g.reason
}

func (c *anthropicCheck) checkFormat() {
	config := ObjectOf(c.body["output_config"])
	for k := range config {
		if !slices.Contains([]string{"effort", "format", "task_budget"}, k) {
			c.Add("A02", "output_config", "output_config.%s: Extra inputs are not permitted", k)
		}
	}
	f := ObjectOf(config["format"])
	if f == nil {
		return
	}
	if f["type"] != "json_schema" || f["schema"] == nil {
		c.Add("A55", "output_config.format", "output_config.format.schema: Field required")
		return
	}
	if c.ability.NoFormat {
		c.Add("A55", "output_config.format", "'%s' does not support output format.", TextOf(c.body["model"]))
	}
	if why := badSchema(f["schema"], false, "allOf", "oneOf", "not", "if", "then", "else", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems", "prefixItems", "patternProperties"); why != "" {
		c.Add("A55", "output_config.format", "output_config.format.schema: %s", why)
	}
}

var formatName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (c *openaiCheck) checkFormat() {
	f := ObjectOf(c.body["response_format"])
	if f["type"] != "json_schema" {
		return
	}
	s := ObjectOf(f["json_schema"])
	if name := TextOf(s["name"]); !formatName.MatchString(name) {
		c.Add("O29", "response_format", "Invalid 'response_format.json_schema.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.")
	}
	if ObjectOf(s["schema"]) == nil {
		c.Add("O29", "response_format", "Missing required parameter: 'response_format.json_schema.schema'.")
		return
	}
	if !BoolOf(s["strict"]) {
		return
	}
	if why := badSchema(s["schema"], true, "allOf", "oneOf", "not", "if", "then", "else", "minLength", "maxLength", "uniqueItems",
		"prefixItems", "patternProperties", "default", "dependentRequired", "dependentSchemas"); why != "" {
		c.Add("O29", "response_format", "Invalid schema for response_format '%s': %s", TextOf(s["name"]), why)
	}
}
