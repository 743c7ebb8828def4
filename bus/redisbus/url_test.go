package redisbus_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/fault"
)

func TestURLErrors(t *testing.T) {
	for url, want := range map[string]string{
		"redis://":                                      "names no host",
		"redis://:6379":                                 "",
		"redis://127.0.0.1:1/?partition=3":              `"partition"`,
		"redis://127.0.0.1:1/?partitions=0":             `"partitions"`,
		"redis://127.0.0.1:1/?partitions=99999":         "Partitions",
		"redis://127.0.0.1:1/?retention=-1h":            `"retention"`,
		"redis://127.0.0.1:1/?maxlen=x":                 `"maxlen"`,
		"redis://127.0.0.1:1/?wait=0":                   `"wait"`,
		"redis://127.0.0.1:1/?cluster=maybe":            `"cluster"`,
		"redis://127.0.0.1:1/?prefix=%7Ba%7D":           "brace",
		"redis://127.0.0.1:1/?cluster=1&wait=1":         "min-replicas",
		"redis://127.0.0.1:1,127.0.0.1:2/?master=":      `"master" is empty`,
		"redis://127.0.0.1:1/?master=m&cluster=1":       "both master= and cluster=true",
		"redis://127.0.0.1:1/?sentinel_password=secret": "no master=",
		"redis://127.0.0.1:1/?master=m&master=n":        "2 times",
		"redis://127.0.0.1:1/?master=m&sentinel_user=u": "no sentinel_password=",
		"redis://127.0.0.1:1/?master=m&wait=0":          `"wait"`,
		"redis://127.0.0.1:1,127.0.0.1:2/3":             "database 3",
		"redis://127.0.0.1:1/cache":                     `"cache"`,
		"redis://user:secret@127.0.0.1:1/0#x":           "%23",
		"redis://user:secret@,127.0.0.1:1/0":            "empty host",
		"redis://user:secret@127.0.0.1:1,h:2/?x=":       `"x"`,
	} {
		b, err := tryOpen(redisbus.Config{}, url)
		if err == nil {
			b.Close()
			t.Errorf("%s was opened", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want it to say %s", url, err, want)
		}
	}
	for _, scheme := range []string{"redis", "rediss"} {
		err := open(t, redisbus.Config{}, scheme+"://user:secret@127.0.0.1:1/0").Ping(t.Context())
		if fault.Of(err) != fault.Infrastructure || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "secret") {
			t.Errorf("a server that is away: %v is %v, want infrastructure", err, fault.Of(err))
		}
	}
}

// A user with a password, over TLS; a wrong password is said and not repeated.
func TestTLSAndPassword(t *testing.T) {
	dir := t.TempDir()
	pool := certificate(t, dir)
	file := func(name string) string { return filepath.Join(dir, name) }
	port := freePort(t)
	s := startServer(t, "--tls-port", fmt.Sprint(port), "--tls-auth-clients", "no",
		"--tls-cert-file", file("cert.pem"), "--tls-key-file", file("key.pem"), "--tls-ca-cert-file", file("cert.pem"))
	if err := s.client.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">p@ss/w0rd", "~*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	cfg := redisbus.Config{TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	url := fmt.Sprintf("rediss://app:%%s@127.0.0.1:%d/0", port)
	b := open(t, cfg, fmt.Sprintf(url, "p%40ss%2Fw0rd"))
	ch := subscribe(t, b, "group", "topic", 10)
	publish(t, b, "topic", keyed("k", "1"))
	receive(t, ch).Ack()

	err := open(t, cfg, fmt.Sprintf(url, "hunter2")).Ping(t.Context())
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("a wrong password: %v", err)
	}
	err = open(t, redisbus.Config{}, fmt.Sprintf(url, "p%40ss%2Fw0rd")).Ping(t.Context())
	if err == nil || strings.Contains(err.Error(), "w0rd") {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
}

// certificate writes a key and a certificate for 127.0.0.1, and returns whom to trust.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	for name, data := range map[string][]byte{
		"cert.pem": certPEM, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return pool
}

// A program's own client serves, and stays open.
func TestSharedClient(t *testing.T) {
	p := single(t)
	b := open(t, redisbus.Config{Client: p.client, Prefix: p.prefix}, "redis://127.0.0.1:1/")
	publish(t, b, "topic", keyed("k", "1"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.client.Ping(context.Background()).Err(); err != nil {
		t.Errorf("the shared client after Close: %v", err)
	}
}
