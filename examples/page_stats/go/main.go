// page_stats in Go: views that are delivered twice and counted once.
//
//	page_stats [-store STORE] [-goroutines N] count FILE
//	page_stats [-store STORE] -day 2026-11-15 query [PAGE...]
//
// A view is a line of JSON: {"id","time","page","visitor","ms"}. What it changes, 15 tallies, is one commit under its id:
// all of it happens or none, and a commit whose id is known does nothing. Any number of these may count one file at
// once, and be killed and started again. STORE is a directory or a server's URL.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"once"
)

type view struct {
	ID      string    `json:"id"` // Of the view, not of its delivery: a redelivery has the same.
	Time    time.Time `json:"time"`
	Page    string    `json:"page"`
	Visitor string    `json:"visitor"`
	Ms      int64     `json:"ms"` // What the page took to answer.
}

// How long buckets are kept after their window ended; for ever without one.
var kept = map[string]time.Duration{"minute": 7 * 24 * time.Hour, "hour": 400 * 24 * time.Hour}

func tallyName(subject, what, window string) string { return subject + ":" + what + ":" + window }

// What a view changes. The names are those of the C++ program, so that each reads what the other counted.
func effectsOf(v view) *once.Effects {
	effects := once.NewEffects()
	add := func(subject, window string) {
		options := []once.MergeOption{once.At(v.Time), once.Window(window)}
		if ttl, ends := kept[window]; ends {
			options = append(options, once.TTL(ttl))
		}
		effects.Count(tallyName(subject, "views", window), 1, options...).
			Max(tallyName(subject, "slowest", window), v.Ms, options...).
			Distinct(tallyName(subject, "visitors", window), []string{v.Visitor}, options...)
		if subject == "site" {
			effects.Hit(tallyName(subject, "pages", window), []string{v.Page}, options...)
		}
	}
	for _, window := range []string{"minute", "hour", "day"} {
		add("site", window)
	}
	add(v.Page, "hour")
	return effects
}

func count(ctx context.Context, client *once.Client, file string, goroutines int) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	views := make(chan view)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var counted, known atomic.Int64
	var failed atomic.Value
	var all sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for v := range views {
				done, err := client.Commit(ctx, effectsOf(v), once.ID(v.ID))
				if err != nil {
					failed.CompareAndSwap(nil, fmt.Errorf("%s: %w", v.ID, err))
					cancel() // Nobody begins another.
				} else if done.Replayed {
					known.Add(1)
				} else {
					counted.Add(1)
				}
			}
		}()
	}
	err = readViews(ctx, in, views)
	close(views)
	all.Wait()
	if why, is := failed.Load().(error); is {
		return why
	}
	if err == nil {
		fmt.Printf("counted %d views; %d deliveries were known already\n", counted.Load(), known.Load())
	}
	return err
}

func readViews(ctx context.Context, in *os.File, views chan<- view) error {
	lines := bufio.NewScanner(in)
	for number := 1; lines.Scan(); number++ {
		var v view
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil || v.ID == "" || v.Page == "" || v.Visitor == "" || v.Time.IsZero() {
			return fmt.Errorf("line %d is no view", number)
		}
		select {
		case views <- v:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return lines.Err()
}

// One batch query for all subjects.
func query(ctx context.Context, client *once.Client, day time.Time, pages []string) error {
	if len(pages) == 0 {
		top, err := client.Tally(tallyName("site", "pages", "day")).Top(ctx, 10, once.Between(day, day.AddDate(0, 0, 1)))
		if err != nil {
			return err
		}
		for _, one := range top {
			pages = append(pages, one.Item)
		}
	}
	subjects := append([]string{"site"}, pages...)
	var names []string
	for _, subject := range subjects {
		for _, what := range []string{"views", "visitors", "slowest"} {
			names = append(names, tallyName(subject, what, "hour"))
		}
	}
	values, err := client.ReadTallies(ctx, names, once.Between(day, day.AddDate(0, 0, 1)))
	if err != nil {
		return err
	}
	fmt.Printf("%-36s %8s %9s %10s\n", "", "views", "visitors", "slowest ms")
	for i, subject := range subjects {
		fmt.Printf("%-36s %8s %9s %10s\n", subject, shown(values[3*i]), shown(values[3*i+1]), shown(values[3*i+2]))
	}
	return nil
}

// The greatest of nothing is no number at all.
func shown(reading *once.Reading) string {
	if reading == nil || string(reading.Value) == "null" {
		return "-"
	}
	return string(reading.Value)
}

func main() {
	log.SetFlags(0)
	store := flag.String("store", "./stats", "a directory or a server's URL")
	goroutines := flag.Int("goroutines", 4, "that count")
	date := flag.String("day", time.Now().UTC().AddDate(0, 0, -1).Format("2006-01-02"), "to ask for; yesterday, if not given")
	flag.Parse()
	day, err := time.Parse("2006-01-02", *date)
	if err != nil || *goroutines < 1 || *goroutines > 64 {
		log.Fatal("-day is like 2026-11-15, and -goroutines 1 to 64")
	}
	client, err := once.Connect(*store, once.Options{})
	switch ctx := context.Background(); {
	case err != nil:
	case flag.Arg(0) == "count" && flag.NArg() == 2:
		err = count(ctx, client, flag.Arg(1), *goroutines)
	case flag.Arg(0) == "query":
		err = query(ctx, client, day, flag.Args()[1:])
	default:
		err = errors.New("page_stats [-store STORE] count FILE | [-day DAY] query [PAGE...]")
	}
	if err != nil {
		log.Fatal(err)
	}
}
