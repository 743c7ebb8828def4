package mysqldb

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
)

// takeTLS makes a configuration of the URL's tls-… files and removes them from the parameters;
// nil when there are none. Without files the driver's own tls parameter is used.
func takeTLS(params url.Values, host string) (*tls.Config, error) {
	ca, cert, key := params.Get("tls-ca"), params.Get("tls-cert"), params.Get("tls-key")
	for _, name := range []string{"tls-ca", "tls-cert", "tls-key"} {
		params.Del(name)
	}
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	cfg := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	switch mode := params.Get("tls"); mode {
	case "", "true":
	case "skip-verify":
		cfg.InsecureSkipVerify = true //nolint:gosec // asked for by name
	default:
		return nil, fmt.Errorf("mysqldb: tls=%s does not go with tls-ca, tls-cert and tls-key; use tls=true", mode)
	}
	params.Del("tls")
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("mysqldb: tls-ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("mysqldb: tls-ca: %s holds no certificate in PEM", ca)
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("mysqldb: tls-cert and tls-key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}
