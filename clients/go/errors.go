package once

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Error is every error that this package makes. Code is the stable code of the server's problem+json, or "failed" for a
// key that failed for good; then Failure is what was stored. Nothing was written unless the code is "unknown".
//
// errors.Is(err, ErrBusy) and the like tell kinds apart, errors.As gives the rest.
type Error struct {
	Code       string
	Detail     string
	Status     int             // Of the HTTP answer; 0 if there was none.
	Problem    json.RawMessage // The whole body of the refusal, if there was one.
	Failure    json.RawMessage // Of a key that failed for good.
	RetryAfter time.Duration   // What the server asked for.

	Owner      string    // Of a busy key: its holder's label.
	LeaseUntil time.Time // Of a busy key: when its lease ends.
	Current    string    // Of a document that was changed: its ETag now, without quotes.
	Next       int64     // Of an append that was refused: the log's next index.
	Part       string    // Of a commit that was refused: the part, such as "docs[0]".

	hasRetryAfter bool
	cause         error
}

// What an error can be, for errors.Is.
var (
	// ErrBusy: another attempt holds the key. Come back later, or give Wait.
	ErrBusy error = &Error{Code: "busy"}
	// ErrFenced: the lease was lost, and another attempt may hold the key. Stop.
	ErrFenced error = &Error{Code: "fenced"}
	// ErrMismatch: the same key or id with another content.
	ErrMismatch error = &Error{Code: "mismatch"}
	// ErrUnavailable: nothing was written; the server or its store could not be reached for long enough.
	ErrUnavailable error = &Error{Code: "unavailable"}
	// ErrUnknown: it may have happened, or may not; the answer was lost, and no repeat was answered.
	ErrUnknown error = &Error{Code: "unknown"}
	// ErrInvalid: the request cannot be understood, and nothing was written.
	ErrInvalid error = &Error{Code: "invalid"}
	// ErrPreconditionFailed: a condition did not hold, and nothing was written.
	ErrPreconditionFailed error = &Error{Code: "precondition_failed"}
	// ErrNotFound: there is nothing of this name.
	ErrNotFound error = &Error{Code: "not_found"}
	// ErrContended: others always changed it first.
	ErrContended error = &Error{Code: "contended"}
	// ErrClosed: the log is closed.
	ErrClosed error = &Error{Code: "closed"}
	// ErrDenied: the token is missing, wrong, or does not allow it.
	ErrDenied error = &Error{Code: "forbidden"}
	// ErrFailed: the key failed for good.
	ErrFailed error = &Error{Code: "failed"}
	// ErrTooLarge: more than the server or its store takes.
	ErrTooLarge error = &Error{Code: "too_large"}
	// ErrUnsupported: the store cannot do this.
	ErrUnsupported error = &Error{Code: "unsupported"}
	// ErrCorrupt: what is stored is damaged.
	ErrCorrupt error = &Error{Code: "corrupt"}
)

// Codes that a caller treats like another one.
var kinds = map[string]string{
	"busy": "busy", "fenced": "fenced", "mismatch": "mismatch", "unavailable": "unavailable", "overloaded": "unavailable",
	"unknown": "unknown", "invalid": "invalid", "precondition_required": "invalid",
	"precondition_failed": "precondition_failed", "not_found": "not_found", "contended": "contended", "closed": "closed",
	"unauthorized": "forbidden", "forbidden": "forbidden", "too_large": "too_large", "unsupported": "unsupported",
	"corrupt": "corrupt",
}

func kindOf(code string) string {
	if kind, known := kinds[code]; known {
		return kind
	}
	return code
}

// Error says what happened, beginning with the code.
func (e *Error) Error() string {
	text := "once: " + e.Code
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.cause != nil && !strings.Contains(text, e.cause.Error()) {
		text += ": " + e.cause.Error()
	}
	return text
}

// Is tells whether both are of one kind: "overloaded" is unavailable, too.
func (e *Error) Is(target error) bool {
	other, ours := target.(*Error)
	return ours && kindOf(e.Code) == kindOf(other.Code)
}

// Unwrap is what it came from, such as the end of a context.
func (e *Error) Unwrap() error { return e.cause }

func failure(code, format string, values ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, values...)}
}

func invalid(format string, values ...any) *Error { return failure("invalid", format, values...) }

func caused(code string, cause error, format string, values ...any) *Error {
	made := failure(code, format, values...)
	made.cause = cause
	return made
}

// The members of a problem that callers act on. What has another type than it should is left out.
func problemError(code string, body []byte, status int) *Error {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(body, &members)
	made := &Error{Code: code, Status: status, Problem: append(json.RawMessage(nil), body...)}
	read := func(name string, into any) bool {
		raw, has := members[name]
		return has && json.Unmarshal(raw, into) == nil
	}
	if !read("detail", &made.Detail) || made.Detail == "" {
		read("title", &made.Detail)
	}
	read("owner", &made.Owner)
	read("current", &made.Current)
	read("next", &made.Next)
	read("part", &made.Part)
	var until string
	if read("lease_until", &until) {
		made.LeaseUntil = parseTime(until)
	}
	made.Current = unquoted(made.Current)
	return made
}
