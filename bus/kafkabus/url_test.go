package kafkabus

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/millrace-go/millrace/bus"
)

func parseURL(t *testing.T, raw string, cfg Config) (settings, error) {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	return parse(u, cfg)
}

func TestURLs(t *testing.T) {
	for raw, want := range map[string]string{
		"kafka://h1":                        "[h1:9092]",
		"kafka://h1,h2/":                    "[h1:9092 h2:9092]",
		"kafka://h1:1,h2:2/":                "[h1:1 h2:2]",
		"kafka://h1,h2:2":                   "[h1:9092 h2:2]",
		"kafka://[::1]:9093/":               "[[::1]:9093]",
		"kafka://[::1]/":                    "[[::1]:9092]",
		"kafka://u:p@h1:1,h2:2/?sasl=plain": "[h1:1 h2:2]",
	} {
		set, err := parseURL(t, raw, Config{})
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if got := fmt.Sprint(set.brokers); got != want {
			t.Errorf("%s: brokers %s, want %s", raw, got, want)
		}
	}
	set, err := parseURL(t, "kafka://h/?partitions=7&replication=3&retention=90m&client_id=tickets&instance=pod-1&window=9&partitioner=murmur2&lag=all",
		Config{Partitions: 1, Replication: 1, Retention: time.Hour, ClientID: "other", Instance: "other", Window: 1})
	require.NoError(t, err)
	if set.Partitions != 7 || set.Replication != 3 || set.Retention != 90*time.Minute || set.ClientID != "tickets" ||
		set.Instance != "pod-1" || set.Window != 9 || !set.allGroups {
		t.Errorf("the URL does not come first: %+v", set.Config)
	}
	if set, err = parseURL(t, "kafka://h/", Config{Partitions: 5, Instance: "cfg"}); err != nil || set.Partitions != 5 || set.Instance != "cfg" {
		t.Errorf("the Config is lost: %+v, %v", set.Config, err)
	}
}

func TestURLErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.pem")
	require.NoError(t, os.WriteFile(text, []byte("no certificate"), 0o600))
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	for raw, want := range map[string]string{
		"kafka://":                                           "names no host",
		"kafka:///topic":                                     "names no host",
		"kafka://h1,/":                                       "empty host",
		"kafka://h1/topic":                                   "no path",
		"kafka://h1/#x":                                      "%23",
		"kafka://h1/?partition=3":                            `"partition"`,
		"kafka://h1/?partitions=0":                           `"partitions"`,
		"kafka://h1/?partitions=20000":                       "Partitions",
		"kafka://h1/?replication=none":                       `"replication"`,
		"kafka://h1/?replication=5000":                       "Replication",
		"kafka://h1/?retention=-1h":                          `"retention"`,
		"kafka://h1/?window=0":                               `"window"`,
		"kafka://h1/?partitioner=crc":                        "murmur2",
		"kafka://h1/?lag=none":                               "own",
		"kafka://h1/?protocol=next":                          "classic",
		"kafka://h1/?protocol=consumer":                      "ok",
		"kafka://h1/?protocol=consumer&instance=pod-1":       "leave out one",
		"kafka://h1/?prefix=a%2Fb":                           `"prefix"`,
		"kafka://h1/?prefix=__a":                             `"prefix"`,
		"kafka://h1/?sasl=plain":                             "needs a user",
		"kafka://u:secret@h1/":                               "how to sign in",
		"kafka://u:secret@h1/?sasl=gssapi":                   "scram-sha-512",
		"kafka://u@h1/?sasl=plain":                           "without a name or a password",
		"kafka://:secret@h1/?sasl=plain":                     "without a name or a password",
		"kafka://h1/?tls=maybe":                              `"tls"`,
		"kafka://h1/?ca=/x":                                  "tls=true",
		"kafka://h1/?tls=true&cert=/x":                       "belong together",
		"kafka://h1/?tls=true&ca=" + dir + "/missing":        `"ca"`,
		"kafka://h1/?tls=true&ca=" + text:                    "no certificate",
		"kafka://h1/?tls=true&cert=" + text + "&key=" + text: `"cert"`,
		"kafka://h1/?client_id=":                             "ok",

		"kafka://h1/?autocreate=maybe":                                    `"autocreate"`,
		"kafka://:secret@h1/?sasl=oauthbearer":                            "ok",
		"kafka://h1/?sasl=oauthbearer":                                    "token_file=",
		"kafka://u@h1/?sasl=oauthbearer":                                  "Config.Token",
		"kafka://:secret@h1/?sasl=oauthbearer&token_file=" + text:         "keep one",
		"kafka://h1/?sasl=oauthbearer&token_file=" + text:                 "ok",
		"kafka://h1/?sasl=oauthbearer&token_file=" + dir + "/missing":     `"token_file"`,
		"kafka://h1/?sasl=oauthbearer&token_file=" + empty:                "is empty",
		"kafka://h1/?token_file=" + text:                                  "sasl=oauthbearer",
		"kafka://u:secret@h1/?sasl=aws-msk-iam":                           "tls=true",
		"kafka://h1/?sasl=aws-msk-iam&tls=true":                           "Config.AWS",
		"kafka://u@h1/?sasl=aws-msk-iam&tls=true":                         "without a name or a password",
		"kafka://u:secret@h1/?sasl=plain&session_token=secret":            "sasl=aws-msk-iam",
		"kafka://h1/?sasl=aws-msk-iam&tls=true&session_token=secret":      "keys in the URL",
		"kafka://u:secret@h1/?sasl=aws-msk-iam&tls=true&session_token=t1": "ok",
	} {
		_, err := parseURL(t, raw, Config{})
		switch {
		case want == "ok" && err != nil:
			t.Errorf("%s: %v", raw, err)
		case want == "ok":
		case err == nil:
			t.Errorf("%s was taken", raw)
		case !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: %v; want it to say %s", raw, err, want)
		}
	}
	// A list with ports for only some brokers, which net/url takes for a bad port.
	_, err := bus.Open(t.Context(), "kafka://u:secret@h1:9092,h2/", Scheme(Config{}))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestConfigErrors(t *testing.T) {
	for name, cfg := range map[string]Config{
		"Partitions": {Partitions: -1}, "Replication": {Replication: -2}, "Retention": {Retention: -1},
		"PublishTimeout": {PublishTimeout: -1}, "PublishBuffer": {PublishBuffer: -1}, "SessionTimeout": {SessionTimeout: time.Millisecond},
		"HandOverTimeout": {HandOverTimeout: -1}, "CommitInterval": {CommitInterval: -1}, "Window": {Window: -1},
		"seed": {Options: []kgo.Opt{kgo.SeedBrokers()}},
	} {
		if _, err := parseURL(t, "kafka://h/", cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Every client signs in, encrypts and never creates topics; Config.Options come last.
func TestClientOptions(t *testing.T) {
	set, err := parseURL(t, "kafka://user:secret@h/?sasl=scram-sha-512&tls=true&client_id=tickets", Config{Options: []kgo.Opt{kgo.DialTimeout(time.Minute)}})
	require.NoError(t, err)
	c, err := kgo.NewClient(set.options()...)
	require.NoError(t, err)
	defer c.Close()
	mechanisms, _ := c.OptValue(kgo.SASL).([]sasl.Mechanism)
	encrypted, _ := c.OptValue(kgo.DialTLSConfig).(*tls.Config)
	switch {
	case c.OptValue(kgo.AllowAutoTopicCreation) != false:
		t.Error("brokers may make topics with defaults of their own")
	case c.OptValue(kgo.DialTimeout) != time.Minute:
		t.Error("Config.Options do not come last")
	case c.OptValue(kgo.ClientID) != "tickets":
		t.Errorf("its name is %v", c.OptValue(kgo.ClientID))
	case len(mechanisms) != 1 || mechanisms[0].Name() != "SCRAM-SHA-512":
		t.Errorf("it signs in with %v", mechanisms)
	case encrypted == nil || encrypted.MinVersion < tls.VersionTLS12 || encrypted.InsecureSkipVerify:
		t.Errorf("TLS is not safe: %v", encrypted)
	}
}
