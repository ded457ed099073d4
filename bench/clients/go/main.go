// go run . ONCE [-seconds N]: the Go client beside bare net/http calls, on one goroutine and on 50.
//
// A bare call is the same claim, posted with net/http and nothing around it. `claim` is one call of the client, `run` is a
// claim and its completion, two calls. They are measured in turns. `once bench` is the server's own load generator. Exits with 1 if
// the median of a call is more than twice that of a bare one.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"os/exec"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"once"
)

const (
	target = 2.0
	rounds = 3
)

var numbers atomic.Int64

// What measurements of one call found, together.
type result struct {
	times []time.Duration
	took  time.Duration
	used  time.Duration // Processor time of this process.
}

func (r *result) add(more result) {
	r.times, r.took, r.used = append(r.times, more.times...), r.took+more.took, r.used+more.used
}

func (r *result) at(share float64) time.Duration {
	sort.Slice(r.times, func(i, j int) bool { return r.times[i] < r.times[j] })
	return r.times[int(float64(len(r.times)-1)*share)]
}

func (r *result) row(name string, goroutines int) string {
	calls := float64(len(r.times))
	return fmt.Sprintf("%-14s %10d %9.0f %8.3f %8.3f %7.3f", name, goroutines, calls/r.took.Seconds(), ms(r.at(0.5)), ms(r.at(0.99)),
		ms(r.used)/calls)
}

func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func measure(call func() error, goroutines int, lasts time.Duration) result {
	var mutex sync.Mutex
	var times []time.Duration
	var all sync.WaitGroup
	began, used := time.Now(), processorTime()
	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			var mine []time.Duration
			for time.Since(began) < lasts {
				from := time.Now()
				if err := call(); err != nil {
					log.Fatal(err)
				}
				mine = append(mine, time.Since(from))
			}
			mutex.Lock()
			times = append(times, mine...)
			mutex.Unlock()
		}()
	}
	all.Wait()
	return result{times, time.Since(began), processorTime() - used}
}

// A server on a relaxed directory, which ends with the program.
func serve(binary, home string) (url string, stop func(), err error) {
	server := exec.Command(binary, "serve", "--store", "rocksdb:"+home+"/store?durability=relaxed", "--listen", "127.0.0.1:0")
	output, err := server.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, err
	}
	return strings.Fields(line)[2], stop, nil
}

func bareClaim(bare *http.Client, url string) error {
	body, err := json.Marshal(map[string]string{
		"request": fmt.Sprintf("r-%d", numbers.Add(1)), "lease": "30s", "ttl": "24h", "owner": "bench",
	})
	if err != nil {
		return err
	}
	target := fmt.Sprintf("%s/v1/claims/bare-%d", url, numbers.Add(1))
	response, err := bare.Post(target, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var claimed struct{ State, Ticket string }
	if err := json.NewDecoder(response.Body).Decode(&claimed); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func bench(binary string, lasts time.Duration) error {
	home, err := os.MkdirTemp("", "once-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	url, stop, err := serve(binary, home)
	if err != nil {
		return err
	}
	defer stop()
	client, err := once.Connect(url, once.Options{})
	if err != nil {
		return err
	}
	ctx := context.Background()
	bare := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	calls := []struct {
		name     string
		requests int
		call     func() error
	}{
		{"bare net/http", 1, func() error { return bareClaim(bare, url) }},
		{"claim", 1, func() error {
			_, _, err := client.Claim(fmt.Sprintf("claim-%d", numbers.Add(1))).Take(ctx, once.TakeOptions{})
			return err
		}},
		{"run", 2, func() error {
			_, err := client.Run(ctx, fmt.Sprintf("run-%d", numbers.Add(1)), once.RunOptions{},
				func(context.Context, *once.Attempt) (any, error) { return 1, nil })
			return err
		}},
	}
	fmt.Printf("%-14s %10s %9s %8s %8s %7s %13s %s\n", "", "goroutines", "a second", "p50 ms", "p99 ms", "CPU ms", "a call / bare", "target")
	missed := false
	for _, goroutines := range []int{1, 50} {
		if err := ownBench(binary, url, goroutines, lasts); err != nil {
			return err
		}
		found := make([]result, len(calls))
		for round := 0; round < rounds; round++ {
			for i, one := range calls {
				measure(one.call, goroutines, lasts/rounds/10) // Connections are there.
				found[i].add(measure(one.call, goroutines, lasts/rounds))
			}
		}
		fmt.Println(found[0].row(calls[0].name, goroutines))
		for i, one := range calls[1:] {
			ratio := found[i+1].at(0.5).Seconds() / found[0].at(0.5).Seconds() / float64(one.requests)
			verdict := "met"
			if ratio > target {
				verdict, missed = "MISSED", true
			}
			fmt.Printf("%s %13.2f %6.2f %s\n", found[i+1].row(one.name, goroutines), ratio, target, verdict)
		}
	}
	if missed {
		return errors.New("a target was missed")
	}
	return nil
}

// The server's own load generator, in C++.
func ownBench(binary, url string, clients int, lasts time.Duration) error {
	seconds := fmt.Sprint(int(math.Ceil(lasts.Seconds())))
	output, err := exec.Command(binary, "bench", "claims", "--store", url, "--clients", fmt.Sprint(clients), "--seconds", seconds, "--json").Output()
	if err != nil {
		return fmt.Errorf("once bench: %w", err)
	}
	var told struct {
		Rate float64 `json:"per_second"`
		P50  float64 `json:"p50_ms"`
		P99  float64 `json:"p99_ms"`
	}
	if err := json.Unmarshal(output, &told); err != nil {
		return err
	}
	fmt.Printf("%-14s %10d %9.0f %8.3f %8.3f\n", "once bench", clients, told.Rate, told.P50, told.P99)
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func main() {
	log.SetFlags(0)
	seconds := flag.Float64("seconds", 3, "of each measurement")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("go run . [-seconds N] ONCE")
	}
	if err := bench(flag.Arg(0), time.Duration(*seconds*float64(time.Second))); err != nil {
		log.Fatal(err)
	}
}
