// Package certtest makes TLS certificates for tests, each of an authority of its own.
//
//	c := certtest.New(t, "127.0.0.1")
//	l, err := tls.Listen("tcp", "127.0.0.1:0", c.Server())
//	client := &tls.Config{RootCAs: c.Pool} // or the file c.Cert, as the authority to trust
//
// A client that trusts another certificate of this package refuses this one.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificate is its own authority. It serves both a server and a client.
type Certificate struct {
	Cert, Key string // files in PEM
	Pair      tls.Certificate
	Pool      *x509.CertPool // trusts the certificate and no other
}

// Server returns the configuration of a server that shows the certificate.
func (c Certificate) Server() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.Pair}, MinVersion: tls.VersionTLS12}
}

// New makes a certificate for the hosts, which are names or addresses. Its files end with
// the test, and the certificate within the hour.
func New(t testing.TB, hosts ...string) Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := Certificate{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), Pool: x509.NewCertPool()}
	for file, block := range map[string]*pem.Block{c.Cert: {Type: "CERTIFICATE", Bytes: der}, c.Key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c.Pair, err = tls.LoadX509KeyPair(c.Cert, c.Key); err != nil {
		t.Fatal(err)
	}
	c.Pool.AddCert(c.Pair.Leaf)
	return c
}
