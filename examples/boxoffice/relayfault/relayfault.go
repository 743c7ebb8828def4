// Package relayfault lets the relay of a box office die between publish and cursor. That
// moment is too short to be hit from outside, so the process kills itself there. The
// program make chaos asks for it by the environment variable [Env].
//
//	property                                                    proven by
//	it kills after a confirmed publish only                     TestPublisherDiesAfterTheConfirmation,
//	                                                            TestPublisherDiesAfterATime, TestDieIsSIGKILL
//	a wrong spec is an error that names the right one           TestPublisherSpec
package relayfault

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Env is the environment variable that names the fault of a process.
const Env = "BOXOFFICE_FAULT"

// AfterPublish is the fault that there is.
const AfterPublish = "relay-after-publish"

// Publisher wraps pub with the fault of spec; without one ("") it returns
// pub itself. The only fault is "relay-after-publish", which lets the process
// kill itself when pub has confirmed a call of Publish and before that call
// returns. A relay moves its cursor only after that, so it dies between the
// two. Which call it is:
//
//	relay-after-publish         the first
//	relay-after-publish:7       the seventh
//	relay-after-publish:800ms   the first that is confirmed 800 ms after the first one
func Publisher(pub message.Publisher, spec string) (message.Publisher, error) {
	if spec == "" {
		return pub, nil
	}
	name, when, given := strings.Cut(spec, ":")
	if name != AfterPublish {
		return nil, fmt.Errorf("relayfault: %s=%q is unknown: use %s, or with %s:7 or %s:800ms a later publish", Env, spec, AfterPublish, AfterPublish, AfterPublish)
	}
	f := &publisher{Publisher: pub, after: 1, die: die}
	if !given {
		return f, nil
	}
	n, err := strconv.ParseInt(when, 10, 32)
	if err == nil && n > 0 {
		f.after = n
		return f, nil
	}
	d, err := time.ParseDuration(when)
	if err != nil || d <= 0 {
		return nil, fmt.Errorf("relayfault: %s=%q: after the colon comes a number of publishes or a duration, above 0", Env, spec)
	}
	f.lives = d
	return f, nil
}

type publisher struct {
	message.Publisher
	after int64         // it dies at this call,
	lives time.Duration // or, when set, so long after the first one
	die   func(call int64)

	mu    sync.Mutex
	calls int64 // confirmed
	first time.Time
}

// Publish publishes, and then may kill the process.
func (f *publisher) Publish(topic string, messages ...*message.Message) error {
	if err := f.Publisher.Publish(topic, messages...); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls++; f.calls == 1 {
		f.first = time.Now()
	}
	if f.lives > 0 && time.Since(f.first) >= f.lives || f.lives == 0 && f.calls >= f.after {
		f.die(f.calls)
	}
	return nil
}

// Died is the text that the process prints before it kills itself.
const Died = "relayfault: killing this process after a confirmed publish, before the cursor moves"

// die ends the process as kill -9 does: no deferred function, no flush. It does not
// return, so that no code acts on the publish until the signal arrives.
func die(call int64) {
	_, _ = fmt.Fprintf(os.Stderr, "%s (number %d)\n", Died, call)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(fmt.Sprintf("relayfault: cannot kill this process: %v", err))
	}
	select {}
}
