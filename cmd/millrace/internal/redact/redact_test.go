package redact_test

import (
	"strings"
	"testing"

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
		"postgres://h/d?password=geheim@x":                     "postgres://x",
		"sqlite:///var/lib/a@b.db?synchronous=normal":          "sqlite:///var/lib/a@b.db",
		"sqlite://u:geheim@x/y.db":                             "sqlite://x/y.db",
		"u:geheim@db":                                          "a URL without a scheme",
		"u:geheim@db://x":                                      "a URL without a scheme",
		"geheim":                                               "a URL without a scheme",
		"postgres://app:geheim@db:54%zz/shop?sslmode=require#": "postgres://db:54%zz/shop",
	} {
		got := redact.URL(raw)
		if got != want {
			t.Errorf("%s is shown as %s, want %s", raw, got, want)
		}
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
	if want := "tried xxxxx, xxxxx, xxxxx and xxxxx on db with sslmode on: b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A short secret is hidden where it stands alone, and leaves words as they are.
func TestShortSecrets(t *testing.T) {
	got := redact.Text(`dial a:b@db: "b", b; bus b refused by b`, "postgres://a:b@db/shop")
	if want := `dial a:xxxxx@db: "xxxxx", xxxxx; bus xxxxx refused by xxxxx`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
