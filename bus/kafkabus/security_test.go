package kafkabus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// roundTrip publishes and consumes one message.
func roundTrip(t *testing.T, b *bus.Bus) {
	t.Helper()
	topic := name("topic")
	publish(t, b, topic, keyed("k", "hello"))
	expect(t, subscribe(t, subscriber(t, b, name("group"), 1), topic), "hello")
}

func TestSignIn(t *testing.T) {
	const password = "s3cret-päss/@:word"
	for parameter, mechanism := range map[string]string{
		"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512",
	} {
		t.Run(parameter, func(t *testing.T) {
			t.Parallel()
			c := fake(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "tickets", password))
			at := func(password string) string {
				return "kafka://" + url.UserPassword("tickets", password).String() + "@" + c.ListenAddrs()[0] + "/?sasl=" + parameter
			}
			log := &events{Handler: slog.DiscardHandler, n: map[slog.Level]int{}}
			roundTrip(t, openBus(t, kafkabus.Config{Logger: slog.New(alwaysOn{log})}, at(password)))
			log.mu.Lock()
			if warned := log.n[slog.LevelWarn] == 1; warned != (parameter == "plain") {
				t.Errorf("warned of a readable password: %t", warned)
			}
			log.mu.Unlock()
			err := openBus(t, kafkabus.Config{}, at("wrong-"+password)).Ping(t.Context())
			if err == nil {
				t.Fatal("a wrong password was taken")
			}
			if s := err.Error(); strings.Contains(s, password) || strings.Contains(s, url.QueryEscape(password)) || !strings.Contains(s, c.ListenAddrs()[0]) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// certificate makes a self-signed one, and the files of it and its key.
func certificate(t *testing.T, dir string) (pair tls.Certificate, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if pair, err = tls.LoadX509KeyPair(cert, key); err != nil {
		t.Fatal(err)
	}
	return pair, cert, key
}

// Connections are encrypted, the broker's certificate is checked, and ours is shown.
func TestTLS(t *testing.T) {
	t.Parallel()
	pair, cert, key := certificate(t, t.TempDir())
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	c := fake(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}))
	roundTrip(t, openBus(t, kafkabus.Config{}, urlOf(c)+"?tls=true&ca="+cert+"&cert="+cert+"&key="+key))
	for what, query := range map[string]string{
		"an unknown certificate":       "?tls=true&cert=" + cert + "&key=" + key,
		"no certificate of the client": "?tls=true&ca=" + cert,
		"no TLS":                       "",
	} {
		if err := openBus(t, kafkabus.Config{}, urlOf(c)+query).Ping(t.Context()); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
}
