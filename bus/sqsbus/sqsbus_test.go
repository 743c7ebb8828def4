package sqsbus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

// raw receives messages as any SQS client does.
func raw(t *testing.T, p place, topic string) []types.Message {
	t.Helper()
	out, err := p.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: p.queue(t, topic), MaxNumberOfMessages: 10, WaitTimeSeconds: 5, VisibilityTimeout: 1,
		MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	require.NoError(t, err)
	return out.Messages
}

func (p place) queue(t *testing.T, topic string) *string {
	t.Helper()
	name := p.prefix + strings.ReplaceAll(topic, ".", "-") + p.suffix
	out, err := p.client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	require.NoError(t, err)
	return out.QueueUrl
}

// wantAttributes checks the attributes of the metadata in the tests of the wire format.
func wantAttributes(t *testing.T, m types.Message) {
	t.Helper()
	got := map[string]string{}
	for name, a := range m.MessageAttributes {
		got[name] = aws.ToString(a.DataType) + " " + aws.ToString(a.StringValue)
	}
	want := map[string]string{"_watermill_message_uuid": "String id-1", event.KeyHeader: "String user/7", "ce_type": "String Admitted"}
	assert.Equalf(t, fmt.Sprint(want), fmt.Sprint(got), "the attributes are %v, want %v", got, want)
}

// The message group is the key, the deduplication id the message's, and text with
// little metadata is as Watermill's SQS writes it.
func TestWireFormat(t *testing.T) {
	p := newPlace(t)
	b := open(t, sqsbus.Config{}, p.url)
	m := message.NewMessage("id-1", []byte(`{"seat":"A-1"}`))
	m.Metadata = message.Metadata{event.KeyHeader: "user/7", "ce_type": "Admitted"}
	publish(t, b, "notices.admitted", m)
	got := raw(t, p, "notices.admitted")
	require.Lenf(t, got, 1, "got %d messages", len(got))
	assert.Equal(t, string(m.Payload), aws.ToString(got[0].Body), "the body")
	wantAttributes(t, got[0])
	for name, want := range map[string]string{"MessageGroupId": "user/7", "MessageDeduplicationId": "id-1"} {
		if got := got[0].Attributes[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// A message that is published twice within five minutes is there once; redriven it is
// another, and so is an edited dead letter.
func TestDeduplication(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	b := open(t, sqsbus.Config{}, p.url)
	with := func(name, value string) *message.Message {
		m := message.NewMessage("same", []byte(name+value))
		m.Metadata.Set(event.KeyHeader, "k")
		if name != "" {
			m.Metadata.Set(name, value)
		}
		return m
	}
	all := []*message.Message{
		with("", ""), with(driver.DLQRedrive, "1"), with(driver.DLQRedrive, "2"), with(driver.DLQEdits, "1"),
		with(driver.DLQGroup, "one"), with(driver.DLQGroup, "two"), with(driver.DLQOriginalTopic, "elsewhere"),
	}
	for range 2 {
		for _, m := range all {
			publish(t, b, "topic", m)
		}
	}
	ch, _ := subscribe(t, b, "group", "topic", 10)
	for _, want := range all {
		m := receive(t, ch)
		if string(m.Payload) != string(want.Payload) {
			t.Errorf("got %q, want %q", m.Payload, want.Payload)
		}
		m.Ack()
	}
	select {
	case m := <-ch:
		t.Errorf("%q came twice", m.Payload)
	case <-time.After(300 * time.Millisecond):
	}
}

// Any bytes pass. A message that is too large is compressed; if it still is too large, it
// is refused with its size.
func TestPayloads(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	b := open(t, sqsbus.Config{}, p.url)
	random := make([]byte, 150_000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	var want []*message.Message
	for _, payload := range [][]byte{
		{0, 1, 2, 0xff}, []byte("line\r\nline"), []byte("\uFFFE"), []byte("plain"), random,
		bytes.Repeat([]byte("compressible"), 100_000),
	} {
		m := keyed("k", "")
		m.Payload = payload
		for i := range 12 {
			m.Metadata.Set(fmt.Sprint("name ", i), fmt.Sprint("\x01", i))
		}
		want = append(want, m)
	}
	publish(t, b, "topic", want...)
	ch, _ := subscribe(t, b, "group", "topic", 10)
	for _, w := range want {
		m := receive(t, ch)
		if m.UUID != w.UUID || !m.Equals(w) {
			t.Errorf("%d bytes came back as %d, or their metadata %v is %v", len(w.Payload), len(m.Payload), w.Metadata, m.Metadata)
		}
		m.Ack()
	}
	large := keyed("k", "")
	large.Payload = slices.Concat(random, random, random)
	for i := range large.Payload {
		large.Payload[i] = byte(rand.Uint32())
	}
	err := b.Publisher().Publish("topic", large)
	if !errors.Is(err, sqsbus.ErrTooLarge) || fault.Of(err) != fault.Permanent || !strings.Contains(err.Error(), "450000") {
		t.Errorf("450,000 random bytes: %v (%v)", err, fault.Of(err))
	}
	var failed *bus.PublishError
	err = b.Publisher().Publish("topic", keyed("k", "x"), large, keyed("k", "y"))
	if want := []driver.Outcome{driver.NotSent, driver.Refused, driver.NotSent}; !errors.As(err, &failed) || !slices.Equal(failed.Outcomes, want) || failed.ID != large.UUID {
		t.Errorf("450,000 random bytes between two others: %v, want %v", err, want)
	}
	odd := keyed("k", "x")
	odd.Metadata.Set("bad", "\xff")
	if err := b.Publisher().Publish("topic", odd); fault.Of(err) != fault.Permanent {
		t.Errorf("metadata that is no text: %v (%v)", err, fault.Of(err))
	}
}

// While a handler works, the message stays ours, far beyond its first visibility timeout,
// and on a FIFO queue so does its key.
func TestVisibilityIsExtended(t *testing.T) {
	t.Parallel()
	eachKind(t, testVisibilityIsExtended)
}

func testVisibilityIsExtended(t *testing.T, p place) {
	way := startGate(t)
	b := open(t, sqsbus.Config{}, way.through(t, p)+"&visibility=6s")
	other := open(t, sqsbus.Config{}, p.url+"&visibility=6s")
	publish(t, b, "topic", keyed("k", "1"))
	if b.Capabilities().OrderedPerKey {
		publish(t, b, "topic", keyed("k", "2"))
	}
	ch, _ := subscribe(t, b, "group", "topic", 10)
	m := receive(t, ch)
	second, _ := subscribe(t, other, "group", "topic", 10)
	// The first visibility timeout, and time for the other source to receive the message then.
	for end := time.Now().Add(7 * time.Second); time.Now().Before(end); {
		select {
		case m := <-second:
			t.Fatalf("%s went to another while its key was being handled", m.Payload)
		case <-m.Context().Done():
			t.Fatal("the message was taken back")
		case <-way.extended:
		}
	}
	m.Ack()
}

// When a source is cut off, its message's context ends, and another source continues.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	eachKind(t, testTakenBack)
}

func testTakenBack(t *testing.T, p place) {
	way := startGate(t)
	mine := open(t, sqsbus.Config{}, way.through(t, p)+"&visibility=2s")
	publish(t, mine, "topic", keyed("k", "1"), keyed("k", "2"))
	ch, _ := subscribe(t, mine, "group", "topic", 10)
	m := receive(t, ch)
	way.shut.Store(true)
	other := open(t, sqsbus.Config{}, p.url)
	second, _ := subscribe(t, other, "group", "topic", 10)
	var got []string
	for range 2 {
		m := receive(t, second)
		got = append(got, string(m.Payload))
		m.Ack()
	}
	if !other.Capabilities().OrderedPerKey {
		slices.Sort(got)
	}
	if want := []string{"1", "2"}; !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	select {
	case <-m.Context().Done():
	case <-time.After(10 * time.Second):
		t.Error("the message's context goes on")
	}
	way.shut.Store(false)
}

// gate is a proxy to the server that can be shut.
type gate struct {
	*httptest.Server
	shut     atomic.Bool
	extended chan struct{} // capacity 1: the visibility of messages was
}

func startGate(t *testing.T) *gate {
	t.Helper()
	target, err := url.Parse(servicetest.SQS(t))
	require.NoError(t, err)
	transport := &http.Transport{}
	g := &gate{extended: make(chan struct{}, 1)}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport,
	}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.shut.Load() {
			http.Error(w, "shut", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ChangeMessageVisibilityBatch") {
			select {
			case g.extended <- struct{}{}:
			default:
			}
		}
	}))
	t.Cleanup(func() {
		g.Close()
		transport.CloseIdleConnections()
	})
	return g
}

// through is the URL of a place by way of the gate.
func (g *gate) through(t *testing.T, p place) string {
	return strings.Replace(p.url, url.QueryEscape(servicetest.SQS(t)), url.QueryEscape(g.URL), 1)
}

// While the server is unavailable, Publish fails as infrastructure; consumers continue when
// it is back.
func TestServerAway(t *testing.T) {
	t.Parallel()
	eachKind(t, testServerAway)
}

func testServerAway(t *testing.T, p place) {
	way := startGate(t)
	b := open(t, sqsbus.Config{}, way.through(t, p))
	ch, _ := subscribe(t, b, "group", "topic", 10)
	publish(t, b, "topic", keyed("k", "1"))
	receive(t, ch).Ack()
	way.shut.Store(true)
	if err := b.Publisher().Publish("topic", keyed("k", "2")); fault.Of(err) != fault.Infrastructure {
		t.Errorf("publishing to a server that is away: %v (%v)", err, fault.Of(err))
	}
	way.shut.Store(false)
	publish(t, b, "topic", keyed("k", "3"))
	m := receive(t, ch)
	if string(m.Payload) != "3" {
		t.Errorf("got %s", m.Payload)
	}
	m.Ack()
}

// Order per key over two instances that come and go, with several messages of a
// key in one call.
func TestOrderOverInstances(t *testing.T) {
	t.Parallel()
	const keys, each = 5, 20
	p := newPlace(t)
	b := open(t, sqsbus.Config{}, p.url)
	var messages []*message.Message
	for n := range each {
		for k := range keys {
			messages = append(messages, keyed(fmt.Sprint("key", k), fmt.Sprint(n)))
		}
	}
	publish(t, b, "topic", messages...)
	next := map[string]int{}
	for total := 0; total < keys*each; {
		ch, sub := subscribe(t, open(t, sqsbus.Config{}, p.url), "group", "topic", 64)
		for range min(17, keys*each-total) {
			m := receive(t, ch)
			if want := fmt.Sprint(next[event.Key(m)]); string(m.Payload) != want {
				t.Fatalf("%s: got %s, want %s", event.Key(m), m.Payload, want)
			}
			next[event.Key(m)]++
			total++
			m.Ack()
		}
		require.NoError(t, sub.Close())
	}
}

// A queue has one group: a second is refused when it is declared, and when it subscribes at
// the same time.
func TestSecondGroup(t *testing.T) {
	t.Parallel()
	eachKind(t, testSecondGroup)
}

func testSecondGroup(t *testing.T, p place) {
	b := open(t, sqsbus.Config{}, p.url)
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, sqsbus.ErrOtherGroup) || fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v (%v)", what, err, fault.Of(err))
		}
	}
	refused("declaring two groups", b.Declare(t.Context(), bus.Topic{Name: "two", Groups: []string{"a", "b"}}))
	assert.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "one", Groups: []string{"a", driver.RedriveGroup}}), "the redrive group beside another")
	join := func(group, topic string) error {
		sub := sourcetest.Subscriber(b.Driver(), group, 1)
		t.Cleanup(func() { sub.Close() })
		_, err := sub.Subscribe(context.WithoutCancel(t.Context()), topic)
		return err
	}
	refused("subscribing beside a declared group", join("b", "one"))
	require.NoError(t, join("a", "free"))
	refused("subscribing beside a subscribed group", join("b", "free"))
	refused("redriving beside a subscribed group", join(driver.RedriveGroup, "free"))
}

// Names that SQS does not accept, or that two topics would share, are refused.
func TestTopicNames(t *testing.T) {
	p := newPlace(t)
	b := open(t, sqsbus.Config{}, p.url)
	publish(t, b, "payment.events", keyed("k", "1"))
	other := open(t, sqsbus.Config{}, p.url)
	if err := other.Publisher().Publish("payment-events", keyed("k", "1")); !errors.Is(err, sqsbus.ErrOtherTopic) || fault.Of(err) != fault.Permanent {
		t.Errorf("a topic whose queue is another's: %v (%v)", err, fault.Of(err))
	}
	for _, topic := range []string{"a b", "좌석", "a/b", strings.Repeat("x", 80)} {
		if err := b.Publisher().Publish(topic, keyed("k", "1")); fault.Of(err) != fault.Permanent {
			t.Errorf("%s: %v (%v)", topic, err, fault.Of(err))
		}
	}
}

// Odd keys and ids are replaced by their hash; order and content stay.
func TestOddKeys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	b := open(t, sqsbus.Config{}, p.url)
	var want []*message.Message
	for _, key := range []string{"", "좌석 A-1", strings.Repeat("k", 300)} {
		for range 2 {
			m := keyed(key, key)
			m.UUID = key + uuid.NewString()
			want = append(want, m)
		}
	}
	publish(t, b, "topic", want...)
	ch, _ := subscribe(t, b, "group", "topic", 10)
	got := map[string][]string{}
	for range want {
		m := receive(t, ch)
		got[event.Key(m)] = append(got[event.Key(m)], m.UUID)
		m.Ack()
	}
	for i := 0; i < len(want); i += 2 {
		if key := event.Key(want[i]); !slices.Equal(got[key], []string{want[i].UUID, want[i+1].UUID}) {
			t.Errorf("key %.20q: got %v", key, got[key])
		}
	}
}

func TestDeclareSetsRetention(t *testing.T) {
	t.Parallel()
	eachKind(t, testDeclareSetsRetention)
}

func testDeclareSetsRetention(t *testing.T, p place) {
	b := open(t, sqsbus.Config{}, p.url)
	for _, retention := range []time.Duration{0, 3 * 24 * time.Hour, 7 * 24 * time.Hour} {
		assert.NoErrorf(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Retention: retention}), "retention %s", retention)
	}
	for _, retention := range []time.Duration{time.Second, 15 * 24 * time.Hour} {
		if err := b.Declare(t.Context(), bus.Topic{Name: "topic", Retention: retention}); fault.Of(err) != fault.Permanent {
			t.Errorf("retention %s: %v (%v)", retention, err, fault.Of(err))
		}
	}
}

func TestURLErrors(t *testing.T) {
	for url, want := range map[string]string{
		"sqs://":                            "no region",
		"sqs://eu-central-1:443":            "no port",
		"sqs://eu-central-1/queue":          "has a path",
		"sqs://key@eu-central-1":            "half a credential",
		"sqs://key:hunter2@r?retries=3":     `"retries"`,
		"sqs://key:hunter2@r?wait=1m":       "the wait",
		"sqs://key:hunter2@r?wait=1.5s":     "the wait",
		"sqs://key:hunter2@r?visibility=1s": "the visibility",
		"sqs://key:hunter2@r?retention=30s": "the retention",
		"sqs://key:hunter2@r?maxbytes=5":    "maxbytes",
		"sqs://key:hunter2@r?prefix=a.b":    "the prefix",
		"sqs://key:hunter2@r?endpoint=host": "the endpoint",

		"sqs://key:hunter2@r?cacertfile=ca.pem":                               "endpoint=https://",
		"sqs://key:hunter2@r?endpoint=https://host&cacertfile=/nowhere.pem":   `"cacertfile"`,
		"sqs://key:hunter2@r?endpoint=https://host&cacertfile=sqsbus_test.go": "holds no certificate",

		"sqs://r?session_token=hunter2":                                                    `"session_token" needs the keys in the URL`,
		"sqs://key:hunter2@r?session_token=hunter2&role=notices":                           `"role" is "notices"; give the ARN`,
		"sqs://r?role=arn:aws:iam::123456789012:user/notices":                              `"role"`,
		"sqs://r?external_id=hunter2":                                                      `"external_id" needs a role`,
		"sqs://r?role=arn:aws:iam::123456789012:role/notices&external_id=hunter2%20hunter": `"external_id" is not one that AWS takes`,
	} {
		b, err := tryOpen(sqsbus.Config{}, url)
		if err == nil {
			b.Close()
			t.Errorf("%s was opened", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want it to say %s", url, err, want)
		}
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	err := open(t, sqsbus.Config{}, "sqs://key:hunter2@r?endpoint=http://127.0.0.1:1").Ping(t.Context())
	if fault.Of(err) != fault.Infrastructure || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a server that is away: %v (%v)", err, fault.Of(err))
	}
}
