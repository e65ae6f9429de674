package lsp

// ourCapabilities are the capabilities of this client.
const ourCapabilities = `{
	"general": {"positionEncodings": ["utf-8", "utf-16"]},
	"window": {"workDoneProgress": true},
	"workspace": {
		"applyEdit": false,
		"configuration": true,
		"workspaceFolders": true,
		"didChangeWatchedFiles": {"dynamicRegistration": true},
		"symbol": {"symbolKind": {"valueSet": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26]}},
		"workspaceEdit": {"documentChanges": true, "resourceOperations": ["create", "rename", "delete"], "failureHandling": "abort"},
		"diagnostics": {"refreshSupport": true}
	},
	"textDocument": {
		"synchronization": {"dynamicRegistration": false},
		"hover": {"contentFormat": ["markdown", "plaintext"]},
		"definition": {"linkSupport": true},
		"typeDefinition": {"linkSupport": true},
		"implementation": {"linkSupport": true},
		"references": {},
		"callHierarchy": {},
		"rename": {"prepareSupport": false},
		"documentSymbol": {
			"hierarchicalDocumentSymbolSupport": true,
			"symbolKind": {"valueSet": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26]}
		},
		"publishDiagnostics": {"versionSupport": true},
		"diagnostic": {"dynamicRegistration": false, "relatedDocumentSupport": false}
	}
}`

// capabilities are the server's capabilities that the client uses.
type capabilities struct {
	PositionEncoding Encoding `json:"positionEncoding"`
	Definition       provider `json:"definitionProvider"`
	TypeDefinition   provider `json:"typeDefinitionProvider"`
	References       provider `json:"referencesProvider"`
	Hover            provider `json:"hoverProvider"`
	DocumentSymbol   provider `json:"documentSymbolProvider"`
	WorkspaceSymbol  provider `json:"workspaceSymbolProvider"`
	Implementation   provider `json:"implementationProvider"`
	CallHierarchy    provider `json:"callHierarchyProvider"`
	Rename           provider `json:"renameProvider"`
	Diagnostic       provider `json:"diagnosticProvider"`
}

// A provider says whether something is offered: true, or an object of options.
type provider bool

func (p *provider) UnmarshalJSON(data []byte) error {
	*p = string(data) == "true" || len(data) > 0 && data[0] == '{'
	return nil
}
