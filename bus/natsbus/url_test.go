package natsbus_test

import (
	"crypto/tls"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/certtest"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

func TestURLErrors(t *testing.T) {
	for url, want := range map[string]string{
		"nats://":                                       "names no host",
		"nats://user:secret@,127.0.0.1:1":               "empty host",
		"nats://127.0.0.1:1/orders":                     `"/orders"`,
		"nats://127.0.0.1:1/?partition=3":               `"partition"`,
		"nats://127.0.0.1:1/?partitions=0":              `"partitions"`,
		"nats://127.0.0.1:1/?partitions=99999":          "Partitions",
		"nats://127.0.0.1:1/?replicas=0":                `"replicas"`,
		"nats://127.0.0.1:1/?replicas=6":                "replicas is 6; give 1, 3 or 5",
		"nats://127.0.0.1:1/?retention=-1h":             `"retention"`,
		"nats://127.0.0.1:1/?prefix=a.b":                `prefix is "a.b"`,
		"nats://127.0.0.1:1/?tls=maybe":                 `"tls"`,
		"tls://127.0.0.1:1/?ca=/no/such/file":           `"ca"`,
		"tls://127.0.0.1:1/?cert=/no/such/file":         "belong together",
		"nats://127.0.0.1:1/?creds=/no/such/file":       `"creds"`,
		"nats://user:secret@127.0.0.1:1/?token=secret2": "more than once",
		"nats://127.0.0.1:1/?token=secret&x=":           `"x"`,
	} {
		b, err := tryOpen(natsbus.Config{}, url)
		if err == nil {
			b.Close() //nolint:errcheck // it should not be there
			t.Errorf("%s was opened", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want it to say %s", url, err, want)
		}
		conn, err := natsbus.Connect(url, natsbus.Config{})
		if err == nil {
			conn.Close()
		}
		// The limit of a topic's partitions is checked when topics are used.
		if want != "Partitions" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("connect to %s: %v; want it to say %s", url, err, want)
		}
	}
	err := open(t, natsbus.Config{}, "nats://user:secret@127.0.0.1:1").Ping(t.Context())
	require.Equal(t, fault.Infrastructure, fault.Of(err), "%v", err)
	require.NotContains(t, err.Error(), "secret")
}

// delivers publishes one message and consumes it.
func delivers(t *testing.T, url string) {
	t.Helper()
	b := open(t, natsbus.Config{}, url)
	require.NoError(t, b.Ping(t.Context()))
	topic := "t-" + uuid.NewString()
	publish(t, b, topic, keyed("k", "1"))
	receive(t, subscribe(t, b, "group", topic)).Ack()
}

// refuses checks that a server refuses the URL's user, with the reason.
func refuses(t *testing.T, url, why string) {
	t.Helper()
	err := open(t, natsbus.Config{}, url).Ping(t.Context())
	require.ErrorContains(t, err, why)
	require.Equal(t, fault.Infrastructure, fault.Of(err), "%v", err)
	require.NotContains(t, err.Error(), "secret")
}

func TestSignIn(t *testing.T) {
	s := natstest.Start(t, &server.Options{Username: "app", Password: "p@ss/secret"}).Addr().String()
	delivers(t, "nats://app:p%40ss%2Fsecret@"+s)
	refuses(t, "nats://app:secret@"+s, "Authorization Violation")
	conn, err := natsbus.Connect("nats://app:p%40ss%2Fsecret@"+s, natsbus.Config{})
	require.NoError(t, err)
	conn.Close()
	_, err = natsbus.Connect("nats://app:secret@"+s, natsbus.Config{})
	require.ErrorIs(t, err, nats.ErrAuthorization)
	refuses(t, "nats://"+s, "Authorization Violation")

	s = natstest.Start(t, &server.Options{Authorization: "t0ken"}).Addr().String()
	delivers(t, "nats://t0ken@"+s)
	delivers(t, "nats://"+s+"/?token=t0ken")
	refuses(t, "nats://"+s+"/?token=secret", "Authorization Violation")

	s = natstest.Start(t, &server.Options{}).Addr().String()
	delivers(t, "nats://127.0.0.1:1,"+s) // the first server is absent
}

// A credentials file signs in at a server with operator keys.
func TestCredentials(t *testing.T) {
	operator, err := nkeys.CreateOperator()
	require.NoError(t, err)
	account, err := nkeys.CreateAccount()
	require.NoError(t, err)
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	name := func(k nkeys.KeyPair) string {
		t.Helper()
		public, err := k.PublicKey()
		require.NoError(t, err)
		return public
	}
	claims := jwt.NewAccountClaims(name(account))
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	accountText, err := claims.Encode(operator)
	require.NoError(t, err)
	userText, err := jwt.NewUserClaims(name(user)).Encode(account)
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	creds, err := jwt.FormatUserConfig(userText, seed)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "app.creds")
	require.NoError(t, os.WriteFile(file, creds, 0o600))

	// The system's account is another one, or JetStream would be off for this one.
	system, err := nkeys.CreateAccount()
	require.NoError(t, err)
	systemText, err := jwt.NewAccountClaims(name(system)).Encode(operator)
	require.NoError(t, err)
	known := &server.MemAccResolver{}
	require.NoError(t, known.Store(name(account), accountText))
	require.NoError(t, known.Store(name(system), systemText))
	s := natstest.Start(t, &server.Options{TrustedKeys: []string{name(operator)}, AccountResolver: known, SystemAccount: name(system)}).Addr().String()
	delivers(t, "nats://"+s+"/?creds="+url.QueryEscape(file))
	refuses(t, "nats://"+s, "Authorization Violation")
}

func TestTLS(t *testing.T) {
	c := certtest.New(t, "localhost")
	// start returns the address of a server by the name in its certificate.
	start := func(cfg *tls.Config) string {
		address := natstest.Start(t, &server.Options{TLS: true, TLSConfig: cfg}).Addr().String()
		return "localhost:" + address[strings.LastIndex(address, ":")+1:]
	}
	address, trusted := start(c.Server()), "/?ca="+url.QueryEscape(c.Cert)
	delivers(t, "tls://"+address+trusted)
	delivers(t, "nats://"+address+trusted) // naming an authority turns TLS on
	refuses(t, "tls://"+address, "certificate")
	refuses(t, "tls://"+address+"/?ca="+url.QueryEscape(certtest.New(t, "localhost").Cert), "certificate")
	refuses(t, "nats://"+address, "certificate") // the client speaks TLS where a server asks for it

	mutual := c.Server()
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, c.Pool
	address = start(mutual)
	delivers(t, "tls://"+address+trusted+"&cert="+url.QueryEscape(c.Cert)+"&key="+url.QueryEscape(c.Key))
	refuses(t, "tls://"+address+trusted, "tls") // the reason, or that the connection is closed before it was read

	plain := natstest.Start(t, &server.Options{}).Addr().String()
	refuses(t, "nats://"+plain+"/?tls=true", "secure connection not available")
	both := "&cert=" + url.QueryEscape(c.Cert) + "&key=" + url.QueryEscape(c.Cert)
	_, err := tryOpen(natsbus.Config{}, "tls://"+address+trusted+both)
	require.ErrorContains(t, err, `"cert" and "key"`)
}
