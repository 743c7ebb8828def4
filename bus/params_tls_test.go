package bus_test

import (
	"crypto/tls"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/certtest"
)

// Params.TLS reads the files, changes nothing of its base, and names the parameter in an error.
func TestParamsTLS(t *testing.T) {
	c := certtest.New(t, "localhost")
	text := filepath.Join(t.TempDir(), "text.pem")
	require.NoError(t, os.WriteFile(text, []byte("no certificate"), 0o600))
	read := func(base *tls.Config, values url.Values) (*tls.Config, error) {
		p := driver.NewParams(&url.URL{RawQuery: values.Encode()})
		cfg := p.TLS(base, "ca", "cert", "key")
		return cfg, p.Err()
	}
	base := &tls.Config{ServerName: "db", MinVersion: tls.VersionTLS13}
	cfg, err := read(base, url.Values{"ca": {c.Cert}, "cert": {c.Cert}, "key": {c.Key}})
	if err != nil || !cfg.RootCAs.Equal(c.Pool) || cfg.GetClientCertificate == nil || cfg.ServerName != "db" || cfg.MinVersion != tls.VersionTLS13 {
		t.Errorf("of all files it is %+v, %v", cfg, err)
	}
	if base.RootCAs != nil || base.GetClientCertificate != nil {
		t.Errorf("the base was changed: %+v", base)
	}
	if cfg, err := read(nil, nil); err != nil || cfg.RootCAs != nil || cfg.GetClientCertificate != nil || cfg.MinVersion != tls.VersionTLS12 {
		t.Errorf("of no file it is %+v, %v", cfg, err)
	}
	for want, values := range map[string]url.Values{
		`"ca": open`:                        {"ca": {"/no/such/file"}},
		"text.pem holds no certificate":     {"ca": {text}},
		`"cert" and "key" belong together`:  {"cert": {c.Cert}},
		`"key" belong together`:             {"key": {c.Key}},
		`parameters "cert" and "key": tls:`: {"cert": {text}, "key": {text}},
	} {
		if _, err := read(nil, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %v: %v; want %q in it", values, err, want)
		}
	}
}

// A handshake after a certificate was renewed shows the new one.
func TestParamsTLSReadsAgain(t *testing.T) {
	first, second := certtest.New(t, "localhost"), certtest.New(t, "localhost")
	p := driver.NewParams(&url.URL{RawQuery: url.Values{"cert": {first.Cert}, "key": {first.Key}}.Encode()})
	cfg := p.TLS(nil, "ca", "cert", "key")
	require.NoError(t, p.Err())
	shown := func() string {
		pair, err := cfg.GetClientCertificate(nil)
		require.NoError(t, err)
		return string(pair.Certificate[0])
	}
	before := shown()
	for from, to := range map[string]string{second.Cert: first.Cert, second.Key: first.Key} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	if shown() == before {
		t.Error("a handshake shows the certificate of before")
	}
}
