package once_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"once"
)

// A service that counts its calls; what the headers of a request say happens.
type service struct {
	calls  atomic.Int64
	during func(*http.Request)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.calls.Add(1)
	body, _ := io.ReadAll(r.Body)
	if s.during != nil {
		s.during(r)
	}
	switch r.Header.Get("X-Do") {
	case "panic":
		panic("a bug")
	case "abort":
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("X-N", fmt.Sprint(n))
	w.Header().Add("Set-Cookie", "a=b")
	w.Header().Add("Vary", "A")
	w.Header().Add("Vary", "B")
	if r.Header.Get("X-Status") != "" {
		var status int
		fmt.Sscan(r.Header.Get("X-Status"), &status)
		w.WriteHeader(status)
	} else {
		w.WriteHeader(http.StatusCreated)
	}
	fmt.Fprintf(w, "did %s", body)
}

type answered struct {
	status int
	header http.Header
	body   string
	code   string // Of a problem.
	claim  string
}

func ask(t *testing.T, handler http.Handler, key, body string, headers ...string) answered {
	t.Helper()
	r := httptest.NewRequest("POST", "/pay?a=1", strings.NewReader(body))
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "path" {
			r.RequestURI = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if why := recover(); why != nil {
				w.Code = 0
				_, _ = w.WriteString(fmt.Sprint(why))
			}
		}()
		handler.ServeHTTP(w, r)
	}()
	got := answered{status: w.Code, header: w.Result().Header, body: w.Body.String()}
	var problem struct{ Code, Claim string }
	_ = json.Unmarshal(w.Body.Bytes(), &problem)
	got.code, got.claim = problem.Code, problem.Claim
	return got
}

func TestAnAnswerIsReplayedByteForByteWithoutCookies(t *testing.T) {
	s := &service{}
	handler := once.Middleware(newClient(t), s)
	first := ask(t, handler, "k", "x")
	again := ask(t, handler, `"k"`, "x")
	same(t, []any{first.status, first.body, first.header.Get("Set-Cookie")}, []any{201, "did x", "a=b"})
	same(t, []any{again.status, again.body, again.header["Set-Cookie"]}, []any{201, "did x", []string(nil)})
	same(t, again.header["Vary"], []string{"A", "B"})
	same(t, again.header["Content-Type"], first.header["Content-Type"])
	equal(t, again.header.Get("X-N")+again.header.Get("Idempotent-Replayed"), "1true")
	equal(t, s.calls.Load(), int64(1))
}

func TestTheScopeIsTheResourceAndTheCaller(t *testing.T) {
	s := &service{}
	handler := once.Middleware(newClient(t), s, once.Rules{RequireKey: true, IdentityHeaders: []string{"X-User"}})
	ask(t, handler, "k", "x")
	same(t, []any{ask(t, handler, "k", "y").status, ask(t, handler, "", "y").status, ask(t, handler, `"k`, "y").status,
		ask(t, handler, strings.Repeat("k", 256), "y").status}, []any{422, 400, 400, 400})
	for _, other := range []string{"Authorization", "Cookie", "X-Api-Key", "X-User"} {
		equal(t, ask(t, handler, "k", "y", other, "1").status, 201)
	}
	equal(t, ask(t, handler, "k", "y", "path", "/other").status, 201)
	r := httptest.NewRequest("GET", "/pay", nil)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	equal(t, w.Code, 201)
	equal(t, ask(t, once.Middleware(newClient(t), s), "", "x").status, 201)
}

func TestSomeAnswersFreeTheKey(t *testing.T) {
	s := &service{}
	handler := once.Middleware(newClient(t), s)
	for _, status := range []string{"401", "403", "429", "503", "500"} {
		equal(t, fmt.Sprint(ask(t, handler, "k", "x", "X-Status", status).status), status)
	}
	equal(t, ask(t, handler, "k", "x").status, 500)
	equal(t, s.calls.Load(), int64(5))
	retrying := once.Middleware(newClient(t), s, once.Rules{Retry5xx: true})
	ask(t, retrying, "k", "x", "X-Status", "500")
	equal(t, ask(t, retrying, "k", "x").status, 201)
}

func TestAHandlerThatPanicsAnsweredFiveHundred(t *testing.T) {
	handler := once.Middleware(newClient(t), &service{})
	equal(t, ask(t, handler, "k", "x", "X-Do", "panic").body, "a bug")
	equal(t, ask(t, handler, "k", "x").status, 500)
}

func TestAHandlerThatAbortsIsUnknownUntilItIsForgotten(t *testing.T) {
	client := newClient(t)
	handler := once.Middleware(client, &service{})
	ask(t, handler, "k", "x", "X-Do", "abort")
	refused := ask(t, handler, "k", "x")
	same(t, []any{refused.status, refused.code}, []any{502, "unknown"})
	check(t, client.Claim(refused.claim).Forget(ctx))
	equal(t, ask(t, handler, "k", "x").status, 201)
	retrying := once.Middleware(client, &service{}, once.Rules{RetryUnknown: true})
	ask(t, retrying, "k2", "x", "X-Do", "abort")
	equal(t, ask(t, retrying, "k2", "x").status, 201)
}

func TestAnAnswerThatIsTooLargeIsSentAndNotDoneAgain(t *testing.T) {
	s := &service{}
	handler := once.Middleware(newClient(t), s, once.Rules{MaxAnswer: 3, MaxBody: 5})
	equal(t, ask(t, handler, "k", "x").body, "did x")
	again := ask(t, handler, "k", "x")
	same(t, []any{again.status, again.code, s.calls.Load()}, []any{409, "too_large", 1})
	equal(t, ask(t, handler, "k", "123456").status, 413)
}

func TestARequestInFlightIsBusy(t *testing.T) {
	s := &service{}
	handler := once.Middleware(newClient(t), s)
	s.during = func(*http.Request) {
		s.during = nil
		busy := ask(t, handler, "k", "x")
		same(t, []any{busy.status, busy.code, busy.header.Get("Retry-After")}, []any{409, "busy", "1"})
		equal(t, ask(t, handler, "k", "y").status, 422)
	}
	equal(t, ask(t, handler, "k", "x").status, 201)
}

func TestWithoutAStoreItRefusesOrProceeds(t *testing.T) {
	s := &service{}
	nobody := connect(t, "http://127.0.0.1:1", once.Options{Patience: 50 * time.Millisecond})
	equal(t, ask(t, once.Middleware(nobody, s), "k", "x").status, 503)
	equal(t, s.calls.Load(), int64(0))
	equal(t, ask(t, once.Middleware(nobody, s, once.Rules{ProceedUnstored: true}), "k", "x").status, 201)
}

func TestARequestIsCarriedOutAlthoughItsCallerHangsUp(t *testing.T) {
	s := &service{}
	entered, finished := make(chan bool), make(chan error, 1)
	callers := make(chan context.Context, 10000) // The contexts of requests as they come in.
	var first sync.Once
	s.during = func(r *http.Request) {
		first.Do(func() {
			close(entered)
			<-(<-callers).Done() // The server has noticed that the caller hung up.
			finished <- r.Context().Err()
		})
	}
	guarded := once.Middleware(newClient(t), s)
	serving := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		callers <- r.Context()
		guarded.ServeHTTP(w, r)
	}))
	defer serving.Close()
	post := func(ctx context.Context) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, "POST", serving.URL+"/pay", strings.NewReader("x"))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Idempotency-Key", "k")
		return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	}
	impatient, hangUp := context.WithCancel(ctx)
	go func() { _, _ = post(impatient) }()
	<-entered
	hangUp()
	check(t, <-finished)
	waitUntil(t, func() bool {
		response, err := post(ctx)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == 201 && response.Header.Get("Idempotent-Replayed") == "true"
	})
	equal(t, s.calls.Load(), int64(1))
}

func TestACallerThatHangsUpWhileItsClaimIsTakenLeavesTheKeyFree(t *testing.T) {
	s := &service{}
	guarded := once.Middleware(newClient(t), s)
	over, hangUp := context.WithCancel(ctx)
	hangUp()
	r := httptest.NewRequest("POST", "/pay", strings.NewReader("x"))
	r.Header.Set("Idempotency-Key", "k")
	guarded.ServeHTTP(httptest.NewRecorder(), r.WithContext(over))
	equal(t, s.calls.Load(), int64(0))
	w := httptest.NewRecorder()
	r.Body = io.NopCloser(strings.NewReader("x"))
	guarded.ServeHTTP(w, r)
	same(t, []any{w.Code, s.calls.Load()}, []any{201, 1})
	r.Body = nil // As a request that was made by hand may have it.
	w = httptest.NewRecorder()
	once.Middleware(newClient(t), s).ServeHTTP(w, r)
	equal(t, w.Body.String(), "did ")
}
