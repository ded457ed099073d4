package once

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Middleware gives a service what `once proxy` gives it from outside: a POST or PATCH with an Idempotency-Key takes effect
// once, and repeats get the same status, headers and body, without Set-Cookie and with Idempotent-Replayed: true. While
// the first is in flight others are 409; another body under the same key is 422. Answers 401, 403, 429 and 503 free the key.
//
// A request with a key is carried out to its end even if its caller hangs up, because the caller will ask again: the
// context of the request does not end then. Its answer is held until it is stored, so a handler cannot stream or hijack it;
// one that is longer than MaxAnswer is sent as it comes, and not replayed.
//
// A handler that panics is as one that answered 500; with http.ErrAbortHandler its outcome is unknown.
func Middleware(client *Client, handler http.Handler, rules ...Rules) http.Handler {
	var given Rules
	if len(rules) > 0 {
		given = rules[0]
	}
	m := &middleware{client: client.withPatience(storePatient), handler: handler, rules: given.completed()}
	return m
}

// The same client, less patient.
func (c *Client) withPatience(most time.Duration) *Client {
	return &Client{
		options: c.options.withPatience(shorter(c.options.Patience, most)), header: c.header, transport: c.transport,
		chance: newChance(),
	}
}

func (o Options) withPatience(patience time.Duration) Options {
	o.Patience = patience
	return o
}

type middleware struct {
	client  *Client
	handler http.Handler
	rules   Rules
}

func (m *middleware) guards(method string) bool {
	for _, one := range m.rules.Methods {
		if one == method {
			return true
		}
	}
	return false
}

// ServeHTTP lets a request through, replays its answer, or refuses it.
func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !m.guards(r.Method) {
		m.handler.ServeHTTP(w, r)
		return
	}
	key, err := keyOf(r.Header)
	if err != nil {
		writeProblem(w, http.StatusBadRequest, "invalid", err.Error(), nil)
		return
	}
	if key == "" {
		if m.rules.RequireKey {
			writeProblem(w, http.StatusBadRequest, "invalid", strings.Join(m.rules.Methods, " and ")+" need an Idempotency-Key here", nil)
			return
		}
		m.handler.ServeHTTP(w, r)
		return
	}
	var body []byte
	if r.Body != nil {
		body, err = io.ReadAll(io.LimitReader(r.Body, m.rules.MaxBody+1))
	}
	if err != nil {
		writeProblem(w, http.StatusBadRequest, "invalid", "the body of the request broke off", nil)
		return
	}
	if int64(len(body)) > m.rules.MaxBody {
		detail := "the body of a request with a key has at most " + strconv.FormatInt(m.rules.MaxBody, 10) + " bytes"
		writeProblem(w, http.StatusRequestEntityTooLarge, "too_large", detail, nil)
		return
	}
	m.keyed(w, r, key, body)
}

func (m *middleware) keyed(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	// Also the claim is not left half taken by a caller that hangs up: nobody would know what became of it.
	ctx := detached{WithTraceparent(r.Context(), r.Header.Get("Traceparent"), r.Header.Get("Tracestate"))}
	g := newGuard(m.client, m.rules, claimName(r, key, m.rules), body)
	ticket, answered := g.enter(ctx, w)
	if answered {
		return
	}
	if ticket != nil && r.Context().Err() != nil { // It hung up meanwhile. Nothing was done, so that it may ask again.
		g.free(ctx, ticket)
		return
	}
	again := r.WithContext(ctx)
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.ContentLength = int64(len(body))
	if ticket == nil {
		m.handler.ServeHTTP(w, again)
		return
	}
	m.guarded(w, again, g, ticket)
}

func (m *middleware) guarded(w http.ResponseWriter, r *http.Request, g *guard, ticket *Ticket) {
	ctx := r.Context()
	// Losing the lease does not stop the service: what it does is done all the same.
	keeper := m.client.keep(ctx, ticket, newLease(ticket.asked, m.rules.Lease), m.rules.lease(), func(string) {})
	defer keeper.stop()
	answer := &heldAnswer{to: w, header: http.Header{}, most: m.rules.MaxAnswer}
	returned := false
	defer func() {
		if returned {
			return
		}
		// It panics. Whether it is told to abort is known only by stopping the panic, which then goes on.
		why := recover()
		if why == nil || why == http.ErrAbortHandler || answer.begun {
			g.abandon(ctx, ticket)
		} else {
			m.fail(ctx, g, ticket)
		}
		if why != nil {
			panic(why)
		}
	}()
	m.handler.ServeHTTP(answer, r)
	returned = true
	answer.complete()
	var kept []byte
	if !answer.begun {
		kept = answer.body.Bytes()
		if kept == nil {
			kept = []byte{}
		}
	}
	g.leave(ctx, ticket, httpAnswer{Status: answer.status, Headers: answer.stored()}, kept, answer.size)
	answer.send()
}

// As a server answers a handler that panicked, and that is an answer like any other.
func (m *middleware) fail(ctx context.Context, g *guard, ticket *Ticket) {
	body := []byte("Internal Server Error\n")
	headers := [][2]string{{"Content-Type", "text/plain; charset=utf-8"}}
	g.leave(ctx, ticket, httpAnswer{Status: http.StatusInternalServerError, Headers: headers}, body, len(body))
}

// An answer that is held until it is stored. One that is too large is sent as it comes.
type heldAnswer struct {
	to     http.ResponseWriter
	header http.Header
	most   int

	status int
	frozen http.Header // The headers as they were when the status was given.
	body   bytes.Buffer
	size   int
	begun  bool // Something was sent to the caller.
}

// Header is what is sent with the status.
func (a *heldAnswer) Header() http.Header { return a.header }

// WriteHeader fixes status and headers. Informational ones are left out.
func (a *heldAnswer) WriteHeader(status int) {
	if a.status != 0 || (status >= 100 && status < 200) {
		return
	}
	a.status, a.frozen = status, a.header.Clone()
}

// Write adds to the body.
func (a *heldAnswer) Write(piece []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.size += len(piece)
	if a.begun {
		return a.to.Write(piece)
	}
	a.body.Write(piece)
	if a.body.Len() > a.most {
		a.begin()
	}
	return len(piece), nil
}

// Flush sends nothing before the answer is stored.
func (a *heldAnswer) Flush() {
	if flusher, can := a.to.(http.Flusher); can && a.begun {
		flusher.Flush()
	}
}

func (a *heldAnswer) begin() {
	a.begun = true
	a.sniff()
	for name, values := range a.frozen {
		a.to.Header()[name] = values
	}
	a.to.WriteHeader(a.status)
	_, _ = a.to.Write(a.body.Bytes())
	a.body = bytes.Buffer{}
}

func (a *heldAnswer) complete() { a.WriteHeader(http.StatusOK) }

func (a *heldAnswer) send() {
	if !a.begun {
		a.begin()
	}
}

// As net/http would do, so that a replay has it from the beginning.
func (a *heldAnswer) sniff() {
	if _, has := a.frozen["Content-Type"]; !has && a.body.Len() > 0 && a.frozen.Get("Content-Encoding") == "" {
		a.frozen.Set("Content-Type", http.DetectContentType(a.body.Bytes()))
	}
}

// The headers that are replayed, in order of their names.
func (a *heldAnswer) stored() [][2]string {
	a.sniff()
	kept := [][2]string{}
	for name, values := range a.frozen {
		if name == "Set-Cookie" || name == "Set-Cookie2" || strings.HasPrefix(name, http.TrailerPrefix) {
			continue
		}
		for _, value := range values {
			kept = append(kept, [2]string{name, value})
		}
	}
	sort.SliceStable(kept, func(i, j int) bool { return kept[i][0] < kept[j][0] })
	return kept
}
