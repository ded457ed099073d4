package once

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxAnswer    = 64 << 20 // Bytes of one answer.
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
	onTheWay     = time.Second // How much earlier a server gives up than the client that waits for it.
	shortestTry  = 50 * time.Millisecond
	mostAskedFor = 5 * time.Second // Of Retry-After.
)

// What a 2xx answer must look like to be our server's: a login page of a gateway is 200, too.
type expectation int

const (
	expectJSON expectation = iota
	expectDocument
	expectText
	expectNothing
)

// One call. Each try sends the same bytes, and so has the same id.
type request struct {
	method      string
	target      string // Path and query.
	header      http.Header
	body        []byte
	contentType string
	once        bool // A repeat might do something else: never sent again once it may have arrived.
	asks        bool // It changes nothing, although it is a POST.
	expect      expectation
	wait        time.Duration  // How long the server may let it wait.
	within      *time.Duration // In place of the client's patience.
}

func (r *request) reads() bool {
	return r.method == http.MethodGet || r.method == http.MethodHead || r.asks
}

// Answer is a complete answer of the server.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

func (a *Answer) mediaType() string {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return kind
}

// Whether it had happened before.
func (a *Answer) replayed() bool {
	return strings.EqualFold(a.Header.Get("Idempotent-Replayed"), "true")
}

// What became of one try: an answer; or none, and whether it may have arrived.
type reply struct {
	answer *Answer
	sent   bool
	err    error
}

// What a reply means. err is nil if it decides; lost: it may have happened; final: trying again would not help.
type verdict struct {
	err   *Error
	lost  bool
	final bool
}

// Only an answer of our own server decides (docs/hazards.md#h39).
func judge(r *request, got reply) verdict {
	switch {
	case got.answer == nil && !got.sent:
		return verdict{err: caused("unavailable", got.err, "cannot reach the server")}
	case got.answer == nil:
		return lostAnswer(r, caused("unknown", got.err, "the answer was lost"))
	case isOurs(r, got.answer):
		return verdict{final: true}
	}
	refused := problemOf(got.answer)
	if refused == nil {
		foreign := failure("unknown", "the answer %d did not come from a server of Once", got.answer.Status)
		foreign.Status = got.answer.Status
		return lostAnswer(r, foreign)
	}
	switch refused.Code {
	case "unknown":
		return verdict{err: refused, lost: !r.reads()}
	case "unavailable", "overloaded", "contended":
		return verdict{err: refused}
	}
	return verdict{err: refused, final: true}
}

// A read has changed nothing, in any case.
func lostAnswer(r *request, err *Error) verdict {
	if r.reads() {
		err.Code = "unavailable"
	}
	return verdict{err: err, lost: !r.reads()}
}

func isOurs(r *request, a *Answer) bool {
	if a.Status == http.StatusNotModified {
		return r.expect == expectDocument && a.Header.Get("ETag") != ""
	}
	if a.Status < 200 || a.Status > 299 {
		return false
	}
	switch {
	case a.Status == http.StatusNoContent || r.expect == expectNothing:
		return a.mediaType() != "text/html"
	case r.expect == expectText:
		return true
	case r.expect == expectDocument:
		// A change that was done before has none if the document is gone by now.
		return a.Header.Get("ETag") != "" || a.replayed()
	}
	return a.mediaType() == "application/json" && json.Valid(a.Body)
}

func problemOf(a *Answer) *Error {
	if a.Status < 400 || a.mediaType() != "application/problem+json" {
		return nil
	}
	var body struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(a.Body, &body) != nil {
		return nil
	}
	if _, known := kinds[body.Code]; !known {
		return nil
	}
	made := problemError(body.Code, a.Body, a.Status)
	if etag := a.Header.Get("ETag"); etag != "" && made.Current == "" {
		made.Current = unquoted(etag)
	}
	if seconds, err := strconv.ParseFloat(a.Header.Get("Retry-After"), 64); err == nil && seconds >= 0 {
		made.RetryAfter, made.hasRetryAfter = shorter(time.Duration(seconds*float64(time.Second)), mostAskedFor), true
	}
	return made
}

// Outcomes are certain also after a lost answer: they are about what is stored, and the id is the same.
func isOutcome(code string) bool {
	switch code {
	case "busy", "mismatch", "fenced", "precondition_failed", "not_found", "contended", "closed":
		return true
	}
	return false
}

// Asks until an answer decides, for as long as the client's patience and r.wait. Gives what the server refused with;
// unknown if it may have happened; unavailable if it did not.
func (c *Client) call(ctx context.Context, r *request) (*Answer, error) {
	if err := checkHeader(r.header); err != nil {
		return nil, err
	}
	patience := c.options.Patience
	if r.within != nil {
		patience = *r.within
	}
	deadline := time.Now().Add(patience + r.wait)
	pauses := c.newBackoff(firstPause, longestPause)
	var lost *Error
	for tries := 1; ; tries++ {
		// The last try has a fair chance, too: one that ends too early would make it unknown.
		left := longer(time.Until(deadline), shorter(time.Second, patience))
		if patience <= 0 {
			left = c.options.Timeout + r.wait
		}
		timeout := longer(shortestTry, shorter(left, c.options.Timeout+r.wait))
		began := time.Now()
		got := c.transport.send(ctx, r, c.headerOf(ctx, r, timeout), timeout)
		found := judge(r, got)
		c.tellRequest(r, got, found, tries, time.Since(began))
		if found.err == nil {
			return got.answer, nil
		}
		if found.lost {
			lost = found.err
		}
		if found.final {
			// After a lost answer a refusal of a later try says nothing of the first.
			if lost == nil || isOutcome(found.err.Code) {
				return nil, found.err
			}
			return nil, lost
		}
		last := found.err
		if lost != nil {
			last = lost
		}
		if lost != nil && r.once {
			return nil, last
		}
		pause := pauses.next()
		if found.err.hasRetryAfter {
			pause = found.err.RetryAfter/2 + time.Duration(float64(found.err.RetryAfter)*float64(pause)/float64(longestPause)/2)
		}
		left = time.Until(deadline)
		if left <= 0 {
			return nil, last
		}
		if !sleep(ctx, shorter(pause, left)) {
			return nil, ended(ctx, last)
		}
	}
}

// The caller's context is over: what is known of the call, and why it ended.
func ended(ctx context.Context, last *Error) *Error {
	copied := *last
	copied.cause = ctx.Err()
	return &copied
}

func (c *Client) headerOf(ctx context.Context, r *request, timeout time.Duration) http.Header {
	header := make(http.Header, len(c.header)+len(r.header)+4)
	for name, values := range c.header {
		header[name] = values
	}
	if r.body != nil {
		header["Content-Type"] = []string{r.contentType}
	}
	if r.expect == expectJSON {
		header["Accept"] = []string{"application/json"}
	}
	for name, values := range r.header {
		header[name] = values
	}
	// How long the server may try: its answer tells more than none.
	tries := longer(time.Millisecond, timeout-shorter(onTheWay, timeout/10))
	header["Once-Timeout"] = []string{strconv.FormatInt(tries.Milliseconds(), 10) + "ms"}
	c.inject(ctx, header)
	return header
}

func (c *Client) tellRequest(r *request, got reply, found verdict, tries int, took time.Duration) {
	if c.options.OnNotice == nil {
		return
	}
	path, _, _ := strings.Cut(r.target, "?")
	fields := map[string]any{"method": r.method, "path": path, "tries": tries, "seconds": took.Seconds()}
	if got.answer != nil {
		fields["status"] = got.answer.Status
	}
	if found.err != nil {
		fields["code"] = found.err.Code
	}
	c.tell("request", fields)
}

// The JSON of an answer, into `into` unless that is nil.
func (c *Client) ask(ctx context.Context, r *request, into any) (*Answer, error) {
	answer, err := c.call(ctx, r)
	if err != nil || into == nil {
		return answer, err
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		strange := caused("unknown", err, "the answer is not what this call is answered with")
		if r.reads() {
			strange.Code = "unavailable"
		}
		strange.Status = answer.Status
		return nil, strange
	}
	return answer, nil
}

func get(target string) *request { return &request{method: http.MethodGet, target: target} }

// A request whose body is JSON. Values that are none are an error before anything is sent.
func withJSON(method, target string, body any) (*request, error) {
	encoded, err := encode(body)
	if err != nil {
		return nil, err
	}
	return &request{method: method, target: target, body: encoded, contentType: "application/json"}, nil
}

func (c *Client) post(ctx context.Context, target string, body, into any) (*Answer, error) {
	r, err := withJSON(http.MethodPost, target, body)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, r, into)
}

// Compact JSON, with < and & as they are.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, caused("invalid", err, "not JSON")
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Pauses with full jitter: anywhere between nothing and a bound, which doubles.
type backoff struct {
	mutex          *sync.Mutex
	chance         *rand.Rand
	first, longest time.Duration
	bound          time.Duration
}

func (c *Client) newBackoff(first, longest time.Duration) *backoff {
	return &backoff{&c.chanceMutex, c.chance, first, longest, first}
}

func (b *backoff) next() time.Duration {
	b.mutex.Lock()
	pause := time.Duration(b.chance.Int63n(int64(b.bound) + 1))
	b.mutex.Unlock()
	b.bound = shorter(b.longest, b.bound*2)
	return pause
}

func (b *backoff) reset() { b.bound = b.first }

// False if the context ended first.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
