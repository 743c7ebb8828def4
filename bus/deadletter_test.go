package bus_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

type reasoned struct{}

func (reasoned) Error() string         { return "GET /artists/7: 404" }
func (reasoned) FailureReason() string { return "API_4XX" }

// because is an error whose reason is any text.
type because string

func (because) Error() string           { return "refused" }
func (b because) FailureReason() string { return string(b) }

// verbose is an error with a stack, as those of pkg/errors.
type verbose struct{ error }

func (v verbose) Format(s fmt.State, verb rune) {
	fmt.Fprint(s, v.Error())
	if verb == 'v' && s.Flag('+') {
		fmt.Fprint(s, "\nmain.load\n\tload.go:42")
	}
}

func TestADeadLetterSaysWhy(t *testing.T) {
	huge := strings.Repeat("좌", 10_000)
	for name, c := range map[string]struct {
		err  error
		want map[string]string
	}{
		"an error with a reason": {fmt.Errorf("fetch: %w", fault.MarkPermanent(reasoned{})),
			map[string]string{driver.DLQReason: "API_4XX", driver.DLQError: "fetch: GET /artists/7: 404", driver.DLQClass: "permanent", driver.DLQStack: ""}},
		"an error with a stack": {fault.MarkPermanent(verbose{errors.New("bad row")}),
			map[string]string{driver.DLQReason: bus.ReasonPermanent, driver.DLQError: "bad row", driver.DLQStack: "bad row\nmain.load\n\tload.go:42"}},
		"an error that is no text": {fault.MarkPermanent(errors.New("a\xffb")),
			map[string]string{driver.DLQError: "a\uFFFDb"}},
		"a reason that is no text": {fault.MarkPermanent(because("a\xffb")),
			map[string]string{driver.DLQReason: "a\uFFFDb"}},
		"a reason that is long": {fault.MarkPermanent(because(huge)),
			map[string]string{driver.DLQReason: strings.Repeat("좌", 82) + " … (cut)"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := deadLetterOf(t, c.err)
			for k, v := range c.want {
				if got.Metadata[k] != v {
					t.Errorf("%s is %q, want %q", k, got.Metadata[k], v)
				}
			}
		})
	}
	got := deadLetterOf(t, fault.MarkPermanent(errors.New(huge))).Metadata[driver.DLQError]
	if len(got) > 4<<10 || len(got) < 4000 || !utf8.ValidString(got) || !strings.HasSuffix(got, "(cut)") {
		t.Errorf("an error of %d bytes became %d bytes, valid %t, ending %q", len(huge), len(got), utf8.ValidString(got), got[len(got)-10:])
	}
}

// deadLetterOf returns the dead letter of a message that fails with err.
func deadLetterOf(t *testing.T, err error) (dead *message.Message) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		r := start(t, b, bus.RunnerConfig{WorkerID: "worker-7"}, bus.Consumer{
			Topic: "t", Group: "g", Handler: func(m *message.Message) error {
				clear(m.Payload)
				m.Metadata.Set("traceparent", "gone")
				return err
			},
		})
		m := message.NewMessage("id-1", []byte{0, 1, 2, 255})
		m.Metadata.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		m.Metadata.Set(driver.DLQAttempts, "17") // of an earlier dead letter; replaced
		begin := time.Now().UTC().Format(time.RFC3339Nano)
		publish(t, b, "t", m)
		synctest.Wait()
		r.stop(t)
		letters := browse(t, b, "t.DLT")
		require.Len(t, letters, 1, "dead letters")
		dead = letters[0]
		if dead.UUID != "id-1" || string(dead.Payload) != "\x00\x01\x02\xff" {
			t.Errorf("the dead letter is %s %v", dead.UUID, dead.Payload)
		}
		for k, v := range map[string]string{
			"traceparent":           m.Metadata.Get("traceparent"),
			driver.DLQOriginalTopic: "t", driver.DLQGroup: "g", driver.DLQWorker: "worker-7", driver.DLQAttempts: "1",
			driver.DLQFirstFailure: begin, driver.DLQLastFailure: begin,
		} {
			if dead.Metadata[k] != v {
				t.Errorf("%s is %q, want %q", k, dead.Metadata[k], v)
			}
		}
		assert.Len(t, dead.Metadata, 11, "metadata")
	})
	return dead
}

// A dead letter that the transport refuses is published without its stack, and then with only
// the beginning of its error; one that is still refused blocks its key.
func TestADeadLetterIsMadeToFit(t *testing.T) {
	failure := fault.MarkPermanent(verbose{errors.New(strings.Repeat("bad row ", 1000))})
	sizeOf := func(m *message.Message) (n int) {
		for k, v := range m.Metadata {
			n += len(k) + len(v)
		}
		return n
	}
	eachKind(t, func(t *testing.T, consume func(bus.Consumer, func(*message.Message) error) bus.AnyConsumer) {
		mem := memBus(t)
		limit := math.MaxInt
		b := bus.New("bounded", publishing{mem.Driver(), func(topic string, messages []*message.Message) error {
			for _, m := range messages {
				if sizeOf(m) > limit {
					return fault.MarkPermanent(fmt.Errorf("%s is too large", m.UUID))
				}
			}
			return mem.Publisher().Publish(topic, messages...)
		}})
		r := start(t, b, bus.RunnerConfig{}, consume(bus.Consumer{Topic: "t", Group: "g"}, func(m *message.Message) error {
			if strings.HasPrefix(m.UUID, "bad") {
				return failure
			}
			return nil
		}))
		for i, bound := range []int{math.MaxInt, 6 << 10, driver.LetterBytes, 10} {
			limit = bound
			publish(t, mem, "t", keyed(fmt.Sprint("bad", i), 1), keyed("good", i))
			time.Sleep(time.Minute)
			synctest.Wait()
			letters := browse(t, mem, "t.DLT")
			if bound == 10 {
				if len(letters) != i {
					t.Errorf("a dead letter of %d bytes was published", sizeOf(letters[i]))
				}
				break
			}
			require.Lenf(t, letters, i+1, "with a bound of %d bytes there are %d dead letters", bound, len(letters))
			m := letters[i].Metadata
			if stack := m[driver.DLQStack] != ""; stack != (i == 0) || len(m[driver.DLQError]) < 200 || (len(m[driver.DLQError]) > 4000) != (i < 2) {
				t.Errorf("with a bound of %d bytes the letter has %d bytes of stack and %d of error", bound, len(m[driver.DLQStack]), len(m[driver.DLQError]))
			}
		}
		publish(t, mem, "t", keyed("good", 4))
		time.Sleep(time.Second)
		if s := r.Status()[0]; s.Handled != 5 || s.DeadLettered != 3 || !s.Running || s.Paused || s.Held {
			t.Errorf("%+v; want 5 handled, 3 dead letters, and a consumer that runs", s)
		}
		r.stop(t)
	})
}
