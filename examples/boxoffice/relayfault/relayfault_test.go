//go:build unix

package relayfault

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain is also the child that dies.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "die" {
		dieChild()
		return
	}
	goleak.VerifyTestMain(m)
}

// recorder is a transport that keeps the messages it confirmed.
type recorder struct {
	confirmed int
	err       error
}

func (r *recorder) Publish(_ string, messages ...*message.Message) error {
	if r.err == nil {
		r.confirmed += len(messages)
	}
	return r.err
}

func (r *recorder) Close() error { return nil }

func messages(n int) (out []*message.Message) {
	for range n {
		out = append(out, message.NewMessage("id", nil))
	}
	return out
}

func TestPublisherDiesAfterTheConfirmation(t *testing.T) {
	transport := &recorder{}
	wrapped, err := Publisher(transport, "relay-after-publish:3")
	require.NoError(t, err)
	pub := wrapped.(*publisher)
	var deaths []int // the number of confirmed calls at each death
	pub.die = func(int64) { deaths = append(deaths, transport.confirmed) }

	for _, n := range []int{5, 2} {
		require.NoError(t, pub.Publish("t", messages(n)...))
	}
	transport.err = errors.New("the broker is away")
	assert.ErrorIs(t, pub.Publish("t", messages(9)...), transport.err)
	require.Empty(t, deaths, "it died after two confirmed publishes and a failed one")
	transport.err = nil
	require.NoError(t, pub.Publish("t", messages(1)...))
	if len(deaths) != 1 || deaths[0] != 8 {
		t.Errorf("deaths at %v confirmed messages, want one at 8", deaths)
	}
}

func TestPublisherDiesAfterATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrapped, err := Publisher(&recorder{}, "relay-after-publish:800ms")
		require.NoError(t, err)
		pub := wrapped.(*publisher)
		var died []int64
		pub.die = func(call int64) { died = append(died, call) }
		time.Sleep(time.Hour) // waiting for the lease is no life
		for range 5 {
			require.NoError(t, pub.Publish("t", messages(1)...))
			time.Sleep(200 * time.Millisecond)
		}
		if len(died) != 1 || died[0] != 5 {
			t.Errorf("it died at calls %v, want the fifth, 800 ms after the first", died)
		}
	})
}

func TestPublisherSpec(t *testing.T) {
	transport := &recorder{}
	if pub, err := Publisher(transport, ""); err != nil || pub != message.Publisher(transport) {
		t.Errorf("without a fault: %v %v", pub, err)
	}
	_, err := Publisher(transport, "relay-after-publish")
	assert.NoError(t, err)
	for _, spec := range []string{"relay", "relay-after-publish:0", "relay-after-publish:x", "relay-after-publish:",
		"relay-after-publish:-1s", ":3"} {
		if _, err := Publisher(transport, spec); err == nil || !strings.Contains(err.Error(), Env) {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

// TestDieIsSIGKILL lets a real process die.
func TestDieIsSIGKILL(t *testing.T) {
	cmd := exec.Command(os.Args[0], "die")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ProcessState.String() != "signal: killed" || !strings.Contains(string(out), Died) {
		t.Errorf("%v: %s", err, out)
	}
	assert.NotContains(t, string(out), "survived", "the publish returned to its caller")
}

// dieChild publishes once with the fault.
func dieChild() {
	pub, err := Publisher(&recorder{}, AfterPublish)
	if err == nil {
		err = pub.Publish("t", messages(1)...)
	}
	_, _ = io.WriteString(os.Stdout, "survived\n")
	if err != nil {
		os.Exit(1)
	}
}
