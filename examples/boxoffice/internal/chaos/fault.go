package chaos

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"
)

// FaultEnv is the environment variable that names the fault of a process.
const FaultEnv = "BOXOFFICE_FAULT"

// relayAfterPublish is the fault that this package knows.
const relayAfterPublish = "relay-after-publish"

// FaultPublisher wraps pub with the fault of spec; without one ("") it returns
// pub itself. The only fault is "relay-after-publish", or
// "relay-after-publish:n": when pub has confirmed the n-th call of Publish (the
// first by default), the process kills itself before that call returns. A relay
// moves its cursor only after that, so it dies between the two.
func FaultPublisher(pub message.Publisher, spec string) (message.Publisher, error) {
	if spec == "" {
		return pub, nil
	}
	name, count, counted := strings.Cut(spec, ":")
	after := int64(1)
	if counted {
		n, err := strconv.ParseInt(count, 10, 32)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("chaos: %s=%q: the number of publishes must be 1 or more", FaultEnv, spec)
		}
		after = n
	}
	if name != relayAfterPublish {
		return nil, fmt.Errorf("chaos: %s=%q is unknown: use %s or %s:<publishes>", FaultEnv, spec, relayAfterPublish, relayAfterPublish)
	}
	return &faultPublisher{Publisher: pub, after: after, die: die}, nil
}

type faultPublisher struct {
	message.Publisher
	after     int64
	confirmed atomic.Int64
	die       func(confirmed int64)
}

// Publish publishes, and then may not return.
func (f *faultPublisher) Publish(topic string, messages ...*message.Message) error {
	if err := f.Publisher.Publish(topic, messages...); err != nil {
		return err
	}
	if n := f.confirmed.Add(1); n >= f.after {
		f.die(n)
	}
	return nil
}

// died is what the process prints before it kills itself.
const died = "chaos: killing this process after a confirmed publish, before the cursor moves"

// die ends the process as kill -9 does: no deferred function, no flush. It does
// not return, so that nobody acts on the publish until the signal arrives.
func die(confirmed int64) {
	_, _ = fmt.Fprintf(os.Stderr, "%s (number %d)\n", died, confirmed)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(fmt.Sprintf("chaos: cannot kill this process: %v", err))
	}
	select {}
}
