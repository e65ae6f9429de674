package toolschema

// Checked is embedded in tools that have checked their schemas when they were made, and that
// check their own results.
type Checked struct{}

// SchemasAreChecked marks the tool.
func (Checked) SchemasAreChecked(Checked) {}

// IsChecked reports whether a tool embeds [Checked].
func IsChecked(tool any) bool {
	_, ok := tool.(interface{ SchemasAreChecked(Checked) })
	return ok
}
