package doctor_test

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/millrace-go/millrace/cmd/millrace/internal/doctor"
)

// remote are URLs of every kind of server, with %s for its address.
var remote = []string{
	"postgres://app:gehe1m@%s/shop", "mysql://app:gehe1m@%s/shop", "redis://app:gehe1m@%s/0", "rediss://app:gehe1m@%s/0",
	"amqp://app:gehe1m@%s/", "amqps://app:gehe1m@%s/", "kafka://%s/", "kafka://app:gehe1m@%s/?sasl=plain",
	"nats://app:gehe1m@%s/", "tls://app:gehe1m@%s/",
	"sqs://key:gehe1m@region/?endpoint=http://%s", "sns://key:gehe1m@region/?endpoint=http://%s",
}

func TestUnreachable(t *testing.T) {
	for _, form := range remote {
		t.Run(strings.ReplaceAll(form, "/", ""), func(t *testing.T) {
			t.Parallel()
			refused := freePort(t)
			want(t, examine(t, doctor.Any, fmt.Sprintf(form, refused)), doctor.Error, "reachable", "nothing listens on "+refused)
			unknown := examine(t, doctor.Any, fmt.Sprintf(form, "no-such-host.invalid:5432"))
			if !says(unknown, doctor.Error, "reachable", `"no-such-host.invalid" is unknown`) && !says(unknown, doctor.Error, "reachable", `"no-such-host.invalid" cannot be looked up`) {
				t.Errorf("of a name that does not exist it says %+v", unknown)
			}
			where := listener(t, silent)
			began := time.Now()
			mute := examineIn(t, 500*time.Millisecond, doctor.Any, fmt.Sprintf(form, where))
			want(t, mute, doctor.Error, "answers", "takes connections and says nothing for 500ms")
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("to see that nobody answers took %s", took)
			}
			hangsUp := listener(t, func(c net.Conn) { c.Close() })
			if r := examine(t, doctor.Any, fmt.Sprintf(form, hangsUp)); !says(r, doctor.Error, "answers", "") {
				t.Errorf("of a server that hangs up it says %+v", r)
			}
		})
	}
}

// One unreachable host of several is a warning as long as another answers.
func TestOneOfSeveralIsAway(t *testing.T) {
	away, mute := freePort(t), listener(t, silent)
	r := examineIn(t, 300*time.Millisecond, doctor.Transport, "kafka://"+away+","+mute+"/")
	want(t, r, doctor.Warning, "reachable", "nothing listens on "+away)
	want(t, r, doctor.Error, "answers", "says nothing")
}

func TestURLs(t *testing.T) {
	for _, c := range []struct {
		purpose    doctor.Purpose
		url, words string
	}{
		{doctor.Any, "app:gehe1m@db/shop", "no scheme"},
		{doctor.Any, "oracle://app:gehe1m@db/shop", `no "oracle" here`},
		{doctor.Any, "postgres://app:gehe1m/x@[::1/shop", "malformed"},
		{doctor.Database, "kafka://h", "kafka:// is no database"},
		{doctor.Database, "nats://h", "nats:// is no database"},
		{doctor.Redis, "postgres://h/d", "postgres:// is no redis"},
		{doctor.Any, "postgres://app:gehe1m@127.0.0.1/shop?sslmode=perhaps", "cannot be used"},
		{doctor.Any, "mysql://app:gehe1m@127.0.0.1", "one database"},
		{doctor.Any, "redis://:gehe1m@127.0.0.1/first", "no number of a database"},
		{doctor.Any, "sqlite://app:gehe1m@x/y.db", "has no user"},
		{doctor.Any, "sqs://:gehe1m@/", "names no region"},
		{doctor.Any, "kafka://app:gehe1m@h1,,h2/", "empty host"},
		{doctor.Any, "amqps://app:gehe1m@", "write amqps://host:5671"},
		{doctor.Any, "nats://app:gehe1m@[/", "malformed"},
	} {
		want(t, examine(t, c.purpose, c.url), doctor.Error, "url", c.words)
	}
	where := listener(t, silent)
	for _, scheme := range []string{"amqp", "kafka", "nats"} {
		want(t, examine(t, doctor.Transport, scheme+"://app:gehe1m@"+where+","+where+"/?unknown=1"), doctor.Error, "url", `"unknown"`)
	}
	want(t, examine(t, doctor.Transport, "mem://"), doctor.Warning, "durable", "gone with its process")
}

// postgresSaying is a server that answers every connection with an error.
func postgresSaying(t *testing.T, code, message string) string {
	return listener(t, func(c net.Conn) {
		defer c.Close()
		b := pgproto3.NewBackend(c, c)
		for {
			m, err := b.ReceiveStartupMessage()
			if err != nil {
				return
			}
			if _, ok := m.(*pgproto3.SSLRequest); ok {
				if _, err := c.Write([]byte("N")); err != nil {
					return
				}
				continue
			}
			b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
			_ = b.Flush() // the client may be gone
			return
		}
	})
}

func TestPostgresRefuses(t *testing.T) {
	for code, c := range map[string]struct{ check, words string }{
		"28P01": {"authentication", `password of user "app" is wrong`},
		"28000": {"authentication", "not in from here"},
		"3D000": {"database", `no database "shop"`},
		"42501": {"authentication", "may not connect"},
		"53300": {"connections", "no connection left"},
		"57P03": {"answers", "is starting"},
		"XX000": {"answers", "XX000"},
	} {
		where := postgresSaying(t, code, "said with gehe1m-w0rt in it")
		want(t, examine(t, doctor.Database, "postgres://app:gehe1m-w0rt@"+where+"/shop"), doctor.Error, c.check, c.words)
	}
	where := postgresSaying(t, "28P01", "")
	want(t, examine(t, doctor.Database, "postgres://app:x@"+where+"/shop?sslmode=require"), doctor.Error, "tls", "does not speak TLS")
}

// replaced is a server's URL with other parts.
func replaced(t *testing.T, raw string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal("a service's variable is no valid URL") // its parse error would print the password
	}
	change(u)
	return u.String()
}
