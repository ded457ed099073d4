package once_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"once"
)

const patience = 60 * time.Second

var ctx = context.Background()

func fromEnvironment(name, otherwise string) string {
	path := os.Getenv(name)
	if path == "" {
		path = otherwise
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return absolute
}

var (
	binary      = fromEnvironment("ONCE_BINARY", "../../build/dev/once")
	relayBinary = fromEnvironment("ONCE_RELAY", "../../build/dev/testing/relay/once_relay")
)

// A server with a store of its own, which can be killed and started again at the same place.
type server struct {
	t         testing.TB
	directory string
	listen    string
	options   []string
	process   *exec.Cmd
	url       string
}

func newServer(t testing.TB, options ...string) *server {
	s := &server{t: t, directory: t.TempDir(), listen: "127.0.0.1:0", options: options}
	s.start()
	t.Cleanup(s.kill)
	return s
}

// The port may still be taken for a moment after a kill.
func (s *server) start() {
	until := time.Now().Add(patience)
	for time.Now().Before(until) {
		arguments := append([]string{"serve", "--store", s.directory + "/store", "--listen", s.listen}, s.options...)
		s.process = exec.Command(binary, arguments...)
		output, err := s.process.StdoutPipe()
		if err == nil {
			err = s.process.Start()
		}
		if err != nil {
			s.t.Fatal(err)
		}
		line, err := bufio.NewReader(output).ReadString('\n')
		if err == nil {
			s.url = strings.Fields(line)[2]
			s.listen = s.url[strings.Index(s.url, "://")+3:]
			return
		}
		_ = s.process.Wait()
	}
	s.t.Fatal("the server did not start")
}

func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

func (s *server) port() string { return s.listen[strings.LastIndex(s.listen, ":")+1:] }

// A relay before the server, which loses every nth answer.
func (s *server) relay(every int) (url string) {
	process := exec.Command(relayBinary, s.port(), fmt.Sprint(every))
	input, err := process.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	output, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { input.Close(); _ = process.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, output) }()
	return "http://127.0.0.1:" + strings.TrimSpace(line)
}

// The tests' own server is killed when all of them are done, without a testing.TB.
var shared struct {
	sync.Mutex
	server *server
	home   string
}

func TestMain(m *testing.M) {
	once.RecordInterruptedFor(patience)
	code := m.Run()
	if shared.server != nil {
		shared.server.kill()
		os.RemoveAll(shared.home)
	}
	os.Exit(code)
}

func sharedServer(t testing.TB) string {
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		home, err := os.MkdirTemp("", "once-go-")
		if err != nil {
			t.Fatal(err)
		}
		shared.home = home
		shared.server = &server{t: t, directory: home, listen: "127.0.0.1:0"}
		shared.server.start()
	}
	return shared.server.url
}

func randomName() string {
	var bytes [6]byte
	if _, err := rand.Read(bytes[:]); err != nil {
		panic(err)
	}
	return "t-" + hex.EncodeToString(bytes[:])
}

// A client of the shared server, in a namespace of its own.
func newClient(t testing.TB, options ...once.Options) *once.Client {
	var given once.Options
	if len(options) > 0 {
		given = options[0]
	}
	if given.Namespace == "" {
		given.Namespace = randomName()
	}
	return connect(t, sharedServer(t), given)
}

func connect(t testing.TB, url string, options once.Options) *once.Client {
	t.Helper()
	client, err := once.Connect(url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// Fails the test unless err is nil; for calls with a value and an error.
func must[T any](t testing.TB) func(value T, err error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, got, wanted any) {
	t.Helper()
	if got != wanted {
		t.Errorf("got %v, wanted %v", got, wanted)
	}
}

// What text a value has, to compare slices and the like.
func same(t testing.TB, got, wanted any) {
	t.Helper()
	equal(t, fmt.Sprint(got), fmt.Sprint(wanted))
}

func waitUntil(t testing.TB, condition func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the condition never held")
		}
	}
}
