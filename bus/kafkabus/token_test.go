package kafkabus_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/internal/certtest"
)

// look creates a topic and finds it, which needs a connection that has signed in.
func look(t *testing.T, b *bus.Bus) {
	t.Helper()
	topic := name("topic")
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{"g"}}))
	if found, err := b.Topics(t.Context(), topic); err != nil || len(found) != 1 {
		t.Fatalf("the topic is there: %v, %v", found, err)
	}
}

// refused fails unless a ping fails, with an error that contains say and no secret.
func refused(t *testing.T, b *bus.Bus, say string, secrets ...string) {
	t.Helper()
	err := b.Ping(t.Context())
	if err == nil || !strings.Contains(err.Error(), say) {
		t.Errorf("ping: %v; want it to say %q", err, say)
		return
	}
	for _, s := range secrets {
		assert.NotContainsf(t, err.Error(), s, "the error repeats %q: %v", s, err)
	}
}

// tokens is a broker that accepts one token.
func tokens(valid *atomic.Pointer[string]) *signIn {
	return &signIn{mechanism: "OAUTHBEARER", check: func(first []byte) ([]byte, error) {
		// RFC 7628: n,a=identity,^Aauth=Bearer token^A^A
		parts := strings.Split(string(first), "\x01")
		if len(parts) != 4 || parts[0] != "n,," && parts[0] != "n,a=tickets," {
			return nil, fmt.Errorf("malformed: %q", parts[0])
		}
		if token := strings.TrimPrefix(parts[1], "auth=Bearer "); token != *valid.Load() {
			return []byte(`{"status":"invalid_token","token":"` + token + `"}`), nil
		}
		return nil, nil
	}}
}

func TestToken(t *testing.T) {
	const first, second = "t0ken.one-_~+/=", "t0ken.two"
	var valid atomic.Pointer[string]
	valid.Store(new(first))
	gate := tokens(&valid)
	address := guarded(t, gate).ListenAddrs()[0]
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	}
	rotate := func(token string) {
		valid.Store(&token)
		gate.drop() // the next request needs a new connection
	}
	at := func(user *url.Userinfo, query string) string {
		if user == nil {
			return "kafka://" + address + "/?sasl=oauthbearer" + query
		}
		return "kafka://" + user.String() + "@" + address + "/?sasl=oauthbearer" + query
	}

	log := &events{Handler: slog.DiscardHandler, n: map[slog.Level]int{}}
	look(t, openBus(t, kafkabus.Config{Logger: slog.New(alwaysOn{log})}, at(url.UserPassword("", first), "")))
	log.mu.Lock()
	assert.Equal(t, 1, log.n[slog.LevelWarn], "warnings of a readable token")
	log.mu.Unlock()
	look(t, openBus(t, kafkabus.Config{}, at(url.UserPassword("tickets", first), "")))
	refused(t, openBus(t, kafkabus.Config{}, at(url.UserPassword("", second), "")), "invalid_token", second)

	// Every connection reads the file, and calls the function.
	write(first)
	read := openBus(t, kafkabus.Config{}, at(nil, "&token_file="+file))
	var failure error
	called := openBus(t, kafkabus.Config{Token: func(ctx context.Context) (string, error) {
		if _, ok := ctx.Deadline(); !ok {
			return "", errors.New("Token may take for ever")
		}
		return *valid.Load(), failure
	}}, at(nil, ""))
	look(t, read)
	look(t, called)
	rotate(second)
	refused(t, read, "invalid_token", first)
	write(second)
	look(t, read)
	look(t, called)
	failure = errors.New("the vault is sealed")
	gate.drop()
	refused(t, called, "the vault is sealed", second)
	require.NoError(t, os.Remove(file))
	gate.drop()
	refused(t, read, "token_file")
}

// signature computes the signature that AWS documents for a signed query of version 4.
func signature(secret, host string, said map[string]string) string {
	query := url.Values{}
	for _, name := range []string{"Action", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Security-Token", "X-Amz-SignedHeaders"} {
		if value, ok := said[strings.ToLower(name)]; ok {
			query.Set(name, value)
		}
	}
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	canonical := "GET\n/\n" + strings.ReplaceAll(query.Encode(), "+", "%20") + "\nhost:" + host + "\n\nhost\n" + sum("")
	key := []byte("AWS4" + secret)
	scope := strings.SplitN(said["x-amz-credential"], "/", 2)[1]
	for _, part := range append(strings.Split(scope, "/"), "AWS4-HMAC-SHA256\n"+said["x-amz-date"]+"\n"+scope+"\n"+sum(canonical)) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return hex.EncodeToString(key)
}

func TestMSKIAM(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-central-1") // else it is in the brokers' names
	const id, secret, session = "AKIATICKETS", "s3cret/k+y=", "s3ssion/t+ken=="
	cert := certtest.New(t, "127.0.0.1")
	gate := &signIn{mechanism: "AWS_MSK_IAM", tls: cert.Server(), check: func(first []byte) ([]byte, error) {
		said := map[string]string{}
		if err := json.Unmarshal(first, &said); err != nil {
			return nil, err
		}
		date := said["x-amz-date"]
		switch {
		case said["version"] != "2020_10_22" || said["action"] != "kafka-cluster:Connect" || said["host"] != "127.0.0.1" || bytes.Contains(first, []byte(secret)):
			return nil, errors.New("malformed")
		case len(date) < 8 || said["x-amz-credential"] != id+"/"+date[:8]+"/eu-central-1/kafka-cluster/aws4_request":
			return nil, errors.New("unknown credential")
		case said["x-amz-security-token"] != session || said["x-amz-signature"] != signature(secret, "127.0.0.1", said):
			return nil, errors.New("access denied")
		}
		return []byte(`{"version":"2020_10_22"}`), nil
	}}
	address := guarded(t, gate).ListenAddrs()[0]
	at := func(user, query string) string {
		return "kafka://" + user + address + "/?tls=true&ca=" + cert.Cert + "&sasl=aws-msk-iam" + query
	}
	keys := func(secret string) string { return url.UserPassword(id, secret).String() + "@" }
	token := "&session_token=" + url.QueryEscape(session)
	look(t, openBus(t, kafkabus.Config{}, at(keys(secret), token)))
	refused(t, openBus(t, kafkabus.Config{}, at(keys("an0ther"), token)), "access denied", "an0ther", session, url.QueryEscape(session))
	refused(t, openBus(t, kafkabus.Config{}, at(keys(secret), "")), "access denied", secret)
	_, err := bus.Open(t.Context(), at(keys(secret), token+"&x=1"), kafkabus.Scheme(kafkabus.Config{}))
	if err == nil || strings.Contains(err.Error(), session) || strings.Contains(err.Error(), secret) {
		t.Errorf("an unknown parameter: %v", err)
	}

	var failure error
	called := openBus(t, kafkabus.Config{AWS: func(context.Context) (string, string, string, error) { return id, secret, session, failure }}, at("", ""))
	look(t, called)
	failure = errors.New("the role is gone")
	gate.drop()
	refused(t, called, "the role is gone", secret, session)
}
