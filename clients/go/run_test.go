package once_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"once"
)

type receipt struct {
	Number int    `json:"number"`
	Note   string `json:"note"`
}

// Of what waits for a renewal, which is due after a third: long enough for a machine that stalls.
const longLease = 9 * time.Second

func returning(value any) once.Work {
	return func(context.Context, *once.Attempt) (any, error) { return value, nil }
}

func TestACallersEndWhileTheClaimIsTakenLeavesTheKeyFree(t *testing.T) {
	behind, err := url.Parse(sharedServer(t))
	check(t, err)
	over, cancel := context.WithCancel(ctx)
	relay := httputil.NewSingleHostReverseProxy(behind)
	var first sync.Once
	relay.ModifyResponse = func(*http.Response) error { // The claim is taken, and its answer is lost.
		var held error
		first.Do(func() { cancel(); held = errors.New("held back") })
		return held
	}
	relay.ErrorLog = log.New(io.Discard, "", 0)
	front := httptest.NewServer(relay)
	defer front.Close()
	name := randomName()
	_, err = connect(t, front.URL, once.Options{}).Run(over, name, once.RunOptions{}, func(context.Context, *once.Attempt) (any, error) {
		t.Error("it ran")
		return nil, nil
	})
	equal(t, errors.Is(err, context.Canceled), true)
	record := must[*once.ClaimRecord](t)(connect(t, behind.String(), once.Options{}).Claim(name).Get(ctx))
	equal(t, record == nil, true)
}

func TestARunIsDoneOnceAndReplayed(t *testing.T) {
	client := newClient(t)
	work := func(_ context.Context, a *once.Attempt) (any, error) {
		if a.Fence <= 0 {
			t.Errorf("the fence is %d", a.Fence)
		}
		return receipt{int(a.Attempt), "<&>"}, nil
	}
	first := must[once.Outcome](t)(client.Run(ctx, "invoice-42", once.RunOptions{}, work))
	again := must[once.Outcome](t)(client.Run(ctx, "invoice-42", once.RunOptions{}, func(context.Context, *once.Attempt) (any, error) {
		return nil, errors.New("it ran again")
	}))
	same(t, []bool{first.Replayed, again.Replayed}, []bool{false, true})
	for _, out := range []once.Outcome{first, again} {
		var got receipt
		check(t, json.Unmarshal(out.Result, &got))
		equal(t, got, receipt{1, "<&>"})
	}
	if again.CompletedAt.IsZero() || first.Fence == 0 {
		t.Error("a replay tells when it was completed, and a run its fence")
	}
}

func TestWorkThatFailsFreesTheKeyAndTheNextAttemptIsToldWhy(t *testing.T) {
	client := newClient(t)
	own := errors.New("no such card")
	_, err := client.Run(ctx, "k", once.RunOptions{}, func(context.Context, *once.Attempt) (any, error) { return nil, own })
	equal(t, err, own)
	out := must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{}, func(_ context.Context, a *once.Attempt) (any, error) {
		return []any{a.Attempt, a.Previous.Failure}, nil
	}))
	equal(t, string(out.Result), `[2,"no such card"]`)
}

func TestWorkThatPanicsFreesTheKeyAndPanics(t *testing.T) {
	client := newClient(t)
	func() {
		defer func() { same(t, recover(), "a bug") }()
		_, _ = client.Run(ctx, "k", once.RunOptions{}, func(context.Context, *once.Attempt) (any, error) { panic("a bug") })
	}()
	equal(t, must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{}, returning(1))).Replayed, false)
}

func TestAResultThatIsNoJSONFreesTheKey(t *testing.T) {
	client := newClient(t)
	_, err := client.Run(ctx, "k", once.RunOptions{}, returning(make(chan int)))
	equal(t, errors.Is(err, once.ErrInvalid), true)
	equal(t, must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{}, returning(1))).Replayed, false)
}

func TestGivingUpIsFinalEvenIfTheWorkSwallowsIt(t *testing.T) {
	client := newClient(t)
	for i := 0; i < 2; i++ {
		_, err := client.Run(ctx, "k", once.RunOptions{}, func(_ context.Context, a *once.Attempt) (any, error) {
			_ = a.GiveUp(map[string]string{"why": "no funds"})
			return "went on", nil
		})
		var failed *once.Error
		if !errors.As(err, &failed) || !errors.Is(err, once.ErrFailed) {
			t.Fatal(err)
		}
		equal(t, failed.Code+string(failed.Failure), `failed{"why":"no funds"}`)
	}
}

func TestBusyTellsWhoAndUntilWhen(t *testing.T) {
	client := newClient(t)
	_, err := client.Run(ctx, "k", once.RunOptions{}, func(ctx context.Context, _ *once.Attempt) (any, error) {
		_, err := client.Run(ctx, "k", once.RunOptions{}, returning(1))
		var busy *once.Error
		if !errors.Is(err, once.ErrBusy) || !errors.As(err, &busy) || busy.Owner == "" || busy.LeaseUntil.IsZero() {
			t.Errorf("%#v", err)
		}
		return nil, nil
	})
	check(t, err)
}

func TestWaitingEndsWhenTheOtherIsDone(t *testing.T) {
	client := newClient(t)
	started, goOn := make(chan bool), make(chan bool)
	first := make(chan error, 1)
	go func() {
		_, err := client.Run(ctx, "k", once.RunOptions{}, func(context.Context, *once.Attempt) (any, error) {
			close(started)
			<-goOn
			return "first", nil
		})
		first <- err
	}()
	<-started
	_, err := client.Run(ctx, "k", once.RunOptions{}, returning("second"))
	equal(t, errors.Is(err, once.ErrBusy), true)
	time.AfterFunc(100*time.Millisecond, func() { close(goOn) }) // Most likely while the other waits; right in any case.
	out := must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{Wait: 20 * time.Second}, returning("second")))
	check(t, <-first)
	equal(t, string(out.Result), `"first"`)
	equal(t, out.Replayed, true)
}

func TestAnotherPayloadIsAMismatch(t *testing.T) {
	client := newClient(t)
	must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{Payload: map[string]int{"a": 1, "b": 2}}, returning(1)))
	out := must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{Payload: json.RawMessage(`{"b": 2, "a": 1}`)}, returning(2)))
	equal(t, out.Replayed, true)
	_, err := client.Run(ctx, "k", once.RunOptions{Payload: map[string]int{"a": 1}}, returning(3))
	equal(t, errors.Is(err, once.ErrMismatch), true)
}

func TestTheContextOfTheWorkEndsWhenTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	_, err := client.Run(ctx, "k", once.RunOptions{Lease: longLease}, func(inside context.Context, a *once.Attempt) (any, error) {
		check(t, client.Claim("k").Forget(ctx))
		select {
		case <-inside.Done():
		case <-time.After(patience):
			t.Error("the context did not end")
		}
		<-a.Lost()
		equal(t, errors.Is(a.Check(), once.ErrFenced), true)
		return nil, inside.Err()
	})
	equal(t, errors.Is(err, once.ErrFenced), true)
	equal(t, errors.Is(err, context.Canceled), true)
}

func TestALongWorkKeepsItsLease(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	out := must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{Lease: longLease},
		func(inside context.Context, a *once.Attempt) (any, error) {
			record := must[*once.ClaimRecord](t)(client.Claim("k").Get(ctx))
			for first := record.LeaseUntil; record.LeaseUntil.Sub(first) <= longLease/2; { // Until it was renewed twice.
				select {
				case <-inside.Done():
					return nil, inside.Err()
				case <-time.After(20 * time.Millisecond):
				}
				record = must[*once.ClaimRecord](t)(client.Claim("k").Get(ctx))
			}
			return []any{record.State, record.Fence == a.Fence, inside.Err() == nil}, nil
		}))
	equal(t, string(out.Result), `["busy",true,true]`)
}

func TestACallersEndReachesTheWorkAndFreesTheKey(t *testing.T) {
	client := newClient(t)
	outside, cancel := context.WithCancel(ctx)
	_, err := client.Run(outside, "k", once.RunOptions{}, func(inside context.Context, _ *once.Attempt) (any, error) {
		cancel()
		<-inside.Done()
		return nil, inside.Err()
	})
	equal(t, err, context.Canceled)
	equal(t, must[*once.ClaimRecord](t)(client.Claim("k").Get(ctx)).State, "free")
}

func TestAResultIsRecordedAlthoughTheCallersContextIsOver(t *testing.T) {
	client := newClient(t)
	outside, cancel := context.WithCancel(ctx)
	out, err := client.Run(outside, "k", once.RunOptions{}, func(_ context.Context, a *once.Attempt) (any, error) {
		cancel()
		a.Effects.Count("done", 1)
		return "done", nil
	})
	check(t, err)
	equal(t, string(out.Result), `"done"`)
	equal(t, must[int64](t)(client.Tally("done").Value(ctx)), int64(1))
	_, err = client.Run(outside, "other", once.RunOptions{}, returning(1))
	equal(t, errors.Is(err, context.Canceled), true)
	equal(t, must[*once.ClaimRecord](t)(client.Claim("other").Get(ctx)) == nil, true)
}

func TestAKeyWithoutTTLIsALock(t *testing.T) {
	client := newClient(t)
	for i := 0; i < 2; i++ {
		out := must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{TTL: once.KeepNothing}, returning(i)))
		equal(t, out.Replayed, false)
	}
}

func TestEffectsAreAllOrNothing(t *testing.T) {
	client := newClient(t)
	etag := must[string](t)(client.Document("doc").Put(ctx, 1, once.Create()))
	must[string](t)(client.Document("doc").Put(ctx, 2, once.IfMatch(etag)))
	_, err := client.Run(ctx, "k", once.RunOptions{}, func(_ context.Context, a *once.Attempt) (any, error) {
		a.Effects.Append("ledger", 1).Add("revenue", 1900).Put("doc", 3, once.IfMatch(etag))
		return nil, nil
	})
	equal(t, errors.Is(err, once.ErrPreconditionFailed), true)
	equal(t, len(must[[]once.Event](t)(client.Log("ledger").Read(ctx))), 0)
	_, err = client.Tally("revenue").Value(ctx)
	equal(t, errors.Is(err, once.ErrNotFound), true)
	out := must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{}, func(_ context.Context, a *once.Attempt) (any, error) {
		a.Effects.Append("ledger", []any{1}).Add("revenue", 1900).Put("doc", 3)
		return nil, nil
	}))
	equal(t, out.Replayed, false) // The key was free at once.
	equal(t, string(must[*once.Snapshot](t)(client.Document("doc").Get(ctx)).Value), "3")
	equal(t, string(must[[]once.Event](t)(client.Log("ledger").Read(ctx))[0].Data), "1")
	equal(t, must[int64](t)(client.Tally("revenue").Value(ctx)), int64(1900))
}

func TestWhatIsWrongWithEffectsIsToldByTheRunAndFreesTheKey(t *testing.T) {
	client := newClient(t)
	for _, add := range []func(*once.Effects){
		func(e *once.Effects) { e.Append("l") },
		func(e *once.Effects) { e.Append("", 1) },
		func(e *once.Effects) { e.Add("t", "x", once.ID("no")) },
		func(e *once.Effects) { e.Add("t", true) },
		func(e *once.Effects) { e.Put("d", func() {}) },
	} {
		_, err := client.Run(ctx, "k", once.RunOptions{}, func(_ context.Context, a *once.Attempt) (any, error) {
			add(a.Effects)
			return nil, nil
		})
		equal(t, errors.Is(err, once.ErrInvalid), true)
	}
	equal(t, must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{}, returning(1))).Replayed, false)
}

func TestAnIdempotentFunctionRunsOnceForEachKey(t *testing.T) {
	client := newClient(t)
	type invoice struct{ ID, Cents int }
	var calls atomic.Int64
	pay := once.Idempotent(client, func(i invoice) string { return "invoice-" + string(rune('0'+i.ID)) },
		func(ctx context.Context, i invoice) (receipt, error) {
			calls.Add(1)
			once.CurrentAttempt(ctx).Effects.Add("paid", i.Cents)
			return receipt{Number: i.ID}, nil
		}, once.RunOptions{Payload: func(i invoice) any { return i.Cents }, Wait: 20 * time.Second})
	var all sync.WaitGroup
	for n := 0; n < 8; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			equal(t, must[receipt](t)(pay(ctx, invoice{1, 5})), receipt{Number: 1})
		}()
	}
	all.Wait()
	must[receipt](t)(pay(ctx, invoice{2, 6}))
	_, err := pay(ctx, invoice{2, 7})
	equal(t, errors.Is(err, once.ErrMismatch), true)
	equal(t, calls.Load(), int64(2))
	equal(t, must[int64](t)(client.Tally("paid").Value(ctx)), int64(11))
	if once.CurrentAttempt(ctx) != nil {
		t.Error("there is no attempt outside of one")
	}
}

func TestNoticesTellOfRequestsAndRunsAndAHookThatPanicsHarmsNothing(t *testing.T) {
	var notices []string
	client := newClient(t, once.Options{OnNotice: func(n once.Notice) {
		notices = append(notices, n.Name)
		panic("a bad hook")
	}})
	must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{}, returning(1)))
	same(t, notices, []string{"request", "request", "run"})
}

// As OpenTelemetry would be plugged in.
type tracing struct{ spans, headers []string }

func (r *tracing) Start(ctx context.Context, name string, attributes map[string]string) (context.Context, func(error)) {
	r.spans = append(r.spans, name+" "+attributes["once.key"])
	return context.WithValue(ctx, r, name), func(err error) { r.spans = append(r.spans, "end") }
}

func (r *tracing) Inject(ctx context.Context, header http.Header) {
	name, _ := ctx.Value(r).(string)
	header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	r.headers = append(r.headers, name)
}

func TestSpansAreMadeAndPassedOn(t *testing.T) {
	spans := &tracing{}
	client := newClient(t, once.Options{Tracing: spans})
	must[once.Outcome](t)(client.Run(ctx, "k", once.RunOptions{}, returning(1)))
	same(t, spans.spans, []string{"once.run k", "end"})
	same(t, spans.headers, []string{"once.run", "once.run"})
}

func TestWhatIsWrongIsToldBeforeAnythingIsSent(t *testing.T) {
	client := connect(t, "http://127.0.0.1:1", once.Options{Patience: -1})
	for name, wrong := range map[string]func() error{
		"empty":        func() error { _, err := client.Run(ctx, "", once.RunOptions{}, returning(1)); return err },
		"control":      func() error { _, err := client.Seen(ctx, "a\n"); return err },
		"long":         func() error { _, err := client.Seen(ctx, strings.Repeat("x", 513)); return err },
		"no UTF-8":     func() error { _, err := client.Seen(ctx, "\xff"); return err },
		"lease":        func() error { _, err := client.Run(ctx, "k", once.RunOptions{Lease: -1}, returning(1)); return err },
		"id":           func() error { _, err := client.Document("d").Put(ctx, 1, once.Create(), once.ID("ü")); return err },
		"no condition": func() error { _, err := client.Document("d").Put(ctx, 1); return err },
		"value":        func() error { _, err := client.Log("l").Append(ctx, []any{func() {}}); return err },
		"pointer":      func() error { return client.Document("d").Update(ctx, 1, func() error { return nil }) },
	} {
		if err := wrong(); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, address := range []string{"dynamodb://table", "memory:", "localhost:7600", "http://", "http://user:secret@host", "http://h?x=1"} {
		_, err := once.Connect(address, once.Options{})
		if !errors.Is(err, once.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	_, err := once.Connect("http://h", once.Options{Token: "a\nb"})
	equal(t, errors.Is(err, once.ErrInvalid), true)
}

func TestNobodyThereIsUnavailable(t *testing.T) {
	client := connect(t, "http://127.0.0.1:1", once.Options{Patience: 100 * time.Millisecond})
	_, err := client.Seen(ctx, "a")
	equal(t, errors.Is(err, once.ErrUnavailable), true)
	equal(t, errors.Is(err, context.DeadlineExceeded), false)
	over, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = connect(t, "http://127.0.0.1:1", once.Options{}).Seen(over, "a")
	equal(t, errors.Is(err, once.ErrUnavailable), true)
	equal(t, errors.Is(err, context.DeadlineExceeded), true)
}
