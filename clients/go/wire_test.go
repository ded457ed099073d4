package once_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"once"
)

const (
	firstSeen  = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"first\":[true]}"
	noContent  = "HTTP/1.1 204 No Content\r\n\r\n"
	noToken    = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/problem+json\r\nContent-Length: 23\r\n\r\n{\"code\":\"unauthorized\"}"
	appendedAt = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"first\":1,\"last\":1}"
	closes     = ""
)

// A server that answers the nth request of the mth connection with what it is told to, or closes the connection.
type scripted struct {
	url               string
	closesAfterAnswer bool

	mutex sync.Mutex
	asked []string      // Guarded: method and path of each request.
	heads []http.Header // Guarded.
}

func newScripted(t *testing.T, answer func(connection, request int) string) *scripted {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	s := &scripted{url: "http://" + listener.Addr().String()}
	go func() {
		for connection := 0; ; connection++ {
			accepted, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(accepted, connection, answer)
		}
	}()
	return s
}

func (s *scripted) serve(connection net.Conn, number int, answer func(connection, request int) string) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	for n := 0; ; n++ {
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		s.mutex.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		s.heads = append(s.heads, r.Header)
		s.mutex.Unlock()
		text := answer(number, n)
		if text == closes {
			return
		}
		fmt.Fprint(connection, text)
		if s.closesAfterAnswer {
			return
		}
	}
}

func (s *scripted) requests() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]string(nil), s.asked...)
}

func (s *scripted) head(n int) http.Header {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.heads[n]
}

func TestWhatMayNotBeSentTwiceHasAConnectionOfItsOwn(t *testing.T) {
	s := newScripted(t, func(connection, request int) string {
		switch {
		case request > 0:
			return closes
		case connection == 0:
			return firstSeen
		}
		return noContent
	})
	client := connect(t, s.url, once.Options{})
	must[[]bool](t)(client.Seen(ctx, "a")) // Leaves a connection behind, on which the next request is lost.
	check(t, client.Claim("k").Forget(ctx))
	same(t, s.requests(), []string{"POST /v1/seen", "DELETE /v1/claims/k"})
}

func TestARepeatByTheStandardLibraryDoesNotHideALostAnswer(t *testing.T) {
	for name, call := range map[string]func(*once.Client) error{
		"a deletion": func(c *once.Client) error { _, err := c.Document("d").Delete(ctx, once.IfMatch("e")); return err },
		"a put":      func(c *once.Client) error { _, err := c.Document("d").Put(ctx, 1, once.Create()); return err },
		"an append":  func(c *once.Client) error { _, err := c.Log("l").Append(ctx, []any{1}); return err },
	} {
		// The second request on the first connection is lost, so that nobody knows whether it happened; then the token is revoked.
		s := newScripted(t, func(connection, request int) string {
			switch {
			case connection == 0 && request == 0:
				return firstSeen
			case connection == 0:
				return closes
			}
			return noToken
		})
		client := connect(t, s.url, once.Options{})
		must[[]bool](t)(client.Seen(ctx, "a"))
		if err := call(client); !errors.Is(err, once.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATraceAndTheTimeOfATryArePassedOn(t *testing.T) {
	s := newScripted(t, func(int, int) string { return firstSeen })
	client := connect(t, s.url+"/behind/a/gateway/", once.Options{Timeout: 5 * time.Second})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	must[[]bool](t)(client.Seen(once.WithTraceparent(ctx, parent, "a=b"), "a"))
	same(t, s.requests(), []string{"POST /behind/a/gateway/v1/seen"})
	head := s.head(0)
	same(t, []string{head.Get("Traceparent"), head.Get("Tracestate"), head.Get("Once-Timeout")}, []string{parent, "a=b", "4500ms"})
	must[[]bool](t)(client.Seen(once.WithTraceparent(ctx, "bad\r\nheader", ""), "a"))
	equal(t, s.head(1).Get("Traceparent"), "")
}

func TestTheMiddlewarePassesTheTraceOfARequestOn(t *testing.T) {
	s := newScripted(t, func(int, int) string { return closes })
	client := connect(t, s.url, once.Options{Patience: -1})
	r := httptest.NewRequest("POST", "/", strings.NewReader(""))
	r.Header.Set("Idempotency-Key", "k")
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	once.Middleware(client, http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
	equal(t, s.head(0).Get("Traceparent"), r.Header.Get("Traceparent"))
}

func TestACallersEndIsNotWaitedForInVain(t *testing.T) {
	hangs := make(chan bool)
	defer close(hangs)
	s := newScripted(t, func(int, int) string { <-hangs; return closes })
	client := connect(t, s.url, once.Options{})
	over, cancel := context.WithCancel(ctx)
	go func() {
		waitUntil(t, func() bool { return len(s.requests()) == 1 })
		cancel()
	}()
	_, err := client.Log("l").Append(over, []any{1})
	equal(t, errors.Is(err, once.ErrUnknown), true) // It was sent.
	equal(t, errors.Is(err, context.Canceled), true)
	equal(t, len(s.requests()), 1)
}

func TestAClaimThatTheServerLetsThroughUnguardedRunsAndRecordsItsEffectsOnly(t *testing.T) {
	unguarded := `{"state":"unguarded"}`
	s := newScripted(t, func(connection, request int) string {
		if request == 0 {
			return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(unguarded), unguarded)
		}
		return strings.Replace(appendedAt, "201 Created", "200 OK", 1)
	})
	client := connect(t, s.url, once.Options{})
	out := must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{}, func(_ context.Context, a *once.Attempt) (any, error) {
		a.Effects.Append("l", 1)
		return "done", nil
	}))
	equal(t, string(out.Result), `"done"`)
	same(t, s.requests(), []string{"POST /v1/claims/k", "POST /v1/commit"})
}

func TestAFollowerIsNotToldAnEventTwiceByAServerThatRepeatsIt(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	s := newScripted(t, func(connection, request int) string {
		switch {
		case request > 0:
			return closes
		case connection == 0:
			return head + "id: 1\ndata: {\"index\":1,\"data\":\"a\"}\n\n"
		}
		return head + "id: 1\ndata: {\"index\":1,\"data\":\"a\"}\n\n:\n\nid: 2\ndata: {\"index\":2,\"data\":\"b\"}\n\nevent: end\ndata: {}\n\n"
	})
	s.closesAfterAnswer = true
	var seen []string
	for event := range connect(t, s.url, once.Options{}).Log("l").Follow(ctx) {
		seen = append(seen, string(event.Data))
	}
	same(t, seen, []string{`"a"`, `"b"`})
}

func TestTheEndOfALeaseIsToldEvenIfARenewalHangs(t *testing.T) {
	t.Parallel()
	hangs := make(chan bool)
	var working atomic.Bool // A slow claim may be renewed before the work begins.
	client := newClient(t, once.Options{OnNotice: func(n once.Notice) {
		if path, _ := n.Fields["path"].(string); working.Load() && strings.HasSuffix(path, "/renew") {
			<-hangs
		}
	}})
	_, err := client.Run(ctx, "k", once.RunOptions{Lease: longLease}, func(inside context.Context, _ *once.Attempt) (any, error) {
		working.Store(true)
		select {
		case <-inside.Done():
		case <-time.After(patience):
			t.Error("the work was not told")
		}
		close(hangs)
		return nil, inside.Err()
	})
	equal(t, errors.Is(err, once.ErrFenced), true)
}

func TestAReadWhoseAnswerIsLostIsUnavailableAndNotUnknown(t *testing.T) {
	t.Parallel()
	s := newScripted(t, func(int, int) string { return closes })
	client := connect(t, s.url, once.Options{Patience: 3 * time.Second}) // In less time it might not be sent at all.
	_, err := client.ReadTallies(ctx, []string{"a"})
	equal(t, errors.Is(err, once.ErrUnavailable), true)
	_, err = client.Log("l").Read(ctx)
	equal(t, errors.Is(err, once.ErrUnavailable), true)
	_, err = client.Seen(ctx, "a")
	equal(t, errors.Is(err, once.ErrUnknown), true)
}
