package once_test

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"once"
)

const (
	keys     = 200
	workers  = 16
	racers   = 4 // Of each key.
	kills    = 10
	updaters = 30

	// Longer than a server takes to come back on a machine that stalls: nobody dies here but the server, so that no lease need end.
	proofLease = 30 * time.Second
)

// Who believes to hold which key.
type held struct {
	sync.Mutex
	attempts map[string]*once.Attempt
	worked   map[string]int
	twice    []string
}

func (h *held) work(_ context.Context, a *once.Attempt) (any, error) {
	h.Lock()
	if before := h.attempts[a.Key]; before != nil && before.Check() == nil {
		h.twice = append(h.twice, a.Key)
	}
	h.attempts[a.Key] = a
	h.worked[a.Key]++
	h.Unlock()
	a.Effects.Append("effects", a.Key).Add("sum", 1)
	h.Lock()
	defer h.Unlock()
	if h.attempts[a.Key] == a && a.Check() == nil {
		delete(h.attempts, a.Key)
	}
	return "done " + a.Key, nil
}

func TestEachEffectHappensOnceAlthoughTheServerDiesAndAnswersAreLost(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var lost atomic.Int64
	client := connect(t, s.relay(20), once.Options{Timeout: 5 * time.Second, OnNotice: func(n once.Notice) {
		if n.Name == "request" && n.Fields["code"] == "unknown" {
			lost.Add(1)
		}
	}})
	direct := connect(t, s.url, once.Options{})

	turns := make(chan string, keys*racers)
	for _, n := range rand.New(rand.NewSource(4711)).Perm(keys * racers) {
		turns <- fmt.Sprintf("key-%d", n%keys)
	}
	close(turns)
	everyone := &held{attempts: map[string]*once.Attempt{}, worked: map[string]int{}}
	var mutex sync.Mutex
	ended, replayed := 0, 0
	var failures []string
	var workersDone sync.WaitGroup
	for w := 0; w < workers; w++ {
		workersDone.Add(1)
		go func() {
			defer workersDone.Done()
			for key := range turns {
				out, err := client.Run(ctx, key, once.RunOptions{Lease: proofLease, Wait: patience}, everyone.work)
				mutex.Lock()
				ended++
				if err != nil || string(out.Result) != `"done `+key+`"` {
					failures = append(failures, fmt.Sprint(key, ": ", err, " ", string(out.Result)))
				}
				if out.Replayed {
					replayed++
				}
				mutex.Unlock()
			}
		}()
	}
	// A follower over all restarts, which must have no gap and no repeat.
	type followedLog struct {
		events []once.Event
		err    error
	}
	followed := make(chan followedLog, 1)
	go func() {
		var all followedLog
		for event := range direct.Log("effects").Follow(ctx, once.Limit(keys), once.ErrorTo(&all.err)) {
			all.events = append(all.events, event)
		}
		followed <- all
	}()
	for kill := 0; kill < kills; kill++ {
		waitUntil(t, func() bool {
			mutex.Lock()
			defer mutex.Unlock()
			return ended >= (kill+1)*keys*racers/(kills+2)
		})
		s.kill()
		s.start()
	}
	workersDone.Wait()

	if lost.Load() < keys*racers/20 {
		t.Errorf("only %d answers were lost", lost.Load())
	}
	same(t, failures, []string(nil))
	equal(t, ended, keys*racers)
	equal(t, replayed, keys*(racers-1))
	same(t, everyone.twice, []string(nil))
	equal(t, len(everyone.worked), keys)
	equal(t, must[int64](t)(direct.Tally("sum").Value(ctx)), int64(keys))
	events := must[[]once.Event](t)(direct.Log("effects").Read(ctx, once.Limit(1000)))
	equal(t, len(events), keys)
	names := map[string]bool{}
	for i, event := range events {
		equal(t, event.Index, int64(i+1))
		names[string(event.Data)] = true
	}
	equal(t, len(names), keys)
	select {
	case all := <-followed:
		check(t, all.err)
		same(t, indexesAndData(all.events), indexesAndData(events))
	case <-time.After(patience):
		t.Fatal("the follower did not see all events")
	}
}

func indexesAndData(events []once.Event) []string {
	var out []string
	for _, event := range events {
		out = append(out, fmt.Sprint(event.Index, string(event.Data)))
	}
	return out
}

func TestUpdatersOfOneDocumentLoseNothing(t *testing.T) {
	s := newServer(t)
	// Each waits for all others, on a machine that may stall.
	client := connect(t, s.relay(20), once.Options{Timeout: 5 * time.Second, Patience: 200 * time.Second})
	var all sync.WaitGroup
	errs := make(chan error, updaters)
	for n := 0; n < updaters; n++ {
		all.Add(1)
		go func(name string) {
			defer all.Done()
			value := map[string]int{}
			errs <- client.Document("shared").Update(ctx, &value, func() error {
				value[name]++
				return nil
			})
		}(fmt.Sprintf("u%d", n))
	}
	all.Wait()
	for n := 0; n < updaters; n++ {
		check(t, <-errs)
	}
	stored := map[string]int{}
	found := must[*once.Snapshot](t)(connect(t, s.url, once.Options{}).Document("shared").Get(ctx))
	check(t, found.Decode(&stored))
	equal(t, len(stored), updaters)
	for name, count := range stored {
		if count != 1 {
			t.Errorf("%s was added %d times", name, count)
		}
	}
}

func TestAFollowerResumesOverARestart(t *testing.T) {
	s := newServer(t)
	client := connect(t, s.url, once.Options{})
	until, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	must[once.Appended](t)(client.Log("l").Append(ctx, []any{1, 2}))
	var why error
	events := client.Log("l").Follow(until, once.ErrorTo(&why))
	seen := []string{string((<-events).Data), string((<-events).Data)}
	s.kill()
	s.start()
	must[once.Appended](t)(client.Log("l").Append(ctx, []any{3}))
	seen = append(seen, string((<-events).Data))
	must[once.LogInfo](t)(client.Log("l").Close(ctx))
	for event := range events {
		seen = append(seen, string(event.Data))
	}
	check(t, why)
	equal(t, strings.Join(seen, " "), "1 2 3")
}
