package config

import "strings"

// A foreignKey is a setting of Claude Code's settings.json that has no effect
// here. Files that were written for it can be used as they are.
type foreignKey struct {
	name string
	use  string // the key that does the same here; "" if there is none
	// guards: who sets it relies on it to keep something from happening.
	guards bool
}

// foreigners are from Claude Code's reference of settings; a name covers all
// that is below it.
var foreigners = []foreignKey{
	{name: "sandbox.credentials", guards: true},
	{name: "sandbox.network.allowManagedDomainsOnly", guards: true},
	{name: "sandbox.network.httpProxyPort", guards: true},
	{name: "sandbox.network.socksProxyPort", guards: true},
	{name: "sandbox.network.tlsTerminate", guards: true},
	{name: "sandbox.filesystem.allowManagedReadPathsOnly", guards: true},
	{name: "sandbox.network.strictAllowlist"},
	{name: "sandbox.network.allowUnixSockets"},
	{name: "sandbox.network.allowMachLookup"},
	{name: "sandbox.ignoreViolations"},
	{name: "sandbox.ripgrep"},
	{name: "allowManagedHooksOnly", guards: true},
	{name: "permissions.disableAutoMode", guards: true},
	{name: "permissions.skipDangerousModePermissionPrompt"},
	{name: "availableModels", guards: true},
	{name: "allowedMcpServers", guards: true},
	{name: "deniedMcpServers", guards: true},
	{name: "strictKnownMarketplaces", guards: true},
	{name: "blockedMarketplaces", guards: true},
	{name: "forceLoginMethod", guards: true},
	{name: "forceLoginOrgUUID", guards: true},
	{name: "awsAuthRefresh"},
	{name: "awsCredentialExport"},
	{name: "otelHeadersHelper"},
	{name: "mcpServers"},
	{name: "enableAllProjectMcpServers"},
	{name: "enabledMcpjsonServers"},
	{name: "disabledMcpjsonServers"},
	{name: "enabledPlugins"},
	{name: "extraKnownMarketplaces"},
	{name: "outputStyle"},
	{name: "statusLine"},
	{name: "fileSuggestion"},
	{name: "respectGitignore"},
	{name: "cleanupPeriodDays"},
	{name: "includeCoAuthoredBy"},
	{name: "attribution"},
	{name: "companyAnnouncements"},
	{name: "alwaysThinkingEnabled"},
	{name: "effortLevel", use: "effort"},
	{name: "fallbackModel", use: "fallback_models"},
	{name: "language"},
	{name: "theme"},
	{name: "verbose"},
	{name: "editorMode"},
	{name: "autoUpdates"},
	{name: "autoUpdatesChannel"},
	{name: "preferredNotifChannel"},
	{name: "spinnerTipsEnabled"},
	{name: "spinnerVerbs"},
	{name: "terminalProgressBarEnabled"},
	{name: "prefersReducedMotion"},
	{name: "showTurnDuration"},
	{name: "plansDirectory"},
	{name: "autoMemoryEnabled"},
	{name: "teammateMode"},
	{name: "feedbackSurveyRate"},
	{name: "agent"},
}

// schemaName is the member that tells editors which schema the file has.
const schemaName = "$schema"

func foreign(name string) (foreignKey, bool) {
	for _, f := range foreigners {
		if name == f.name || strings.HasPrefix(name, f.name+".") {
			return f, true
		}
	}
	return foreignKey{}, false
}

func (f foreignKey) instead() string {
	if f.use == "" {
		return ""
	}
	return "; use " + f.use
}
