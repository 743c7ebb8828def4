package logbustest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/sourcetest"
)

// The configuration of a consumer process.
const (
	envURL    = "MILLRACE_LOGBUSTEST_URL"
	envHolder = "MILLRACE_LOGBUSTEST_HOLDER"
	envTTL    = "MILLRACE_LOGBUSTEST_TTL"
	envLedger = "MILLRACE_LOGBUSTEST_LEDGER"

	processTopic = "payments"
	processGroup = "consumer"
	// processWindow is the most messages that a killed process can have out.
	processWindow = 16
)

// consume is the other process: it records the messages it handles, and acknowledges them
// afterwards, until it is killed.
func consume(tr Transport, url string) error {
	ledger, err := os.OpenFile(os.Getenv(envLedger), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	ttl, err := time.ParseDuration(os.Getenv(envTTL))
	if err != nil {
		return err
	}
	b, err := tr.open(context.Background(), url, Settings{LeaseTTL: ttl, Holder: os.Getenv(envHolder)})
	if err != nil {
		return err
	}
	sub := sourcetest.Subscriber(b.Driver(), processGroup, processWindow)
	ch, err := sub.Subscribe(context.Background(), processTopic)
	if err != nil {
		return err
	}
	for m := range ch {
		if _, err := fmt.Fprintln(ledger, string(m.Payload)); err != nil {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond) // work
		m.Ack()
	}
	return nil
}

// process is a running consumer.
type process struct {
	cmd  *exec.Cmd
	once sync.Once
}

// start starts a consumer that writes into the ledger. It is killed with the test.
func start(t testing.TB, url, holder string, ttl time.Duration, l *ledger) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), envURL+"="+url, envHolder+"="+holder, envTTL+"="+ttl.String(), envLedger+"="+l.path)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// kill ends the process by SIGKILL.
func (p *process) kill() {
	p.once.Do(func() {
		p.cmd.Process.Kill() //nolint:errcheck // it may have ended
		p.cmd.Wait()         //nolint:errcheck // it was killed
	})
}
