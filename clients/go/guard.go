package once

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
)

// The rules of `once proxy` for one request with an Idempotency-Key.
//
// The first request goes through; its status, headers and body are stored and replayed. If nobody knows what became of a
// request, its key is refused until it is forgotten: the claim has a lease of 29 days and the time that a request may take;
// once only the 29 days are left, its outcome is unknown.

const (
	hold         = 29 * 24 * time.Hour
	mostOfKey    = 255
	storePatient = 10 * time.Second // A caller waits: it is told 503 before it gives up by itself.
)

// Rules of a Middleware. The names are those of the proxy's options; the zero value is good.
type Rules struct {
	RequireKey      bool          // A request without a key is 400.
	IdentityHeaders []string      // Besides Authorization, Cookie and X-Api-Key: whose values tell callers apart.
	Retry5xx        bool          // Answers of 500 and more free the key.
	RetryUnknown    bool          // A request whose outcome is unknown may be done again.
	ProceedUnstored bool          // Without a store requests go through unguarded; otherwise they are 503.
	TTL             time.Duration // How long an answer is replayed: 24h.
	MaxBody         int64         // Bytes of a request with a key: 1 MiB.
	MaxAnswer       int           // Bytes of an answer that is stored: 512 KiB. A longer one is not replayed, and not done again.
	Lease           time.Duration // Renewed while the request is worked on: 60s.
	Methods         []string      // POST and PATCH.
}

func (r Rules) completed() Rules {
	if r.TTL == 0 {
		r.TTL = defaultTTL
	}
	if r.MaxBody == 0 {
		r.MaxBody = 1 << 20
	}
	if r.MaxAnswer == 0 {
		r.MaxAnswer = 512 << 10
	}
	if r.Lease == 0 {
		r.Lease = 60 * time.Second
	}
	if r.Methods == nil {
		r.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	return r
}

// Whether a request with such an answer may be tried again.
func (r Rules) frees(status int) bool {
	switch status {
	case 401, 403, 429, 503:
		return true
	}
	return r.Retry5xx && status >= 500
}

// How long a claim is asked for. Where unknown ones may be done again, it ends like any other.
func (r Rules) lease() time.Duration {
	if r.RetryUnknown {
		return r.Lease
	}
	return hold + r.Lease
}

// The key, quoted as a string of RFC 8941 or not. Empty if no key was sent.
func keyOf(header http.Header) (string, error) {
	given := header.Values("Idempotency-Key")
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 {
		return "", errors.New("Idempotency-Key is there twice")
	}
	key := strings.TrimSpace(given[0])
	if strings.HasPrefix(key, `"`) {
		var ok bool
		if key, ok = unquotedKey(key); !ok {
			return "", errors.New("Idempotency-Key is not a string in quotes")
		}
	}
	switch {
	case key == "":
		return "", errors.New("Idempotency-Key is empty")
	case len(key) > mostOfKey:
		return "", errors.New("Idempotency-Key has more than 255 characters")
	case !isPrintable(key):
		return "", errors.New("Idempotency-Key has other than printable ASCII")
	}
	return key, nil
}

func unquotedKey(text string) (string, bool) {
	if len(text) < 2 || !strings.HasSuffix(text, `"`) {
		return "", false
	}
	text = text[1 : len(text)-1]
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '"' {
			return "", false
		}
		if c == '\\' {
			if i++; i == len(text) || (text[i] != '"' && text[i] != '\\') {
				return "", false
			}
			c = text[i]
		}
		out.WriteByte(c)
	}
	return out.String(), true
}

// http/SCOPE/KEY. The scope is a digest of the resource and of who asks; no secret is stored.
func claimName(r *http.Request, key string, rules Rules) string {
	target := r.RequestURI
	if !strings.HasPrefix(target, "/") {
		target = r.URL.RequestURI()
	}
	type pair struct{ name, value string }
	var who []pair
	for _, name := range append([]string{"Authorization", "Cookie", "X-Api-Key"}, rules.IdentityHeaders...) {
		for _, value := range r.Header.Values(name) {
			who = append(who, pair{strings.ToLower(name), value})
		}
	}
	sort.Slice(who, func(i, j int) bool {
		return who[i].name < who[j].name || (who[i].name == who[j].name && who[i].value < who[j].value)
	})
	parts := []string{r.Method, target}
	for _, one := range who {
		parts = append(parts, one.name, one.value)
	}
	scope := sha256.New()
	for _, part := range parts {
		_ = binary.Write(scope, binary.BigEndian, uint64(len(part)))
		scope.Write([]byte(part))
	}
	return "http/" + hex.EncodeToString(scope.Sum(nil))[:32] + "/" + key
}

// An answer to the caller.
type httpAnswer struct {
	Status  int         `json:"status"`
	Headers [][2]string `json:"headers"`
	Body    *string     `json:"body,omitempty"` // Base64. Nil: it was too large to be kept.
	Bytes   int         `json:"bytes,omitempty"`
}

func (a *httpAnswer) write(w http.ResponseWriter, body []byte) {
	for _, one := range a.Headers {
		w.Header().Add(one[0], one[1])
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(body)
}

// An answer of the guard itself.
func writeProblem(w http.ResponseWriter, status int, code, detail string, more map[string]any) {
	body := map[string]any{"status": status, "title": http.StatusText(status), "detail": detail, "code": code}
	for name, value := range more {
		body[name] = value
	}
	encoded, _ := encode(body)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
	w.WriteHeader(status)
	_, _ = w.Write(encoded)
}

// One request with a key.
type guard struct {
	client *Client // With the patience of a caller that waits.
	rules  Rules
	name   string
	digest string // Of the body.
}

func newGuard(client *Client, rules Rules, name string, body []byte) *guard {
	sum := sha256.Sum256(body)
	return &guard{client, rules, name, hex.EncodeToString(sum[:])}
}

// A ticket: it goes through. Neither ticket nor answered: it goes through unguarded.
func (g *guard) enter(ctx context.Context, w http.ResponseWriter) (ticket *Ticket, answered bool) {
	ticket, finished, err := g.client.take(ctx, g.name, TakeOptions{
		Lease: g.rules.lease(), TTL: g.rules.TTL, Payload: g.digest, Owner: g.client.options.Owner + ", body " + g.digest,
	})
	var refused *Error
	errors.As(err, &refused)
	switch {
	case errors.Is(err, ErrMismatch):
		g.otherBody(w)
	case errors.Is(err, ErrBusy):
		g.busy(w, refused)
	case err != nil && g.rules.ProceedUnstored && isUncertain(err):
		return nil, false
	case err != nil:
		w.Header().Set("Retry-After", "1")
		writeProblem(w, http.StatusServiceUnavailable, "unavailable", "nothing was done: "+err.Error(), nil)
	case finished != nil:
		g.replay(w, finished)
	case ticket.Guarded:
		return ticket, false
	default:
		return nil, false
	}
	return nil, true
}

func (g *guard) otherBody(w http.ResponseWriter) {
	writeProblem(w, http.StatusUnprocessableEntity, "mismatch", "this Idempotency-Key was used with another body", nil)
}

func (g *guard) busy(w http.ResponseWriter, busy *Error) {
	if !strings.HasSuffix(busy.Owner, g.digest) {
		g.otherBody(w)
		return
	}
	if g.rules.RetryUnknown || busy.LeaseUntil.IsZero() || busy.LeaseUntil.Add(-hold).After(time.Now()) {
		w.Header().Set("Retry-After", "1")
		writeProblem(w, http.StatusConflict, "busy", "a request with this Idempotency-Key is in flight", nil)
		return
	}
	writeProblem(w, http.StatusBadGateway, "unknown",
		"what became of the request with this key is unknown; it is not done again until its claim is forgotten",
		map[string]any{"claim": g.name})
}

func (g *guard) replay(w http.ResponseWriter, found *Finished) {
	var stored httpAnswer
	_ = json.Unmarshal(found.Result, &stored)
	w.Header().Set("Idempotent-Replayed", "true")
	if stored.Body == nil || stored.Status < 200 {
		writeProblem(w, http.StatusConflict, "too_large", "the request was carried out, but its answer was too large to be stored",
			map[string]any{"upstream_status": stored.Status, "upstream_bytes": stored.Bytes, "claim": g.name})
		return
	}
	body, err := base64.StdEncoding.DecodeString(*stored.Body)
	if err != nil {
		writeProblem(w, http.StatusInternalServerError, "corrupt", "the stored answer is damaged", map[string]any{"claim": g.name})
		return
	}
	stored.write(w, body)
}

// Stores the answer, or frees the key. body is nil if it was too large to be kept. If storing fails, the answer is sent all the
// same, and the key is refused from then on.
func (g *guard) leave(ctx context.Context, ticket *Ticket, answer httpAnswer, body []byte, size int) {
	var err error
	if g.rules.frees(answer.Status) {
		err = g.client.release(ctx, g.name, ticket.Ticket, nil, false, nil)
	} else {
		without := httpAnswer{Status: answer.Status, Headers: [][2]string{}, Bytes: size}
		whole := without
		if body != nil {
			text := base64.StdEncoding.EncodeToString(body)
			whole = httpAnswer{Status: answer.Status, Headers: answer.Headers, Body: &text}
		}
		if err = g.store(ctx, ticket, whole); errors.Is(err, ErrTooLarge) && body != nil {
			err = g.store(ctx, ticket, without)
		}
	}
	g.tellUnlessNil(err)
}

func (g *guard) store(ctx context.Context, ticket *Ticket, answer httpAnswer) error {
	encoded, err := encode(answer)
	if err != nil {
		return err
	}
	_, err = g.client.recordResult(ctx, g.name, ticket.Ticket, encoded)
	return err
}

// Nobody knows what became of it: refused from now on, or free if that was asked for.
func (g *guard) abandon(ctx context.Context, ticket *Ticket) {
	if g.rules.RetryUnknown {
		g.free(ctx, ticket)
		return
	}
	g.tellUnlessNil(g.client.renew(ctx, g.name, ticket.Ticket, hold-time.Second, nil))
}

// The next request with this key goes through.
func (g *guard) free(ctx context.Context, ticket *Ticket) {
	g.tellUnlessNil(g.client.release(ctx, g.name, ticket.Ticket, nil, false, nil))
}

func (g *guard) tellUnlessNil(err error) {
	var refused *Error
	if errors.As(err, &refused) {
		g.client.tell("answer_not_stored", map[string]any{"key": g.name, "code": refused.Code})
	}
}
