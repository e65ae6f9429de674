package strictapi

import (
	"regexp"
	"strconv"
)

// Ability lists the settings that a Claude model refuses, by its name. Unknown names refuse
// nothing extra. Source: the providers' documentation, late 2026.
type Ability struct {
	NoEnabled     bool // thinking of type enabled
	NoTemperature bool
	NoPrefill     bool
	NoForced      bool // tool_choice any and tool
	OneSampler    bool // temperature and top_p together
	NoFormat      bool // output_config.format
}

var claudeName = regexp.MustCompile(`claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:[-.](\d{1,2})(?:\D|$))?`)

func AbilityOf(model string) Ability {
	m := claudeName.FindStringSubmatch(model)
	if m == nil {
		return Ability{}
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	since := func(a, b int) bool { return major > a || major == a && minor >= b }
	opus, sonnet, haiku := m[1] == "opus", m[1] == "sonnet", m[1] == "haiku"
	newest := !opus && !sonnet && !haiku
	modern := newest || opus && since(4, 7) || sonnet && since(5, 0)
	return Ability{
		NoEnabled:     modern,
		NoTemperature: modern,
		NoPrefill:     modern || (opus || sonnet) && since(4, 6),
		NoForced:      newest || (opus || sonnet) && major == 5 && minor == 5,
		NoFormat:      !newest && !since(4, 5),
		OneSampler:    !newest && since(4, 5) || opus && major == 4 && minor == 1,
	}
}
