package once_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"once"
)

// Builds an example, which is a module of its own, for the shared server and a namespace of its own.
func buildExample(t *testing.T, name string) (program string, client *once.Client) {
	program = t.TempDir() + "/" + name
	command(t, "../../examples/"+name+"/go", "go", "build", "-o", program, ".")
	namespace := randomName()
	t.Setenv("ONCE_NAMESPACE", namespace)
	return program, connect(t, sharedServer(t), once.Options{Namespace: namespace})
}

func TestForwardersThatRaceAndDieLeaveALogWithoutGaps(t *testing.T) {
	program, client := buildExample(t, "log_forwarder")
	home := t.TempDir()
	lines := map[string]bool{}
	for _, name := range []string{"web", "worker"} {
		var text strings.Builder
		for n := 0; n < 130; n++ {
			line := fmt.Sprintf("%s says %d <&>", name, n)
			lines[line] = true
			fmt.Fprintln(&text, line)
		}
		check(t, os.WriteFile(home+"/"+name, []byte(text.String()), 0o600))
	}
	forward := func(file string) *exec.Cmd {
		run := exec.Command(program, "-store", sharedServer(t), "forward", "job", file)
		run.Dir = home
		return run
	}
	for _, file := range []string{"web", "worker"} { // Each dies after its first delivery.
		dying := forward(file)
		output, err := dying.StdoutPipe()
		check(t, err)
		check(t, dying.Start())
		_, _ = output.Read(make([]byte, 1))
		check(t, dying.Process.Kill())
		_ = dying.Wait()
	}
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func(file string) {
			defer all.Done()
			if output, err := forward(file).CombinedOutput(); err != nil || !strings.Contains(string(output), "as before") {
				t.Errorf("%v: %s", err, output)
			}
		}([]string{"web", "worker"}[i%2])
	}
	all.Wait()
	out := command(t, home, program, "-store", sharedServer(t), "read", "job")
	printed := strings.Split(strings.TrimSpace(out), "\n")
	equal(t, len(printed), len(lines))
	for i, line := range printed {
		index, text, _ := strings.Cut(line, " ")
		equal(t, index, fmt.Sprint(i+1))
		if !lines[text] {
			t.Errorf("%q is there twice, or strange", text)
		}
		delete(lines, text)
	}
	check(t, os.WriteFile(home+"/web", []byte("changed\n"), 0o600))
	refused, err := forward("web").CombinedOutput()
	if err == nil || !strings.Contains(string(refused), "other lines") {
		t.Errorf("a changed file was forwarded: %s", refused)
	}
	must[once.LogInfo](t)(client.Log("job").Close(ctx))
	followed := command(t, home, program, "-store", sharedServer(t), "-from", "11", "-follow", "read", "job")
	equal(t, followed, strings.Join(printed[10:], "\n")+"\n")
}

func TestViewsThatAreDeliveredTwiceAreCountedOnce(t *testing.T) {
	program, client := buildExample(t, "page_stats")
	home := t.TempDir()
	chance := rand.New(rand.NewSource(1))
	views := map[string]int64{}
	visitors := map[string]map[string]bool{}
	slowest := map[string]int64{}
	var deliveries []string
	for n := 0; n < 120; n++ {
		page, visitor, ms := []string{"/", "/about", "/pricing"}[chance.Intn(3)], fmt.Sprint("v-", chance.Intn(20)), int64(chance.Intn(500))
		line, err := json.Marshal(map[string]any{"id": fmt.Sprint("view-", n), "page": page, "visitor": visitor, "ms": ms,
			"time": time.Date(2026, 11, 15, n%24, n%60, 0, 0, time.UTC)})
		check(t, err)
		for times := 0; times <= chance.Intn(2); times++ {
			deliveries = append(deliveries, string(line))
		}
		for _, subject := range []string{"site", page} {
			views[subject]++
			if visitors[subject] == nil {
				visitors[subject] = map[string]bool{}
			}
			visitors[subject][visitor] = true
			if ms > slowest[subject] {
				slowest[subject] = ms
			}
		}
	}
	chance.Shuffle(len(deliveries), func(i, j int) { deliveries[i], deliveries[j] = deliveries[j], deliveries[i] })
	check(t, os.WriteFile(home+"/views", []byte(strings.Join(deliveries, "\n")+"\n"), 0o600))
	var all sync.WaitGroup
	for i := 0; i < 2; i++ { // Two programs at once on one file.
		all.Add(1)
		go func() {
			defer all.Done()
			output, err := exec.Command(program, "-store", sharedServer(t), "count", home+"/views").CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, output)
			}
		}()
	}
	all.Wait()
	out := command(t, home, program, "-store", sharedServer(t), "-day", "2026-11-15", "query", "/", "/about", "/pricing", "/none")
	rows := strings.Split(strings.TrimSpace(out), "\n")[1:]
	equal(t, len(rows), 5)
	for i, subject := range []string{"site", "/", "/about", "/pricing"} {
		same(t, strings.Fields(rows[i]), []any{subject, views[subject], len(visitors[subject]), slowest[subject]})
	}
	same(t, strings.Fields(rows[4]), []string{"/none", "-", "-", "-"})
	equal(t, must[int64](t)(client.Tally("site:views:day").Value(ctx)), int64(120))
}
