package cronstore

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	spec "github.com/netresearch/go-cron"

	"github.com/openagent-go/agent/internal/text"
)

// maxShown bounds what an error quotes, in bytes.
const maxShown = 80

const (
	maxSchedule = 200                  // bytes of a schedule as it is written
	minEvery    = time.Second          // shortest interval of @every
	maxEvery    = 366 * 24 * time.Hour // longest interval of @every
	// farthest is how far ahead a date is looked for. The leap day falls on a given
	// day of the week every 28 years, every 40 where a century has none.
	farthest = 50 // years
)

// A Schedule is a set of moments, its ticks. It comes from [Parse].
type Schedule struct {
	zone    *time.Location
	every   time.Duration      // of @every, else 0
	start   time.Time          // @every counts from here
	fields  *spec.SpecSchedule // over the wall clock; nil for @every
	elapsed bool               // the hour is "*"
}

// shorthands are the words for common schedules, see crontab(5).
var shorthands = []struct{ word, fields string }{
	{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
	{"@daily", "0 0 * * *"}, {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"},
}

// fieldNames are the fields in their order, as errors call them.
var fieldNames = []string{"minute", "hour", "day of month", "month", "day of week"}

// item is one of the parts of a field that commas separate.
var item = regexp.MustCompile(`^(?:[*?]|(?:\d{1,2}|[A-Za-z]{3})(?:-(?:\d{1,2}|[A-Za-z]{3}))?)(?:/\d{1,2})?$`)

var parser = spec.MustNewParser(spec.Minute | spec.Hour | spec.Dom | spec.Month | spec.Dow).WithMaxSearchYears(farthest)

// Parse reads a schedule: the five fields of crontab(5) ("30 9 * * mon-fri"), a
// word such as @daily, or "@every" with a duration of Go ("@every 90m"), which
// counts from start. zone is a name of the IANA time zone database, "" the zone
// of this process; the schedule may say it itself, as in
// "CRON_TZ=Europe/Berlin 30 9 * * *".
//
// Where the days of the month and of the week are both limited, either is
// enough. Where clocks change, a schedule whose hour is "*" goes by the time that
// passes; any other runs once for each time that it names: what is skipped runs
// when the gap ends, and what comes twice the first time.
//
// The error names the field that is wrong. A date that never comes is an error.
func Parse(text, zone string, start time.Time) (Schedule, error) {
	own, text, err := splitZone(text)
	switch {
	case err != nil:
		return Schedule{}, err
	case own != "" && zone != "" && own != zone:
		return Schedule{}, fmt.Errorf("the schedule names the time zone %q, but %q was given as well; give one of them", own, zone)
	}
	s := Schedule{start: start.Round(0)}
	if s.zone, err = location(cmp.Or(own, zone)); err != nil {
		return Schedule{}, err
	}
	if text == "" {
		return Schedule{}, errors.New("the schedule is empty; write five fields such as \"30 9 * * *\", a word such as @daily, or @every 90m")
	}
	if word, rest, _ := strings.Cut(text, " "); strings.EqualFold(word, "@every") {
		s.every, err = interval(strings.TrimSpace(rest))
		return s, err
	}
	if strings.HasPrefix(text, "@") {
		if text, err = expand(text); err != nil {
			return Schedule{}, err
		}
	}
	if err := s.parseFields(strings.Fields(text)); err != nil {
		return Schedule{}, err
	}
	if s.Next(start).IsZero() {
		return Schedule{}, fmt.Errorf("the schedule %q never runs: there is no such date", text)
	}
	return s, nil
}

// splitZone takes CRON_TZ= or TZ= off the front of a schedule.
func splitZone(line string) (zone, rest string, err error) {
	line = text.OneLine(line)
	if len(line) > maxSchedule {
		return "", "", fmt.Errorf("the schedule has %d bytes; the limit is %d", len(line), maxSchedule)
	}
	first, after, _ := strings.Cut(line, " ")
	name, value, ok := strings.Cut(first, "=")
	if !ok || name != "CRON_TZ" && name != "TZ" {
		return "", line, nil
	}
	if value == "" {
		return "", "", fmt.Errorf("%s names no time zone; write one such as %s=Europe/Berlin", first, name)
	}
	return value, after, nil
}

func location(zone string) (*time.Location, error) {
	if zone == "" {
		return time.Local, nil
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %q; write a name such as Europe/Berlin or UTC", text.Bytes(zone, maxShown))
	}
	return loc, nil
}

func interval(word string) (time.Duration, error) {
	d, err := time.ParseDuration(word)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration for @every; write one such as 90m or 1h30m", text.Bytes(word, maxShown))
	case d < minEvery || d > maxEvery || d%time.Second != 0:
		return 0, fmt.Errorf("@every %s is out of range; write whole seconds from %s to %s", text.Bytes(word, maxShown), minEvery, maxEvery)
	}
	return d, nil
}

func expand(word string) (string, error) {
	var words []string
	for _, s := range shorthands {
		if strings.EqualFold(word, s.word) {
			return s.fields, nil
		}
		words = append(words, s.word)
	}
	return "", fmt.Errorf("there is no schedule %q; there are %s and @every with a duration", text.Bytes(word, maxShown), strings.Join(words, ", "))
}

func (s *Schedule) parseFields(fields []string) error {
	if len(fields) != len(fieldNames) {
		return fmt.Errorf("a schedule has five fields (%s), but %q has %d", strings.Join(fieldNames, ", "), text.Bytes(strings.Join(fields, " "), maxShown), len(fields))
	}
	for i, field := range fields {
		if err := checkField(i, field); err != nil {
			return fmt.Errorf("the %s %q is wrong: %w", fieldNames[i], text.Bytes(field, maxShown), err)
		}
	}
	parsed, err := parser.Parse(strings.Join(fields, " "))
	if err != nil {
		return fmt.Errorf("reading the schedule: %w", err)
	}
	s.fields = parsed.(*spec.SpecSchedule) // what the parser makes of five fields
	s.fields.Location = time.UTC           // the wall clock, whatever the zone
	// crontab(5): either day is enough where neither field begins with a star.
	s.fields.DowOrDom = !anyDay(fields[2]) && !anyDay(fields[4])
	s.elapsed = fields[1] == "*"
	return nil
}

func anyDay(field string) bool { return field[0] == '*' || field[0] == '?' }

// checkField reads one field alone, so that the error can name it.
func checkField(i int, field string) error {
	for part := range strings.SplitSeq(field, ",") {
		if !item.MatchString(part) || part[0] == '?' && i != 2 && i != 4 {
			return fmt.Errorf("%q is not a number, a range such as 1-5, a step such as */15, or *", text.Bytes(part, maxShown))
		}
	}
	alone := []string{"*", "*", "*", "*", "*"}
	alone[i] = field
	_, err := parser.Parse(strings.Join(alone, " "))
	return err
}
