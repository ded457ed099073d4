// log_forwarder in Go: many forwarders, one log without gaps.
//
//	log_forwarder [-store STORE] forward EXECUTION FILE
//	log_forwarder [-store STORE] [-from N] [-follow] read EXECUTION
//
// A delivery is appended under its id in one call. Forwarders may race, die and start again: a delivery that is known keeps
// its indexes. STORE is a directory or a server's URL.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"once"
)

const (
	mostLines = 25       // Of a delivery,
	mostBytes = 64 << 10 // all of them together, and of a line.
)

// Lines that come together and are stored together. Delivered again, it has the same id.
type delivery struct {
	id    string
	lines []any
}

// Cuts what a source says into deliveries. Where they begin depends on nothing but the lines before, so that a forwarder
// which starts from the beginning makes the same ones again.
func deliveries(source string, in io.Reader, each func(delivery) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, mostBytes)
	var next delivery
	bytes := 0
	for number := 1; lines.Scan(); number++ {
		if len(next.lines) == mostLines || (len(next.lines) > 0 && bytes+len(lines.Text()) > mostBytes) {
			if err := each(next); err != nil {
				return err
			}
			next, bytes = delivery{}, 0
		}
		if len(next.lines) == 0 {
			next.id = fmt.Sprintf("%s:%d", source, number)
		}
		next.lines = append(next.lines, lines.Text())
		bytes += len(lines.Text())
	}
	if err := lines.Err(); err != nil || len(next.lines) == 0 {
		return err
	}
	return each(next)
}

func forward(ctx context.Context, client *once.Client, execution, file string) error {
	in := os.Stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return err
		}
		defer opened.Close()
		in = opened
	}
	return deliveries(file, in, func(one delivery) error {
		place, err := client.Log(execution).Append(ctx, one.lines, once.Batch(one.id))
		if errors.Is(err, once.ErrMismatch) {
			return fmt.Errorf("%q was forwarded before with other lines; nothing was stored", one.id)
		}
		if err != nil {
			return err
		}
		asBefore := ""
		if place.Replayed {
			asBefore = ", as before"
		}
		fmt.Printf("%s stands at %d to %d%s\n", one.id, place.First, place.Last, asBefore)
		return nil
	})
}

func print(event once.Event) error {
	var line string
	if err := event.Decode(&line); err != nil {
		line = string(event.Data) // Of another program: not a line.
	}
	_, err := fmt.Println(event.Index, line)
	return err
}

func read(ctx context.Context, client *once.Client, execution string, from int64, follow bool) (err error) {
	if follow {
		for event := range client.Log(execution).Follow(ctx, once.From(from), once.ErrorTo(&err)) {
			if err := print(event); err != nil {
				return err
			}
		}
		return err
	}
	for {
		page, err := client.Log(execution).ReadPage(ctx, once.From(from), once.Limit(1000))
		if err != nil || len(page.Events) == 0 {
			return err
		}
		for _, event := range page.Events {
			if err := print(event); err != nil {
				return err
			}
		}
		from = page.Next
	}
}

func main() {
	log.SetFlags(0)
	store := flag.String("store", "./log", "a directory or a server's URL")
	from := flag.Int64("from", 1, "read: begin at this index")
	follow := flag.Bool("follow", false, "read: wait for more at the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := once.Connect(*store, once.Options{})
	switch {
	case err != nil:
	case flag.Arg(0) == "forward" && flag.NArg() == 3:
		err = forward(ctx, client, flag.Arg(1), flag.Arg(2))
	case flag.Arg(0) == "read" && flag.NArg() == 2:
		err = read(ctx, client, flag.Arg(1), *from, *follow)
	default:
		err = errors.New("log_forwarder [-store STORE] forward EXECUTION FILE | [-from N] [-follow] read EXECUTION")
	}
	if err != nil {
		log.Fatal(err)
	}
}
