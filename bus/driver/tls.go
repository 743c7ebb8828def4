package driver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS reads three parameters that name files in PEM: the authority to trust instead of those of
// base, and a client certificate with its key, which is read again at each handshake, so that a
// new one needs no restart. It returns a copy of base with what the files hold; without a base,
// TLS 1.2 or later with the system's authorities.
func (p *Params) TLS(base *tls.Config, ca, cert, key string) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if base != nil {
		cfg = base.Clone()
	}
	if file := p.String(ca, ""); file != "" {
		var err error
		if cfg.RootCAs, err = authority(file); err != nil {
			p.errs = append(p.errs, fmt.Errorf("parameter %q: %w", ca, err))
		}
	}
	switch certFile, keyFile := p.String(cert, ""), p.String(key, ""); {
	case (certFile == "") != (keyFile == ""):
		p.errs = append(p.errs, fmt.Errorf("parameters %q and %q belong together; give the file of each", cert, key))
	case certFile != "":
		read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certFile, keyFile)
			return &pair, err
		}
		if _, err := read(nil); err != nil {
			p.errs = append(p.errs, fmt.Errorf("parameters %q and %q: %w", cert, key, err))
		}
		cfg.GetClientCertificate = read
	}
	return cfg
}

func authority(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New(file + " holds no certificate in PEM")
	}
	return pool, nil
}
