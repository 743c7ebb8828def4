package redact_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/cmd/millrace/internal/redact"
)

func TestURL(t *testing.T) {
	for raw, want := range map[string]string{
		"postgres://app:geheim@db:5432/shop?sslmode=require":   "postgres://db:5432/shop",
		"kafka://u:geheim@h1:9092,h2:9092/?sasl=plain":         "kafka://h1:9092,h2:9092/",
		"redis://:geheim@h/0":                                  "redis://h/0",
		"sqs://AKIA:geheim@eu-central-1":                       "sqs://eu-central-1",
		"amqp://u:ge/he?im@h/v":                                "amqp://h/v",
		"mysql://u:ge@heim@h/v":                                "mysql://h/v",
		"postgres://h/d?password=geheim":                       "postgres://h/d",
		"postgres://h/d?password=geheim@x":                     "postgres://…",
		"postgres://h/d?password=x@geheim":                     "postgres://…",
		"kafka://h:9092/?username=a@b&password=geheim":         "kafka://…",
		"amqp://u:ge/h?e=im@h/v":                               "amqp://…",
		"amqp://h/?a@b&password=geheim":                        "amqp://…",
		"sqlite:///var/lib/a@b.db?synchronous=normal":          "sqlite:///var/lib/a@b.db",
		"sqlite://u:geheim@x/y.db":                             "sqlite://x/y.db",
		"u:geheim@db":                                          "a URL without a scheme",
		"u:geheim@db://x":                                      "a URL without a scheme",
		"geheim":                                               "a URL without a scheme",
		"postgres://app:geheim@db:54%zz/shop?sslmode=require#": "postgres://db:54%zz/shop",
	} {
		got := redact.URL(raw)
		assert.Equalf(t, want, got, "%s is shown as %s", raw, got)
		if strings.Contains(got, "geheim") || strings.Contains(got, "AKIA") {
			t.Errorf("%s is shown with its credentials: %s", raw, got)
		}
	}
}

func TestText(t *testing.T) {
	urls := []string{
		"postgres://app:gro%C3%9F%2Fgeheim@db/x?sslpassword=key%20word&sslmode=on",
		"redis://:gro@h", "sqlite:///a:b@c.db", "amqp://guest:@h", "no url",
	}
	got := redact.Text("tried groß/geheim, gro%C3%9F%2Fgeheim, key word and gro on db with sslmode on: b", urls...)
	assert.Equal(t, "tried xxxxx, xxxxx, xxxxx and xxxxx on db with sslmode on: b", got)
}

// A short secret is hidden only as a separate word, and leaves other words unchanged.
func TestShortSecrets(t *testing.T) {
	got := redact.Text(`dial a:b@db: "b", b; bus b refused by b`, "postgres://a:b@db/shop")
	assert.Equal(t, `dial a:xxxxx@db: "xxxxx", xxxxx; bus xxxxx refused by xxxxx`, got)
}

// The parts of a URL that a parser or a driver quotes are hidden too: a part of a password
// that it takes for a port or a path, a quoted one, a user that was meant as a password,
// and values of parameters.
func TestWhatErrorsQuote(t *testing.T) {
	for _, c := range []struct{ raw, text, want string }{
		{"redis://:geheim@h/0", `dial geheim: "geheim"`, `dial xxxxx: "xxxxx"`},
		{"redis://geheim@h/0", "user geheim is unknown", "user xxxxx is unknown"},
		{"nats://t0ken1@h", "token t0ken1 is unknown", "token xxxxx is unknown"},
		{"tls://app:geheim@h", "user app, geheim", "user app, xxxxx"},
		{"postgres://app@h/0", "user app is unknown", "user app is unknown"},
		{"postgres://app:gehe1m/w0rt@h/x", `invalid port ":gehe1m" after host, path /w0rt@h`, `invalid port ":xxxxx" after host, path /xxxxx@h`},
		{"postgres://app:ge\"he\\im@h/x", `parse "postgres://app:ge\"he\\im@h/x"`, `parse "postgres://app:xxxxx@h/x"`},
		{"app:geheim@kafka", `there is no command "app:geheim@kafka"`, `there is no command "app:xxxxx@kafka"`},
		{"kafka://h/?sasl=plain&Client_Secret=gehe1m&api_token=t0ken1;pwd=w0rt99", "gehe1m t0ken1 w0rt99 plain", "xxxxx xxxxx xxxxx plain"},
		{"2026-03-01T19:00:00Z", "since 2026-03-01T19:00:00Z", "since 2026-03-01T19:00:00Z"},
	} {
		assert.Equalf(t, c.want, redact.Text(c.text, c.raw), "with %s", c.raw)
	}
}

// No parse error of a URL shows its password.
func TestParseErrors(t *testing.T) {
	for _, tail := range []string{"%zz", "/", "?", "#", "[", " ", ":", "\x7f", `"`, `\`, "@", "%2"} {
		for _, secret := range []string{"gehe1m" + tail + "w0rt99", tail + "gehe1m", "gehe1m" + tail} {
			for _, raw := range []string{
				"postgres://app:" + secret + "@db:5432/x", "redis://:" + secret + "@db/0", "kafka://app:" + secret + "@[::1/", "amqp://app:" + secret + "@h:port/",
			} {
				_, err := url.Parse(raw)
				if err == nil {
					continue
				}
				got := redact.Text(err.Error(), raw)
				if strings.Contains(got, "gehe1m") || strings.Contains(got, "w0rt99") {
					t.Errorf("%q: %s", raw, got)
				}
			}
		}
	}
}
