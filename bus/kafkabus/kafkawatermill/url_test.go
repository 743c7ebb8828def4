package kafkawatermill_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestURLs(t *testing.T) {
	for _, good := range []string{
		"", "&partitions=7&replication=1&retention=1h&autocreate=false&client_id=shop&lag=all", "&tls=true",
	} {
		b := openBus(t, "kafka://127.0.0.1:1,127.0.0.1:2/?mode=watermill"+good)
		assert.NoErrorf(t, b.Close(), "%s: close", good)
	}
	for bad, want := range map[string]string{
		"kafka://h/?mode=watermill&prefix=p.":                              `"prefix"`,
		"kafka://h/?mode=watermill&instance=a":                             `"instance"`,
		"kafka://h/?mode=watermill&window=1":                               `"window"`,
		"kafka://h/?mode=watermill&partitioner=murmur2":                    `"partitioner"`,
		"kafka://h/?mode=watermill&what=1":                                 `"what"`,
		"kafka://h/?mode=watermill&partitions=no":                          `"partitions"`,
		"kafka://id:s3cret@h/?mode=watermill&tls=true&sasl=aws-msk-iam":    "AWS_MSK_IAM",
		"kafka://u:s3cret@h/?mode=watermill":                               "?sasl=",
		"kafka:///?mode=watermill":                                         "names no host",
		"kafka://h/?mode=tx":                                               "mode=watermill",
		"kafka://u:s3cret@h/?mode=watermill&sasl=scram-sha-512&ca=/no/one": "tls=true",
	} {
		b, err := bus.Open(t.Context(), bad, schemes()...)
		if err == nil {
			t.Errorf("%s was opened: %v", bad, b.Close())
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want an error with %s", bad, err, want)
		}
	}
}

// TestSignIn publishes and consumes on brokers that require TLS and a password.
func TestSignIn(t *testing.T) {
	certificate, ca := selfSigned(t)
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser(mechanism, "shop", "s3cret"),
				kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}))
			require.NoError(t, err)
			defer cluster.Close()
			at := "@" + cluster.ListenAddrs()[0] + "/?mode=watermill&replication=1&tls=true&ca=" + ca + "&sasl=" + strings.ToLower(mechanism)
			b := openBus(t, "kafka://shop:s3cret"+at)
			defer b.Close() //nolint:errcheck // the brokers close first, or not
			m := message.NewMessage("1", []byte("seat"))
			m.Metadata.Set(event.KeyHeader, "k")
			require.NoError(t, b.Publisher().Publish("t", m))
			sub, err := b.Subscriber("g", bus.SubscriberConfig{})
			require.NoError(t, err)
			ch, err := sub.Subscribe(t.Context(), "t")
			require.NoError(t, err)
			if got := <-ch; !got.Equals(m) {
				t.Errorf("got %s %v", got.UUID, got.Metadata)
			} else {
				got.Ack()
			}
			assert.NoError(t, sub.Close())
			wrong := openBus(t, "kafka://shop:wrong"+at)
			defer wrong.Close() //nolint:errcheck // it never connected
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			m.SetContext(ctx)
			if err := wrong.Publisher().Publish("t", m); err == nil || fault.Of(err) != fault.Infrastructure {
				t.Errorf("a wrong password: %v", err)
			}
		})
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

// TestTooLarge publishes messages that the broker refuses beside ones that it accepts: only
// together these are too large for a batch.
func TestTooLarge(t *testing.T) {
	b := openBus(t, "kafka://"+servicetest.Kafka(t)+"/?mode=watermill&partitions=1")
	defer b.Close() //nolint:errcheck // of a test
	var all []*message.Message
	for _, key := range []string{"a", "b", "c", "d"} {
		payload := make([]byte, 700<<10) // bytes that do not compress; two of them exceed the broker's limit
		rand.Read(payload)               //nolint:errcheck // never fails
		m := message.NewMessage(uuid.NewString(), payload)
		m.Metadata.Set(event.KeyHeader, key)
		all = append(all, m)
	}
	topic := "topic-" + uuid.NewString()
	assert.NoError(t, b.Publisher().Publish(topic, all...), "four messages, each of which fits")
	all[2].Payload = append(all[2].Payload, all[1].Payload...)
	var failed *bus.PublishError
	switch err := b.Publisher().Publish(topic, all...); {
	case !errors.As(err, &failed) || fault.Of(err) != fault.Permanent:
		t.Errorf("one of them is too large: %v", err)
	case failed.Outcomes[2] != driver.Refused || len(failed.Unpublished()) != 1:
		t.Errorf("one of them is too large: %v, %v", failed.Outcomes, err)
	}
}
