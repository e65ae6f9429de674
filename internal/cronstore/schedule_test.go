package cronstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/cronstore"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ticks returns the first ticks after a moment, as texts.
func ticks(s cronstore.Schedule, after time.Time, n int) []string {
	var out []string
	for range n {
		after = s.Next(after)
		out = append(out, after.Format(time.RFC3339))
	}
	return out
}

func TestNext(t *testing.T) {
	for _, test := range []struct{ schedule, zone, after, want string }{
		{"30 9 * * mon-fri", "UTC", "2026-11-20T09:30:00Z", "2026-11-23T09:30:00Z 2026-11-24T09:30:00Z"},
		{"*/15 8-9 * * *", "UTC", "2026-11-20T08:40:59Z", "2026-11-20T08:45:00Z 2026-11-20T09:00:00Z"},
		{"0 0 1 1 *", "UTC", "2026-11-20T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"0 12 29 feb *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T12:00:00Z"},
		{"0 0 13 * fri", "UTC", "2026-11-12T12:00:00Z", "2026-11-13T00:00:00Z 2026-11-20T00:00:00Z"},  // either day
		{"0 0 */2 * fri", "UTC", "2026-11-12T12:00:00Z", "2026-11-13T00:00:00Z 2026-11-27T00:00:00Z"}, // a star: both
		{"0 0 * * 7", "UTC", "2026-11-20T00:00:00Z", "2026-11-22T00:00:00Z"},
		{"0 22-2/2 * * *", "UTC", "2026-11-20T21:00:00Z", "2026-11-20T22:00:00Z 2026-11-21T00:00:00Z 2026-11-21T02:00:00Z 2026-11-21T22:00:00Z"},
		{"@Hourly", "UTC", "2026-11-20T21:00:00Z", "2026-11-20T22:00:00Z"},
		{"@weekly", "UTC", "2026-11-20T21:00:00Z", "2026-11-22T00:00:00Z"},
		{"CRON_TZ=Asia/Tokyo 0 6 * * *", "", "2026-11-20T00:00:00Z", "2026-11-21T06:00:00+09:00"},
		{"0 6 * * *", "Asia/Kolkata", "2026-11-20T00:00:00Z", "2026-11-20T06:00:00+05:30"},
		{"  TZ=UTC   @daily ", "UTC", "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"},
		{"@every 90m", "UTC", "2026-11-20T00:00:00Z", "2026-11-20T01:30:00Z 2026-11-20T03:00:00Z"},

		// Clocks go forward: a skipped time runs when the gap ends, once.
		{"30 2 * * *", "America/New_York", "2026-03-07T12:00:00-05:00", "2026-03-08T03:00:00-04:00 2026-03-09T02:30:00-04:00"},
		{"*/20 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00+01:00", "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00"},
		{"0 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00+01:00", "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00"},
		{"*/30 * * * *", "America/New_York", "2026-03-08T01:15:00-05:00", "2026-03-08T01:30:00-05:00 2026-03-08T03:00:00-04:00 2026-03-08T03:30:00-04:00"},
		{"@every 1h", "America/New_York", "2026-03-08T01:30:00-05:00", "2026-03-08T03:30:00-04:00"},
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00-03:00", "2018-11-04T01:00:00-02:00 2018-11-05T00:00:00-02:00"},
		{"15 * * * *", "Australia/Lord_Howe", "2026-10-04T01:00:00+10:30", "2026-10-04T01:15:00+10:30 2026-10-04T03:15:00+11:00"},
		{"0 10 * * *", "Pacific/Apia", "2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00 2011-12-31T10:00:00+14:00"},

		// Clocks go back: a repeated time runs the first time; hourly schedules continue.
		{"30 1 * * *", "America/New_York", "2026-10-31T12:00:00-04:00", "2026-11-01T01:30:00-04:00 2026-11-02T01:30:00-05:00"},
		{"30 1 * * *", "America/New_York", "2026-11-01T01:40:00-04:00", "2026-11-02T01:30:00-05:00"},
		{"*/30 1,2 * * *", "America/New_York", "2026-11-01T01:10:00-05:00", "2026-11-01T02:00:00-05:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+02:00", "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00"},
		{"30 * * * *", "Europe/Berlin", "2026-10-25T01:30:00+02:00", "2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00 2026-10-25T03:30:00+01:00"},
		{"45 * * * *", "Australia/Lord_Howe", "2026-04-05T00:50:00+11:00", "2026-04-05T01:45:00+11:00 2026-04-05T01:45:00+10:30 2026-04-05T02:45:00+10:30"},
	} {
		after := at(t, test.after)
		s, err := cronstore.Parse(test.schedule, test.zone, after)
		if err != nil {
			t.Errorf("%s: %v", test.schedule, err)
			continue
		}
		want := strings.Fields(test.want)
		if got := ticks(s, after, len(want)); !slices.Equal(got, want) {
			t.Errorf("%q in %s after %s: %v, want %v", test.schedule, s.Zone(), test.after, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for schedule, want := range map[string]string{
		"":                                      "is empty",
		"* * * *":                               "has 4",
		"0 * * * * *":                           "five fields (minute, hour, day of month, month, day of week)",
		"60 * * * *":                            `the minute "60" is wrong`,
		"* 24 * * *":                            `the hour "24" is wrong`,
		"* * 0 * *":                             `the day of month "0" is wrong`,
		"* * * foo *":                           `the month "foo" is wrong`,
		"* * * * 1-2-3":                         `the day of week "1-2-3" is wrong`,
		"1,,2 * * * *":                          `the minute "1,,2" is wrong`,
		", * * * *":                             `the minute "," is wrong`,
		"*-5 * * * *":                           `the minute "*-5" is wrong`,
		"*/0 * * * *":                           `the minute "*/0" is wrong`,
		"*/99 * * * *":                          `the minute "*/99" is wrong`,
		"? * * * *":                             `the minute "?" is wrong`,
		"-1 * * * *":                            `the minute "-1" is wrong`,
		"H * * * *":                             `the minute "H" is wrong`,
		"0 0 30 2 *":                            "never runs",
		"0 0 31 4,6 *":                          "never runs",
		"@reboot":                               "there are @yearly",
		"@every":                                "not a duration",
		"@every soon":                           "not a duration",
		"@every 1ms":                            "out of range",
		"@every 1500ms":                         "out of range",
		"@every -5m":                            "out of range",
		"@every 100000h":                        "out of range",
		"CRON_TZ=Nowhere/City @daily":           "no time zone",
		"CRON_TZ=../etc/x @daily":               "no time zone",
		"CRON_TZ= @daily":                       "names no time zone",
		"CRON_TZ=UTC":                           "is empty",
		"CRON_TZ=Asia/Tokyo @daily":             "was given as well",
		strings.Repeat("1,", 500) + "1 * * * *": "the limit is 200",
		"\x00 * * * *":                          "is wrong",
	} {
		zone := ""
		if strings.Contains(want, "as well") {
			zone = "UTC"
		}
		if _, err := cronstore.Parse(schedule, zone, time.Now()); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("%q: %v, want %s", schedule, err, want)
		}
	}
	if _, err := cronstore.Parse("@daily", "Mars/Base", time.Now()); err == nil {
		t.Error("a zone that there is not was taken")
	}
}

// Next agrees with checking the clock minute by minute.
func TestNextByLooking(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		zone := []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "UTC", "Asia/Tehran"}[random.IntN(6)]
		minute, hour := random.IntN(60), random.IntN(5)
		schedule, named := fmt.Sprintf("%d %d * * *", minute, hour), true
		if random.IntN(2) == 0 {
			schedule, named = fmt.Sprintf("%d * * * *", minute), false
		}
		start := time.Date(2000+random.IntN(30), []time.Month{2, 3, 4, 9, 10, 11}[random.IntN(6)], 1+random.IntN(28), random.IntN(24), random.IntN(60), random.IntN(60), 0, time.UTC)
		s, err := cronstore.Parse(schedule, zone, start)
		if err != nil {
			t.Fatal(err)
		}
		end := start.AddDate(0, 0, 20)
		var got, want []string
		for tick := s.Next(start); tick.Before(end); tick = s.Next(tick) {
			got = append(got, tick.Format(time.RFC3339))
		}
		// shown is the clock's reading up to a moment, as a number.
		shown := func(m time.Time) int64 { _, o := m.Zone(); return m.Unix() + int64(o) }
		var highest int64
		for m := start.Add(-24 * time.Hour).Truncate(time.Minute).In(s.Zone()); m.Before(end); m = m.Add(time.Minute) {
			due := false
			if named {
				// It is due when the clock first shows it or jumps over it.
				for w := max(highest+60, shown(m)-7200); w <= shown(m); w += 60 {
					due = due || w/60%60 == int64(minute) && w/3600%24 == int64(hour)
				}
			} else {
				due = m.Minute() == minute
			}
			highest = max(highest, shown(m))
			if due && m.After(start) {
				want = append(want, m.Format(time.RFC3339))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s in %s from %s:\n%v, want\n%v", schedule, zone, start, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"30 9 * * mon-fri", "@every 5m", "CRON_TZ=UTC */7 1-5/2,9 ? jan,dec 7", "@daily", "0 0 29 2 */3"} {
		f.Add(s, int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, schedule string, unix int64) {
		from := time.Unix(unix%(1<<36), 0)
		s, err := cronstore.Parse(schedule, "", from)
		if err != nil {
			return
		}
		if next := s.Next(from); !next.After(from) {
			t.Errorf("%q after %s: %s", schedule, from, next)
		}
	})
}
