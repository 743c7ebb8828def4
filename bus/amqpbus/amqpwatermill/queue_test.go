package amqpwatermill_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	watermilllog "github.com/ThreeDotsLabs/watermill"
	wmamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/bus/amqpbus/amqpwatermill"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestURLs(t *testing.T) {
	for _, good := range []string{"amqp://h1,h2:5673/v?mode=watermill", "amqps://u:p@h/?mode=watermill&heartbeat=5s&connect_timeout=1s"} {
		b := openBus(t, amqpwatermill.Config{}, good)
		assert.NoErrorf(t, b.Close(), "%s: close", good)
	}
	for bad, want := range map[string]string{
		"amqp://h/?mode=watermill&prefix=p":           `"prefix"`,
		"amqp://h/?mode=watermill&exchange=e":         `"exchange"`,
		"amqp://h/?mode=watermill&partitions=1":       `"partitions"`,
		"amqp://h/?mode=watermill&queue_type=quorum":  `"queue_type"`,
		"amqp://h/?mode=watermill&prefetch=2":         `"prefetch"`,
		"amqp://h/?mode=watermill&confirm_timeout=1s": `"confirm_timeout"`,
		"amqp://h/?mode=watermill&what=1":             `"what"`,
		"amqp://u:s3cret@/?mode=watermill":            "host",
		"amqp://h/?mode=tx":                           "mode=watermill",
	} {
		b, err := bus.Open(t.Context(), bad, schemes(amqpwatermill.Config{})...)
		if err == nil {
			t.Errorf("%s was opened: %v", bad, b.Close())
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want an error with %s", bad, err, want)
		}
	}
	_, err := bus.Open(t.Context(), "amqp://h/?mode=watermill", amqpbus.Scheme(amqpbus.Config{}))
	if err == nil || !strings.Contains(err.Error(), "amqpwatermill") {
		t.Errorf("without the package: %v", err)
	}
}

// expect receives and acknowledges messages n to m, each of which may be repeated.
func expect(t *testing.T, ch <-chan *message.Message, n, to int) {
	t.Helper()
	for n <= to {
		select {
		case m, ok := <-ch:
			require.Truef(t, ok, "the channel was closed before %d", n)
			switch got, err := strconv.Atoi(string(m.Payload)); {
			case err != nil || got > n:
				t.Fatalf("got %s, want %d", m.Payload, n)
			case got == n:
				n++
			}
			m.Ack()
		case <-time.After(20 * time.Second):
			t.Fatalf("%d has not come", n)
		}
	}
}

func send(t *testing.T, to message.Publisher, topic string, n, last int) {
	t.Helper()
	for ; n <= last; n++ {
		require.NoError(t, to.Publish(topic, message.NewMessage(uuid.NewString(), []byte(strconv.Itoa(n)))))
	}
}

// TestSharesAQueueWithWatermill starts a fleet of Watermill alone. Our process joins it,
// takes over, and leaves.
func TestSharesAQueueWithWatermill(t *testing.T) {
	url := servicetest.RabbitMQ(t)
	made := clean(t, url)
	b := openBus(t, made.config(), inMode(url))
	defer b.Close() //nolint:errcheck // of a test
	topic := "topic-" + uuid.NewString()
	config := wmamqp.NewDurablePubSubConfig(url, wmamqp.GenerateQueueNameTopicNameWithSuffix("billing"))
	theirs := func() (message.Subscriber, <-chan *message.Message) {
		t.Helper()
		s, err := wmamqp.NewSubscriber(config, watermilllog.NopLogger{})
		return subscribed(t, s, err, topic)
	}
	first, ch := theirs()
	pub, err := wmamqp.NewPublisher(config, watermilllog.NopLogger{})
	require.NoError(t, err)
	defer pub.Close() //nolint:errcheck // of a test
	send(t, pub, topic, 1, 3)
	expect(t, ch, 1, 2)
	sub, err := b.Subscriber("billing", bus.SubscriberConfig{}) // joins
	ours, in := subscribed(t, sub, err, topic)
	if err := first.Close(); err != nil { // with a message in hand
		t.Fatal(err)
	}
	send(t, pub, topic, 4, 6)
	expect(t, in, 3, 6) // it has taken over
	send(t, b.Publisher(), topic, 7, 9)
	expect(t, in, 7, 7)
	second, ch := theirs()
	if err := ours.Close(); err != nil { // and leaves
		t.Fatal(err)
	}
	// Which comes first depends on whether the broker had handed 9 to the one that left.
	for left := map[string]bool{"8": true, "9": true}; len(left) > 0; {
		select {
		case m := <-ch:
			delete(left, string(m.Payload))
			m.Ack()
		case <-time.After(20 * time.Second):
			t.Fatalf("%v have not come", left)
		}
	}
	require.NoError(t, second.Close())
}

func subscribed(t *testing.T, s message.Subscriber, err error, topic string) (message.Subscriber, <-chan *message.Message) {
	t.Helper()
	require.NoError(t, err)
	ch, err := s.Subscribe(context.Background(), topic)
	require.NoError(t, err)
	return s, ch
}

// TestHeadersOfTheBroker consumes a message that Watermill's marshaler refuses each time.
func TestHeadersOfTheBroker(t *testing.T) {
	url := servicetest.RabbitMQ(t)
	b := openBus(t, clean(t, url).config(), inMode(url))
	defer b.Close() //nolint:errcheck // of a test
	topic := "topic-" + uuid.NewString()
	sub, err := b.Subscriber("g", bus.SubscriberConfig{})
	_, ch := subscribed(t, sub, err, topic)
	conn, err := amqp.Dial(url)
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // of a test
	raw, err := conn.Channel()
	require.NoError(t, err)
	err = raw.Publish(topic, "", false, false, amqp.Publishing{Body: []byte("1"), Headers: amqp.Table{
		"x-delivery-count": int64(2), "number": int32(7), "bytes": []byte("b"), "text": "t", "CC": []any{"elsewhere"}, wmamqp.DefaultMessageUUIDHeaderKey: "id",
	}})
	require.NoError(t, err)
	m := <-ch
	want := message.NewMessage("id", []byte("1"))
	want.Metadata = message.Metadata{"number": "7", "bytes": "b", "text": "t"}
	if !m.Equals(want) {
		t.Errorf("got %s %v %q", m.UUID, m.Metadata, m.Payload)
	}
	m.Ack()
	m = message.NewMessage("long", nil)
	m.Metadata[strings.Repeat("m", 256)] = "x" // at which the client closes the connection
	if err := b.Publisher().Publish(topic, m); fault.Of(err) != fault.Permanent {
		t.Errorf("a long name of metadata: %v (%s)", err, fault.Of(err))
	}
}

// TestTLS publishes and consumes over TLS.
func TestTLS(t *testing.T) {
	plain, err := url.Parse(servicetest.RabbitMQ(t))
	require.NoError(t, err)
	certificate, ca := selfSigned(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	require.NoError(t, err)
	defer listener.Close() //nolint:errcheck // of a test
	go forward(listener, plain.Host)
	secure := *plain
	secure.Scheme, secure.Host, secure.RawQuery = "amqps", listener.Addr().String(), "mode=watermill&cacertfile="+ca
	b := openBus(t, clean(t, plain.String()).config(), secure.String())
	topic := "topic-" + uuid.NewString()
	sub, err := b.Subscriber("g", bus.SubscriberConfig{})
	_, ch := subscribed(t, sub, err, topic)
	send(t, b.Publisher(), topic, 1, 2)
	expect(t, ch, 1, 2)
	assert.NoError(t, b.Ping(t.Context()))
	assert.NoError(t, b.Close())
	secure.RawQuery = "mode=watermill"
	stranger := openBus(t, amqpwatermill.Config{}, secure.String())
	defer stranger.Close() //nolint:errcheck // it never connected
	if err := stranger.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
}

func forward(from net.Listener, to string) {
	for {
		in, err := from.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			in.Close() //nolint:errcheck // the client sees it
			return
		}
		pipe := func(to, from net.Conn) {
			io.Copy(to, from) //nolint:errcheck // it ends with the connection
			to.Close()        //nolint:errcheck // it ends with the connection
			from.Close()      //nolint:errcheck // it ends with the connection
		}
		go pipe(in, out)
		go pipe(out, in)
	}
}

// selfSigned makes a certificate for 127.0.0.1, and the file to trust it by.
func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
