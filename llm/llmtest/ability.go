package llmtest

import (
	"regexp"
	"strconv"
)

// ability lists the settings that a Claude model refuses, by its name. Unknown names refuse
// nothing extra. Source: the providers' documentation, late 2026.
type ability struct {
	noEnabled     bool // thinking of type enabled
	noTemperature bool
	noPrefill     bool
	noForced      bool // tool_choice any and tool
	oneSampler    bool // temperature and top_p together
	noFormat      bool // output_config.format
}

var claudeName = regexp.MustCompile(`claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:[-.](\d{1,2})(?:\D|$))?`)

func abilityOf(model string) ability {
	m := claudeName.FindStringSubmatch(model)
	if m == nil {
		return ability{}
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	since := func(a, b int) bool { return major > a || major == a && minor >= b }
	opus, sonnet, haiku := m[1] == "opus", m[1] == "sonnet", m[1] == "haiku"
	newest := !opus && !sonnet && !haiku
	modern := newest || opus && since(4, 7) || sonnet && since(5, 0)
	return ability{
		noEnabled:     modern,
		noTemperature: modern,
		noPrefill:     modern || (opus || sonnet) && since(4, 6),
		noForced:      newest || (opus || sonnet) && major == 5 && minor == 5,
		noFormat:      !newest && !since(4, 5),
		oneSampler:    !newest && since(4, 5) || opus && major == 4 && minor == 1,
	}
}
