package once_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"once"
)

// Runs a command in a directory, and gives its output.
func command(t *testing.T, directory, name string, arguments ...string) string {
	t.Helper()
	run := exec.Command(name, arguments...)
	run.Dir = directory
	var complaints bytes.Buffer
	run.Stderr = &complaints
	output, err := run.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, arguments, err, complaints.String())
	}
	return string(output)
}

const fragments = `package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"once"
)

var _, _, _, _, _ = json.Unmarshal, errors.Is, http.Handle, time.Now, once.ErrBusy

func main() {
	ctx := context.Background()
	client, err := once.Connect("./state", once.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, one := range []func(context.Context, *once.Client) error{%s} {
		if err := one(ctx, client); err != nil {
			log.Fatal(err)
		}
	}
}
`

// The first block is a program, and the others are what functions do. Each Println says what it prints.
func TestTheCodeOfTheReadmeRunsInAFreshModule(t *testing.T) {
	notedBinary(t)
	text, err := os.ReadFile("README.md")
	check(t, err)
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 8 {
		t.Fatalf("only %d blocks were found", len(blocks))
	}
	here, err := filepath.Abs(".")
	check(t, err)
	home := t.TempDir()
	command(t, home, "go", "mod", "init", "shop")
	command(t, home, "go", "mod", "edit", "-require=once@v0.0.0", "-replace=once="+here)
	var names, functions []string
	for i, block := range blocks[1:] {
		name := fmt.Sprintf("block%d", i+2)
		names = append(names, name)
		functions = append(functions, fmt.Sprintf("func %s(ctx context.Context, client *once.Client) error {\n%s\nreturn nil\n}\n", name, block[1]))
	}
	rest := fmt.Sprintf(fragments, strings.Join(names, ", ")) + strings.Join(functions, "\n")
	programs := map[string]string{"first": blocks[0][1], "rest": rest}
	for name, program := range programs {
		check(t, os.Mkdir(home+"/"+name, 0o700))
		check(t, os.WriteFile(home+"/"+name+"/main.go", []byte(program), 0o600))
	}
	command(t, home, "go", "mod", "tidy")
	command(t, home, "go", "build", "-o", home+"/bin/", "./...")
	printed := command(t, home, home+"/bin/first") + command(t, home, home+"/bin/rest")
	var wanted string
	for _, line := range regexp.MustCompile(`(?m)fmt\.Println\(.*\)\s*// (.*)$`).FindAllStringSubmatch(string(text), -1) {
		wanted += line[1] + "\n"
	}
	equal(t, printed, wanted)
}

func TestTheExampleServiceTakesEffectOnceForDuplicateAndConcurrentRequests(t *testing.T) {
	namespace := randomName()
	t.Setenv("ONCE_STORE", sharedServer(t))
	t.Setenv("ONCE_NAMESPACE", namespace)
	built := t.TempDir() + "/payments"
	command(t, ".", "go", "build", "-o", built, "./examples/payments")
	url := startService(t, built, "-listen", "127.0.0.1:0")

	type answer struct {
		status   int
		replayed string
		body     map[string]int
	}
	post := func(path, key, body string) answer {
		r, err := http.NewRequest("POST", url+path, strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		response, err := (&http.Client{Timeout: patience}).Do(r)
		if err != nil {
			t.Error(err)
			return answer{}
		}
		defer response.Body.Close()
		got := answer{status: response.StatusCode, replayed: response.Header.Get("Idempotent-Replayed")}
		_ = json.NewDecoder(response.Body).Decode(&got.body)
		return got
	}
	const wanted = `{"account":"a","cents":500}`
	var all sync.WaitGroup
	answers := make([]answer, 12)
	for i := range answers {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			answers[i] = post("/payments", "k-1", wanted)
		}(i)
	}
	all.Wait()
	paid := 0
	for _, one := range answers {
		switch one.status {
		case 201:
			paid++
			equal(t, one.body["number"], 1)
		case 409:
		default:
			t.Errorf("%+v", one)
		}
	}
	if paid == 0 {
		t.Error("nobody paid")
	}
	again := post("/payments", "k-1", wanted)
	same(t, []any{again.status, again.replayed, again.body["number"]}, []any{201, "true", 1})
	equal(t, post("/payments", "k-1", `{"account":"a","cents":1}`).status, 422)
	equal(t, post("/payments", "k-2", wanted).body["number"], 2)
	equal(t, post("/payments", "", wanted).status, 400)
	for i := 0; i < 2; i++ {
		equal(t, post("/reminders/7", "", "").status, 200)
	}
	client := connect(t, sharedServer(t), once.Options{Namespace: namespace})
	equal(t, len(must[[]once.Event](t)(client.Log("reminders").Read(ctx))), 1)
	equal(t, must[int64](t)(client.Tally("charges-a").Value(ctx)), int64(2))
}

// A program that says where it listens. It ends with the test.
func startService(t *testing.T, program string, arguments ...string) (url string) {
	service := exec.Command(program, arguments...)
	output, err := service.StdoutPipe()
	check(t, err)
	service.Stderr = os.Stderr
	check(t, service.Start())
	t.Cleanup(func() {
		_ = service.Process.Kill()
		_ = service.Wait()
	})
	said := make(chan string, 1)
	go func() {
		line := make([]byte, 200)
		n, _ := output.Read(line)
		said <- string(line[:n])
	}()
	select {
	case line := <-said:
		return strings.TrimSpace(line[strings.Index(line, "http://"):])
	case <-time.After(patience):
		t.Fatal("the service did not start")
	}
	return ""
}
