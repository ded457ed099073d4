package once

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// 1 to 512 bytes of UTF-8 without control characters.
func checkName(name string) error {
	if len(name) < 1 || len(name) > 512 {
		return invalid("a name has 1 to 512 bytes, not %d", len(name))
	}
	if !utf8.ValidString(name) {
		return invalid("a name is UTF-8")
	}
	for _, c := range name {
		if c < 0x20 || (c >= 0x7f && c <= 0x9f) {
			return invalid("a name has no control characters")
		}
	}
	return nil
}

// /v1/NOUN/NAME/ACTION, with the name as one segment.
func pathOf(noun, name, action string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	segment := url.PathEscape(name)
	if segment == "." || segment == ".." { // Those would be taken for steps in a path.
		segment = strings.ReplaceAll(segment, ".", "%2E")
	}
	path := "/v1/" + noun + "/" + segment
	if action != "" {
		path += "/" + action
	}
	return path, nil
}

// Parameters of a query. What is empty is left out.
type parameters map[string]string

func (p parameters) number(name string, value int64) parameters {
	if value != 0 {
		p[name] = strconv.FormatInt(value, 10)
	}
	return p
}

func (p parameters) duration(name string, value time.Duration) parameters {
	if value > 0 {
		p[name] = durationText(value)
	}
	return p
}

func (p parameters) time(name string, value time.Time) parameters {
	if !value.IsZero() {
		p[name] = timeText(value)
	}
	return p
}

func (p parameters) on(target string) string {
	values := url.Values{}
	for name, value := range p {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return target
	}
	return target + "?" + strings.ReplaceAll(values.Encode(), "+", "%20")
}

// As the server takes it: the largest unit that says it exactly, at least a millisecond.
func durationText(d time.Duration) string {
	if d <= 0 {
		return "0s"
	}
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d%unit.size == 0 {
			return strconv.FormatInt(int64(d/unit.size), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10) + "ms"
}

// Empty if it is zero, so that `omitempty` leaves it out.
func givenDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return durationText(d)
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func givenTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return timeText(t)
}

// Zero if the text is no time.
func parseTime(text string) time.Time {
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return parsed
}

// A time in an answer. A missing or strange one is zero.
type timestamp struct{ time.Time }

func (t *timestamp) UnmarshalJSON(text []byte) error {
	if unquotedText, err := strconv.Unquote(string(text)); err == nil {
		t.Time = parseTime(unquotedText)
	}
	return nil
}

func unquoted(etag string) string {
	if len(etag) >= 2 && etag[0] == '"' && etag[len(etag)-1] == '"' {
		return etag[1 : len(etag)-1]
	}
	return etag
}

func quoted(etag string) string { return `"` + unquoted(etag) + `"` }
