package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

// deadLetters records its calls, and refuses by the name of the topic.
type deadLetters struct{ asked *[]string }

func (d deadLetters) hear(topic, format string, args ...any) (any, error) {
	*d.asked = append(*d.asked, topic+" "+fmt.Sprintf(format, args...))
	err := map[string]error{
		"none":    ops.ErrNoTopic,
		"busy":    ops.ErrPass,
		"gone":    fmt.Errorf("ops: %w: 7 in gone", redrive.ErrNotFound),
		"refuses": fmt.Errorf("ops: %w: it has the key \"b\"; keep \"a\"", redrive.ErrPayload),
	}[topic]
	return map[string]string{"topic": topic}, err
}

func (d deadLetters) DeadLetters(_ context.Context, topic string, limit int) (any, error) {
	return d.hear(topic, "list %d", limit)
}
func (d deadLetters) DeadLetter(_ context.Context, topic, id string) (any, error) {
	return d.hear(topic, "show %s", id)
}
func (d deadLetters) EditDeadLetter(_ context.Context, topic, id string, payload []byte) error {
	_, err := d.hear(topic, "edit %s %q", id, payload)
	return err
}
func (d deadLetters) RedriveDeadLetters(_ context.Context, topic string, s ops.Selection) (any, error) {
	return d.hear(topic, "redrive %v all=%v dry=%v rate=%g before=%s", s.IDs, s.All, s.DryRun, s.Rate, s.Before.Format(time.RFC3339))
}
func (d deadLetters) DropDeadLetters(_ context.Context, topic string, s ops.Selection) (any, error) {
	return d.hear(topic, "drop %v all=%v dry=%v rate=%g", s.IDs, s.All, s.DryRun, s.Rate)
}

// TestDeadLetters checks that each route passes on the values of the request.
func TestDeadLetters(t *testing.T) {
	var asked []string
	o := newOffice(t, func(c *api.Config) { c.Operator = operator{deadLetters: deadLetters{&asked}} })
	for _, c := range []struct {
		call
		status int
		asks   string
	}{
		{call{method: "GET", path: "/api/admin/dead-letters/dlq.payment"}, 200, "dlq.payment list 100"},
		{call{method: "GET", path: "/api/admin/dead-letters/like-events.DLT?limit=7"}, 200, "like-events.DLT list 7"},
		{call{method: "GET", path: "/api/admin/dead-letters/t/a%2Fb%20c"}, 200, "t show a/b c"},
		{call{method: "PUT", path: "/api/admin/dead-letters/t/7", body: `{"payload":"{\"a\":1}"}`}, 204, `t edit 7 "{\"a\":1}"`},
		{call{method: "PUT", path: "/api/admin/dead-letters/t/7", body: `{"payload":"/wA=","encoding":"base64"}`}, 204, `t edit 7 "\xff\x00"`},
		{call{method: "PUT", path: "/api/admin/dead-letters/t/7", body: `{"payload":""}`}, 204, `t edit 7 ""`},
		{call{method: "POST", path: "/api/admin/dead-letters/t/redrive", body: `{"all":true,"dryRun":true}`}, 200, "t redrive [] all=true dry=true rate=0 before=0001-01-01T00:00:00Z"},
		{call{method: "POST", path: "/api/admin/dead-letters/t/redrive", body: `{"ids":["1","2"],"rate":2.5,"before":"2026-03-01T19:00:00Z"}`}, 200, "t redrive [1 2] all=false dry=false rate=2.5 before=2026-03-01T19:00:00Z"},
		{call{method: "POST", path: "/api/admin/dead-letters/t/drop", body: `{"ids":["1"]}`}, 200, "t drop [1] all=false dry=false rate=0"},
	} {
		asked = nil
		c.token = adminToken
		if r := o.do(c.call); r.status != c.status || !slices.Equal(asked, []string{c.asks}) {
			t.Errorf("%s %s: %d %s asked %q, want %q", c.method, c.path, r.status, r.text, asked, c.asks)
		}
	}
}

func TestDeadLetterErrors(t *testing.T) {
	var asked []string
	o := newOffice(t, func(c *api.Config) { c.Operator = operator{deadLetters: deadLetters{&asked}} })
	const base = "/api/admin/dead-letters/"
	post := func(path, body string) call { return call{method: "POST", path: base + path, body: body} }
	for name, c := range map[string]struct {
		call
		status     int
		typ, holds string
	}{
		"no such topic":      {call{method: "GET", path: base + "none"}, 404, "dead-letter-topic-not-found", "GET /api/admin/ops"},
		"no such letter":     {call{method: "GET", path: base + "gone/7"}, 404, "dead-letter-not-found", "no dead letter with this id"},
		"beside another":     {post("busy/redrive", `{"all":true}`), 409, "dead-letters-busy", "repeat it"},
		"a payload refused":  {call{method: "PUT", path: base + "refuses/7", body: `{"payload":"{}"}`}, 422, "payload-refused", `it has the key \"b\"; keep \"a\"`},
		"a limit of nothing": {call{method: "GET", path: base + "t?limit=0"}, 400, "invalid-request", `"field":"limit"`},
		"a limit of words":   {call{method: "GET", path: base + "t?limit=all"}, 400, "invalid-request", `"field":"limit"`},
		"no payload":         {call{method: "PUT", path: base + "t/7", body: `{}`}, 400, "invalid-request", `"field":"payload"`},
		"a bad payload":      {call{method: "PUT", path: base + "t/7", body: `{"payload":"ä","encoding":"base64"}`}, 400, "invalid-request", `"field":"payload"`},
		"an odd encoding":    {call{method: "PUT", path: base + "t/7", body: `{"payload":"a","encoding":"rot13"}`}, 400, "invalid-request", `"field":"encoding"`},
		"nothing chosen":     {post("t/redrive", `{}`), 400, "invalid-request", `"field":"ids"`},
		"no ids":             {post("t/drop", `{"ids":[]}`), 400, "invalid-request", `"field":"ids"`},
		"an empty id":        {post("t/drop", `{"ids":["1",""]}`), 400, "invalid-request", `"field":"ids"`},
		"ids and all":        {post("t/redrive", `{"ids":["1"],"all":true}`), 400, "invalid-request", `"field":"ids"`},
		"too many ids":       {post("t/redrive", `{"ids":["1"`+strings.Repeat(`,"1"`, 1000)+`]}`), 400, "invalid-request", "1000"},
		"a negative rate":    {post("t/redrive", `{"all":true,"rate":-1}`), 400, "invalid-request", `"field":"rate"`},
		"a rate beyond all":  {post("t/redrive", `{"all":true,"rate":1e9}`), 400, "invalid-request", `"field":"rate"`},
		"an odd time":        {post("t/redrive", `{"all":true,"before":"soon"}`), 400, "invalid-request", "is no time"},
		"an unknown field":   {post("t/redrive", `{"everything":true}`), 400, "invalid-request", `"field":"everything"`},
		"a wrong method":     {call{method: "GET", path: base + "t/1/2"}, 404, "not-found", ""},
		"no body":            {post("t/drop", ``), 400, "invalid-request", "empty"},
	} {
		asked = nil
		c.token = adminToken
		r := o.do(c.call)
		if r.status != c.status || r.body["type"] != "/problems/"+c.typ || !strings.Contains(r.text, c.holds) {
			t.Errorf("%s: %d %s\nwant %d %s with %q", name, r.status, r.text, c.status, c.typ, c.holds)
		}
		if c.status == 400 && len(asked) > 0 {
			t.Errorf("%s: it was asked %v all the same", name, asked)
		}
	}
}
